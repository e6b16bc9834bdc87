//! What a directory holds, as it is handed in and out.

use crate::secret::SecretKey;
use crate::time::UnixTime;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A node of the tree of organizations.
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
    /// Not empty, without `/`.
    pub id: String,
    /// The organization that it stands under; none for a root.
    pub parent: Option<String>,
    /// Spans the platform: reaches what is below it, but is itself never listed or answered.
    pub umbrella: bool,
}

impl Organization {
    /// A root that is no umbrella.
    ///
    /// ```
    /// assert_eq!(trueup_access::Organization::new("acme").parent, None);
    /// ```
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), parent: None, umbrella: false }
    }

    /// Puts it under another.
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

    /// Makes it an umbrella.
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

/// A user as listed.
///
/// ```
/// use trueup_access::{MemoryDirectory, DirectorySettings, User, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// assert_eq!(directory.users()?, [User { login: "anna".into(), active: true }]);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What the user is known by; not empty.
    pub login: String,
    /// Whether the user's keys and sessions let them in.
    pub active: bool,
}

/// What a user may see.
///
/// ```
/// assert_eq!(trueup_access::Grant::Account("acme-1".into()).to_string(), "grant of account `acme-1`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grant {
    /// An organization, by id, with all that is below it.
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

/// The number by which a key is rotated or deleted; never used twice in a directory, and no secret.
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

/// A live key as listed; the key itself is not kept.
///
/// ```
/// use trueup_access::{KeyEntry, Keys as _, MemoryDirectory, DirectorySettings, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// let created = UnixTime::from_seconds(0);
/// let key = directory.create_key("anna", created)?;
/// assert_eq!(directory.keys("anna")?, [KeyEntry { id: key.id, created }]);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its number.
    pub id: KeyId,
    /// When it was created, or rotated into being.
    pub created: UnixTime,
}

/// A key that was just made: the only time that it can be read.
///
/// ```
/// use trueup_access::{Keys as _, MemoryDirectory, DirectorySettings, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// let key = directory.create_key("anna", UnixTime::from_seconds(0))?;
/// assert!(key.secret.reveal().starts_with("tu_"));
/// assert!(!format!("{key:?}").contains(key.secret.reveal()));
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IssuedKey {
    /// Its number.
    pub id: KeyId,
    /// What the user sends with every request.
    pub secret: SecretKey,
}
