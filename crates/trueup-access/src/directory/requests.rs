//! What a request asks of a directory.

use crate::error::Error;
use crate::login::{Hourly, Login, Refusal};
use crate::reach::LoginScope;
use crate::secret::SecretKey;
use crate::time::UnixTime;

/// Leads a request from its credentials to what it may see. The outer error is the directory's own failure; the inner one is a
/// [`Refusal`], the caller's.
///
/// ```
/// use trueup_access::{Keys as _, MemoryDirectory, Requests as _, DirectorySettings, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// match directory.authenticate(Some(&key.secret))? {
///     Ok(login) => println!("{} reaches {:?}", login.user(), directory.reach(&login)?.organizations()),
///     Err(refusal) => eprintln!("refused: {refusal}"),
/// }
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Requests {
    /// Whose key this is. Nothing is remembered from one call to the next: a key that is revoked before the call begins is refused.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{MemoryDirectory, Refusal, Requests as _, SecretKey, DirectorySettings};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// assert_eq!(directory.authenticate(Some(&SecretKey::new("tu_guess")))?, Err(Refusal::Unknown));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn authenticate(&self, key: Option<&SecretKey>) -> Result<Result<Login, Refusal>, Error>;

    /// Whose session token this is.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{MemoryDirectory, Refusal, Requests as _, SecretKey, DirectorySettings, UnixTime};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// assert_eq!(directory.session(None, UnixTime::from_seconds(0))?, Err(Refusal::Missing));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn session(&self, token: Option<&SecretKey>, now: UnixTime) -> Result<Result<Login, Refusal>, Error>;

    /// The login of a user who has proved who they are by other means, for services that embed trueup and need no keys.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{MemoryDirectory, Refusal, Requests as _, DirectorySettings, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// assert_eq!(directory.login("anna")?.unwrap().user(), "anna");
    /// assert_eq!(directory.login("bert")?, Err(Refusal::Unknown));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn login(&self, user: &str) -> Result<Result<Login, Refusal>, Error>;

    /// What a login reaches now: everything at and below the organizations, and the accounts, that it is granted. Nothing if the user
    /// was removed since.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{MemoryDirectory, Requests as _, DirectorySettings, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// let login = directory.login("anna")?.unwrap();
    /// assert!(directory.reach(&login)?.organizations().is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn reach(&self, login: &Login) -> Result<LoginScope, Error>;

    /// Counts one request of a user in the clock hour (UTC) of `now`, unless the hour is used up. Exact over all threads and processes.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the user was removed since.
    ///
    /// ```
    /// # use trueup_access::{Hourly, MemoryDirectory, Requests as _, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// let login = directory.login("anna")?.unwrap();
    /// assert_eq!(directory.count(&login, UnixTime::from_seconds(0))?, Hourly::Allowed);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn count(&self, login: &Login, now: UnixTime) -> Result<Hourly, Error>;
}
