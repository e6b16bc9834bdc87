//! The values that callers pass to a directory and get from it.

use crate::secret::SecretKey;
use crate::time::UnixTime;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// An organization: a node of the tree.
///
/// ```
/// use trueup_access::Organization;
///
/// let node = Organization::new("acme-west").under("acme");
/// assert_eq!(node.parent.as_deref(), Some("acme"));
/// assert!(Organization::new("platform").as_umbrella().umbrella);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    /// The unique id; not empty, without `/`.
    pub id: String,
    /// The organization directly above; `None` for a root.
    pub parent: Option<String>,
    /// Whether the organization is an umbrella, which spans the platform. A grant of an umbrella reaches everything
    /// below it, but the umbrella itself is never listed and cannot be queried.
    pub umbrella: bool,
}

impl Organization {
    /// Returns an organization without a parent, which is not an umbrella.
    ///
    /// ```
    /// assert_eq!(trueup_access::Organization::new("acme").parent, None);
    /// ```
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), parent: None, umbrella: false }
    }

    /// Sets the parent.
    ///
    /// ```
    /// let node = trueup_access::Organization::new("acme-west").under("acme");
    /// assert_eq!(node.parent.as_deref(), Some("acme"));
    /// ```
    #[must_use]
    pub fn under(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Makes the organization an umbrella.
    ///
    /// ```
    /// assert!(trueup_access::Organization::new("platform").as_umbrella().umbrella);
    /// ```
    #[must_use]
    pub const fn as_umbrella(mut self) -> Self {
        self.umbrella = true;
        self
    }
}

/// A user, as [`Users::users`](crate::Users::users) lists them.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, User, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// assert_eq!(directory.users()?, [User { name: "anna".into(), active: true }]);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The unique name of the user; not empty.
    pub name: String,
    /// Whether the user's keys and sessions are accepted.
    pub active: bool,
}

/// One thing that a user may see.
///
/// ```
/// assert_eq!(trueup_access::Grant::Account("acme-1".into()).to_string(), "grant of account `acme-1`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grant {
    /// An organization, by id, with everything below it.
    Organization(String),
    /// One account, by key.
    Account(String),
}

impl Display for Grant {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Organization(id) => write!(f, "grant of organization `{id}`"),
            Self::Account(key) => write!(f, "grant of account `{key}`"),
        }
    }
}

/// The number of a key, by which the key is rotated or deleted. The number is not secret, and a directory never uses it
/// twice.
///
/// ```
/// let id: trueup_access::KeyId = "12".parse()?;
/// assert_eq!(id.to_string(), "12");
/// # Ok::<(), std::num::ParseIntError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(crate) i64);

impl Display for KeyId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for KeyId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A key that is not revoked, as [`Keys::keys`](crate::Keys::keys) lists it. Its text is not stored.
///
/// ```
/// use trueup_access::{DirectorySettings, KeyEntry, Keys as _, MemoryDirectory, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// let created = UnixTime::from_seconds(0);
/// let key = directory.create_key("anna", created)?;
/// assert_eq!(directory.keys("anna")?, [KeyEntry { id: key.id, created }]);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// The number of the key.
    pub id: KeyId,
    /// When the key was created; for a key that replaced another one, the time of the rotation.
    pub created: UnixTime,
}

/// A key that was just created. Show its text to the user now, because the directory stores only the hash.
///
/// ```
/// use trueup_access::{DirectorySettings, Keys as _, MemoryDirectory, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// assert!(key.secret.reveal().starts_with("tu_"));
/// assert!(!format!("{key:?}").contains(key.secret.reveal()));
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IssuedKey {
    /// The number of the key.
    pub id: KeyId,
    /// The key, which the user sends with every request.
    pub secret: SecretKey,
}
