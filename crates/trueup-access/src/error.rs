//! The errors of a directory. None holds a key or its hash.

use crate::model::{Grant, KeyId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an id in an [`Error`] names.
///
/// ```
/// assert_eq!(trueup_access::Entity::Account.to_string(), "account");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entity {
    /// An organization, by id.
    Organization,
    /// An account, by key.
    Account,
    /// A user, by name.
    User,
}

impl std::fmt::Display for Entity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Organization => "organization",
            Self::Account => "account",
            Self::User => "user",
        })
    }
}

/// Why a call of a directory failed. A call that fails changes nothing.
///
/// A key that is not accepted is not an error, but a [`Refusal`](crate::Refusal).
///
/// ```
/// use trueup_access::{DirectorySettings, Entity, Error, MemoryDirectory, Organizations as _};
///
/// let error = MemoryDirectory::new(DirectorySettings::default())?.set_umbrella("acme", true).unwrap_err();
/// assert!(matches!(&error, Error::Unknown { entity: Entity::Organization, id } if id == "acme"));
/// assert_eq!(error.to_string(), "there is no organization `acme`");
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The id names nothing in the directory.
    #[error("there is no {entity} `{id}`")]
    Unknown {
        /// What was looked for.
        entity: Entity,
        /// The id as given.
        id: String,
    },
    /// The id is already in use.
    #[error("{entity} `{id}` already exists")]
    Duplicate {
        /// What was to be added.
        entity: Entity,
        /// The id as given.
        id: String,
    },
    /// The id of what was to be added is empty.
    #[error("{0} ids cannot be empty")]
    EmptyId(Entity),
    /// The id contains a character that a request could not carry.
    #[error("{entity} ids cannot contain `{character}`, but found `{id}`")]
    ForbiddenCharacter {
        /// What was to be added.
        entity: Entity,
        /// The id as given.
        id: String,
        /// The first such character.
        character: char,
    },
    /// An organization would be below itself.
    #[error("organization `{organization}` cannot be under `{parent}`, which is `{organization}` itself or below it")]
    Cycle {
        /// The organization that was to be moved or added.
        organization: String,
        /// The parent that was named.
        parent: String,
    },
    /// The organization cannot be removed, because others are directly under it.
    #[error("organization `{0}` has organizations below it; move or remove them first")]
    HasChildren(String),
    /// The account is already directly under the organization.
    #[error("account `{account}` is already under organization `{organization}`")]
    AlreadyPlaced {
        /// The account's key.
        account: String,
        /// The organization's id.
        organization: String,
    },
    /// The account is not directly under the organization.
    #[error("account `{account}` is not directly under organization `{organization}`")]
    NotPlaced {
        /// The account's key.
        account: String,
        /// The organization's id.
        organization: String,
    },
    /// The user already has the grant.
    #[error("user `{user}` already has the {grant}")]
    AlreadyGranted {
        /// The user's name.
        user: String,
        /// The grant.
        grant: Grant,
    },
    /// The user does not have the grant.
    #[error("user `{user}` does not have the {grant}")]
    NotGranted {
        /// The user's name.
        user: String,
        /// The grant.
        grant: Grant,
    },
    /// The user has no such key, or it is revoked.
    #[error("user `{user}` has no key {key}")]
    UnknownKey {
        /// The user's name.
        user: String,
        /// The key's number.
        key: KeyId,
    },
    /// A key to retire of this organization is empty, or already known.
    #[error("a key for organization `{0}` cannot be retired: it is empty, or already known")]
    KeyTaken(String),
    /// A key prefix is not 1 to 32 characters out of `A-Z`, `a-z`, `0-9`, `-` and `_`.
    #[error("expected a key prefix of 1 to 32 letters, digits, `-` or `_`, but found `{0}`")]
    InvalidPrefix(String),
    /// The operating system provided no random bytes, so no key or session was created.
    #[error("the operating system provided no random bytes for a key")]
    NoRandomness(#[from] getrandom::Error),
    /// The file of a directory does not exist, is not a SQLite database, or cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Another process or thread held the file for longer than a call waits, or the file was replaced again and again.
    #[error("another process holds the directory `{}`; try again when it has finished", .0.display())]
    Locked(PathBuf),
    /// The contents of the file are unreadable, or contradict each other.
    #[error("the directory `{}` is damaged: {finding}; restore it from a backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first faults that were found, separated by `; `.
        finding: String,
    },
    /// The file is empty, for example because a copy failed.
    #[error("the directory `{}` is an empty file; restore it from a backup, or remove it to create a new one", .0.display())]
    EmptyFile(PathBuf),
    /// The path is not a regular file, but a folder, a pipe, or a device.
    #[error("the directory `{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file is a SQLite database, but not a directory.
    #[error("`{}` is a SQLite database, but not a directory of trueup", .0.display())]
    NotADirectory(PathBuf),
    /// The file was written by a later version of trueup.
    #[error("the directory `{}` has version {found}, but this version of trueup supports versions up to {known}; use a later one", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The latest version that this program supports.
        known: i64,
    },
}

impl Error {
    pub(crate) fn unknown(entity: Entity, id: &str) -> Self {
        Self::Unknown { entity, id: id.to_owned() }
    }

    pub(crate) fn duplicate(entity: Entity, id: &str) -> Self {
        Self::Duplicate { entity, id: id.to_owned() }
    }

    /// Returns whether the directory itself failed: its file, or the machine. Any other error is a fault of the call.
    ///
    /// ```
    /// use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
    ///
    /// let error = MemoryDirectory::new(DirectorySettings::default())?.add_user("").unwrap_err();
    /// assert!(!error.is_storage());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub const fn is_storage(&self) -> bool {
        matches!(
            self,
            Self::NoRandomness(_)
                | Self::Storage(_)
                | Self::Locked(_)
                | Self::Damaged { .. }
                | Self::EmptyFile(_)
                | Self::NotAFile(_)
                | Self::NotADirectory(_)
                | Self::TooNew { .. }
        )
    }
}

/// The file of a directory, or a file next to it, cannot be used. The cause is the [source](std::error::Error::source)
/// of this error.
///
/// ```
/// use trueup_access::{DirectorySettings, Error, SqliteDirectory};
///
/// let error = SqliteDirectory::open("no/such/folder/directory.sqlite", DirectorySettings::default()).unwrap_err();
/// assert!(matches!(error, Error::Storage(_)));
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("the directory `{}` cannot be used", path.display())]
pub struct StorageError {
    path: PathBuf,
    source: Arc<dyn std::error::Error + Send + Sync>,
}

impl StorageError {
    pub(crate) fn new(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { path: path.to_owned(), source: source.into().into() }
    }

    /// Returns the path of the file.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, Error, SqliteDirectory};
    /// let opened = SqliteDirectory::open("no/such/folder/d.sqlite", DirectorySettings::default());
    /// let Err(Error::Storage(error)) = opened else { panic!("expected an error of the file") };
    /// assert!(error.path().ends_with("no/such/folder/d.sqlite"));
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
