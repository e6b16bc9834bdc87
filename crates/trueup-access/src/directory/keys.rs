//! Keys and sessions.

use crate::error::Error;
use crate::model::{IssuedKey, KeyEntry, KeyId};
use crate::secret::SecretKey;
use crate::time::UnixTime;

/// Makes and revokes keys and sessions. Only their SHA-256 is stored, so a key cannot be read again.
///
/// ```
/// use trueup_access::{Keys as _, MemoryDirectory, DirectorySettings, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// println!("send `Authorization: {}`", key.secret.reveal());
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub trait Keys {
    /// Makes another key for a user.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default().key_prefix("acme")?);
    /// # directory.add_user("anna")?;
    /// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
    /// assert_eq!(key.secret.reveal().len(), "acme_".len() + 43);
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn create_key(&self, user: &str, now: UnixTime) -> Result<IssuedKey, Error>;

    /// Replaces a key by a new one. The old key is refused from the moment this returns.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user; [`Error::UnknownKey`] if the key is not theirs or is revoked;
    /// [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, Requests as _, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let old = directory.create_key("anna", now)?;
    /// let new = directory.rotate_key("anna", old.id, now)?;
    /// assert!(directory.authenticate(Some(&old.secret))?.is_err());
    /// assert!(directory.authenticate(Some(&new.secret))?.is_ok());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn rotate_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<IssuedKey, Error>;

    /// Revokes a key. It is refused from the moment this returns. Its hash is kept, so that logs can tell its use from
    /// a guess.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the user; [`Error::UnknownKey`] if the key is not theirs or is revoked already.
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, Refusal, Requests as _, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let key = directory.create_key("anna", now)?;
    /// directory.delete_key("anna", key.id, now)?;
    /// assert_eq!(directory.authenticate(Some(&key.secret))?, Err(Refusal::Revoked { user: "anna".into() }));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn delete_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<(), Error>;

    /// Returns the live keys of a user, the oldest first.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, DirectorySettings, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// assert!(directory.keys("anna")?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn keys(&self, user: &str) -> Result<Vec<KeyEntry>, Error>;

    /// Records a retired key of an organization, so that logs can tell its use from a guess. It is refused.
    ///
    /// # Errors
    /// [`Error::Unknown`] for the organization; [`Error::KeyTaken`] if the key is empty or known already.
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, Organization, Organizations as _, Refusal, Requests as _, SecretKey, DirectorySettings};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_organization(&Organization::new("acme"))?;
    /// let key = SecretKey::new("org_0123");
    /// directory.retire_organization_key("acme", &key)?;
    /// assert_eq!(directory.authenticate(Some(&key))?, Err(Refusal::OrganizationKey { organization: "acme".into() }));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn retire_organization_key(&self, organization: &str, key: &SecretKey) -> Result<(), Error>;

    /// Makes a session token for a user, valid until just before `expires`. Expired sessions of all users are removed.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NoRandomness`].
    ///
    /// ```
    /// # use trueup_access::{Keys as _, MemoryDirectory, Requests as _, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
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
    /// # use trueup_access::{Keys as _, MemoryDirectory, Requests as _, DirectorySettings, UnixTime, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default());
    /// # directory.add_user("anna")?;
    /// # let now = UnixTime::from_seconds(0);
    /// let token = directory.open_session("anna", now, now.plus_seconds(60))?;
    /// directory.close_session(&token)?;
    /// assert!(directory.session(Some(&token), now)?.is_err());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    fn close_session(&self, token: &SecretKey) -> Result<(), Error>;
}
