//! Users, with their grants, keys and sessions.

use crate::error::Error;
use crate::model::{Grant, IssuedKey, KeyEntry, KeyId, User};
use crate::secret::SecretKey;
use crate::time::UnixTime;

/// Manages users and their grants.
///
/// In addition to the errors of each method, every method may return an error for which [`Error::is_storage`] is
/// true.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// directory.add_user("anna")?;
    /// assert!(directory.add_user("anna").is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn add_user(&self, user: &str) -> Result<(), Error>;

    /// Sets whether a user is active. The keys and sessions of an inactive user are kept, but refused.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// directory.set_active("anna", false)?;
    /// assert!(!directory.users()?[0].active);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn set_active(&self, user: &str, active: bool) -> Result<(), Error>;

    /// Removes a user with their grants, keys, sessions and counts. Afterwards their keys are unknown.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// directory.remove_user("anna")?;
    /// assert!(directory.users()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn remove_user(&self, user: &str) -> Result<(), Error>;

    /// Returns all users, sorted by name.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
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
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// assert!(directory.grants("anna")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn grants(&self, user: &str) -> Result<Vec<Grant>, Error>;
}

/// Creates and revokes keys and sessions. Only their SHA-256 is stored, so a key cannot be read again.
///
/// In addition to the errors of each method, every method may return an error for which [`Error::is_storage`] is
/// true.
///
/// ```
/// use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// println!("send `Authorization: {}`", key.secret.reveal());
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Keys {
    /// Creates another key for a user. `now` is recorded as the time when it was created.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default().key_prefix("acme")?)?;
    /// # directory.add_user("anna")?;
    /// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
    /// assert_eq!(key.secret.reveal().len(), "acme_".len() + 43);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn create_key(&self, user: &str, now: UnixTime) -> Result<IssuedKey, Error>;

    /// Replaces a key with a new one, which is created at `now`. The old key is refused from the moment this method
    /// returns.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user; [`Error::UnknownKey`] if the key is not theirs or is revoked;
    /// [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, Requests as _, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let old = directory.create_key("anna", now)?;
    /// let new = directory.rotate_key("anna", old.id, now)?;
    /// assert!(directory.authenticate(Some(&old.secret))?.is_err());
    /// assert!(directory.authenticate(Some(&new.secret))?.is_ok());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn rotate_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<IssuedKey, Error>;

    /// Revokes a key, which is refused from the moment this method returns. The hash of the key is kept, so that logs
    /// can distinguish its use from a guess. A directory in a file records `now` as the time of the revocation.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user; [`Error::UnknownKey`] if the key is not theirs or is already revoked.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Refusal, UnixTime};
    /// # use trueup_access::{Keys as _, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let key = directory.create_key("anna", now)?;
    /// directory.delete_key("anna", key.id, now)?;
    /// assert_eq!(directory.authenticate(Some(&key.secret))?, Err(Refusal::Revoked("anna".into())));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn delete_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<(), Error>;

    /// Returns the keys of a user that are not revoked, the oldest first.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// assert!(directory.keys("anna")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn keys(&self, user: &str) -> Result<Vec<KeyEntry>, Error>;

    /// Records a retired key of an organization. The key is refused in any case; recording it lets logs distinguish its
    /// use from a guess.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the organization; [`Error::KeyTaken`] if the key is empty or already known.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Organization, Refusal, SecretKey};
    /// # use trueup_access::{Keys as _, Organizations as _, Requests as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// let key = SecretKey::new("org_0123");
    /// directory.retire_organization_key("acme", &key)?;
    /// assert_eq!(directory.authenticate(Some(&key))?, Err(Refusal::OrganizationKey("acme".into())));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn retire_organization_key(&self, organization: &str, key: &SecretKey) -> Result<(), Error>;

    /// Creates a session for a user and returns its token, which is refused from `expires` on. Removes the expired
    /// sessions of all users.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, Requests as _, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// let now = UnixTime::from_seconds(0);
    /// let token = directory.open_session("anna", now, now.plus_seconds(60))?;
    /// assert!(directory.session(Some(&token), now.plus_seconds(59))?.is_ok());
    /// assert!(directory.session(Some(&token), now.plus_seconds(60))?.is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn open_session(&self, user: &str, now: UnixTime, expires: UnixTime) -> Result<SecretKey, Error>;

    /// Ends a session. An unknown or expired token is not an error.
    ///
    /// # Errors
    /// Only those of [`Error::is_storage`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, Requests as _, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let token = directory.open_session("anna", now, now.plus_seconds(60))?;
    /// directory.close_session(&token)?;
    /// assert!(directory.session(Some(&token), now)?.is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn close_session(&self, token: &SecretKey) -> Result<(), Error>;
}
