//! The interface of every directory, and the rule for its ids.
//!
//! A directory implements four traits: [`Organizations`] in [`organizations`], [`Users`] and [`Keys`] in [`users`], and
//! [`Requests`].

mod organizations;
mod users;

pub use organizations::Organizations;
pub use users::{Keys, Users};

use crate::error::{Entity, Error};
use crate::login::{Hourly, Login, Refusal};
use crate::scope::LoginScope;
use crate::secret::SecretKey;
use crate::time::UnixTime;

/// The organizations, accounts, users, grants and keys of a service. The methods are in four traits: [`Organizations`],
/// [`Users`], [`Keys`] and [`Requests`]. On a `dyn Directory` they need no import.
///
/// A change is atomic, and visible to every call that begins after the change has returned, in all threads and
/// processes that share the directory.
///
/// ```
/// use std::sync::Arc;
/// use trueup_access::{Directory, DirectorySettings, MemoryDirectory};
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default())?);
/// directory.add_user("anna@example.com")?;
/// assert_eq!(directory.users()?.len(), 1);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Directory: Organizations + Users + Keys + Requests + Send + Sync {}

impl<D: Organizations + Users + Keys + Requests + Send + Sync> Directory for D {}

/// Authenticates requests, counts them, and returns what they may read.
///
/// In a nested result, the outer error is a failure of the directory, and the inner one a [`Refusal`] of the
/// credentials.
///
/// In addition to the errors of each method, every method may return an error for which [`Error::is_storage`] is
/// true.
///
/// ```
/// use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, Requests as _, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// match directory.authenticate(Some(&key.secret))? {
///     Ok(login) => println!("{} reaches {:?}", login.user(), directory.reach(&login)?.organizations()),
///     Err(refusal) => eprintln!("refused: {refusal}"),
/// }
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Requests {
    /// Returns the user of a key. Nothing is cached, so a key that was revoked before the call is refused.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Refusal, Requests as _, SecretKey};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// assert_eq!(directory.authenticate(Some(&SecretKey::new("tu_guess")))?, Err(Refusal::Unknown));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn authenticate(&self, key: Option<&SecretKey>) -> Result<Result<Login, Refusal>, Error>;

    /// Returns the user of a session token that has not expired at `now`.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Refusal, Requests as _, SecretKey, UnixTime};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// assert_eq!(directory.session(None, UnixTime::from_seconds(0))?, Err(Refusal::Missing));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn session(&self, token: Option<&SecretKey>, now: UnixTime) -> Result<Result<Login, Refusal>, Error>;

    /// Returns the login of a user whom the caller has authenticated by other means than a key or a session.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Refusal, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// assert_eq!(directory.login("anna")?.unwrap().user(), "anna");
    /// assert_eq!(directory.login("bert")?, Err(Refusal::Unknown));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn login(&self, user: &str) -> Result<Result<Login, Refusal>, Error>;

    /// Returns everything at and below the grants of a login; nothing if the user was removed after the login was
    /// returned.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// let login = directory.login("anna")?.unwrap();
    /// assert!(directory.reach(&login)?.organizations().is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn reach(&self, login: &Login) -> Result<LoginScope, Error>;

    /// Counts one request of a user in the clock hour (UTC) of `now`, unless the limit is reached. The count is exact
    /// over all threads and processes.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the user was removed after the login was returned.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Hourly, MemoryDirectory, Requests as _, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// let login = directory.login("anna")?.unwrap();
    /// assert_eq!(directory.count(&login, UnixTime::from_seconds(0))?, Hourly::Allowed);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn count(&self, login: &Login, now: UnixTime) -> Result<Hourly, Error>;

    /// Returns how many more requests of a user the clock hour of `now` allows.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Requests as _, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default().hourly_limit(10))?;
    /// # directory.add_user("anna")?;
    /// let login = directory.login("anna")?.unwrap();
    /// directory.count(&login, UnixTime::from_seconds(0))?;
    /// assert_eq!(directory.remaining(&login, UnixTime::from_seconds(0))?, 9);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn remaining(&self, login: &Login, now: UnixTime) -> Result<u32, Error>;
}

/// Checks the id of a new organization, account or user. A request must be able to name organizations and accounts in
/// its path, and accounts in a comma-separated list.
pub(crate) fn check_id(entity: Entity, id: &str) -> Result<(), Error> {
    let forbidden: &[char] = match entity {
        Entity::Account => &[',', '/'],
        Entity::Organization => &['/'],
        Entity::User => &[],
    };
    if id.is_empty() {
        return Err(Error::EmptyId(entity));
    }
    match id.chars().find(|character| forbidden.contains(character)) {
        None => Ok(()),
        Some(character) => Err(Error::ForbiddenCharacter { entity, id: id.to_owned(), character }),
    }
}
