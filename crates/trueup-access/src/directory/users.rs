//! Users and their grants.

use crate::error::Error;
use crate::model::{Grant, User};

/// Manages users and their grants.
///
/// In addition to the errors of each method, every method may return one of [`Error::is_storage`].
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna@example.com")?;
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Users {
    /// Adds a user, who is active and has no grants.
    ///
    /// # Errors
    /// [`Error::EmptyId`], [`Error::Duplicate`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// directory.add_user("anna")?;
    /// assert!(directory.add_user("anna").is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn add_user(&self, login: &str) -> Result<(), Error>;

    /// Sets whether a user is active. The keys and sessions of an inactive user are kept, but refused.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// directory.set_active("anna", false)?;
    /// assert!(!directory.users()?[0].active);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn set_active(&self, login: &str, active: bool) -> Result<(), Error>;

    /// Removes a user with their grants, keys, sessions and counts. Afterwards their keys are unknown.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// directory.remove_user("anna")?;
    /// assert!(directory.users()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn remove_user(&self, login: &str) -> Result<(), Error>;

    /// Returns all users, by login.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// assert!(directory.users()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn users(&self) -> Result<Vec<User>, Error>;

    /// Lets a user see an organization with everything below it, or an account.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user, the organization or the account; [`Error::AlreadyGranted`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// # directory.add_account("a-1")?;
    /// directory.grant("anna", &Grant::Account("a-1".into()))?;
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn grant(&self, user: &str, grant: &Grant) -> Result<(), Error>;

    /// Withdraws a grant.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user; [`Error::NotGranted`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Grant, MemoryDirectory, Organizations as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// # directory.add_account("a-1")?;
    /// # directory.grant("anna", &Grant::Account("a-1".into()))?;
    /// directory.withdraw("anna", &Grant::Account("a-1".into()))?;
    /// assert!(directory.grants("anna")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn withdraw(&self, user: &str, grant: &Grant) -> Result<(), Error>;

    /// Returns the grants of a user: organizations by id, then accounts by key.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// assert!(directory.grants("anna")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn grants(&self, user: &str) -> Result<Vec<Grant>, Error>;
}
