//! The results of authentication and of counting a request.

use std::sync::Arc;

/// An authenticated user. Only a directory creates one.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Requests as _, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// directory.add_user("anna@example.com")?;
/// let login = directory.login("anna@example.com")?.unwrap();
/// assert_eq!(login.user(), "anna@example.com");
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Login {
    user: Arc<str>,
}

impl Login {
    pub(crate) fn new(user: &str) -> Self {
        Self { user: user.into() }
    }

    /// Returns the name of the user, as it was added to the directory.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, MemoryDirectory, Requests as _, Users as _};
    /// # let directory = MemoryDirectory::new(DirectorySettings::default())?;
    /// # directory.add_user("anna")?;
    /// assert_eq!(directory.login("anna")?.unwrap().user(), "anna");
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }
}

/// Why credentials are not accepted. The reason is for logs; clients must not learn it. It never contains a key.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Refusal, Requests as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default())?;
/// assert_eq!(directory.authenticate(None)?.unwrap_err(), Refusal::Missing);
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No key or token, or an empty one.
    #[error("no credentials")]
    Missing,
    /// No such key, token or user is known.
    #[error("unknown credentials")]
    Unknown,
    /// The key of this user was rotated or deleted.
    #[error("a revoked key of user `{0}`")]
    Revoked(String),
    /// The user is inactive.
    #[error("user `{0}` is inactive")]
    Inactive(String),
    /// The key is a retired key of this organization; keys of organizations are no longer accepted.
    #[error("a retired key of organization `{0}`")]
    OrganizationKey(String),
    /// The session of this user has expired.
    #[error("an expired session of user `{0}`")]
    Expired(String),
}

/// Whether a user may send one more request in this clock hour.
///
/// ```
/// use trueup_access::{DirectorySettings, Hourly, MemoryDirectory, Requests as _, UnixTime, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default().hourly_limit(1))?;
/// directory.add_user("anna")?;
/// let login = directory.login("anna")?.unwrap();
/// let quarter_past = UnixTime::from_seconds(900);
/// assert_eq!(directory.count(&login, quarter_past)?, Hourly::Allowed);
/// assert_eq!(directory.count(&login, quarter_past)?, Hourly::Limited(2700));
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hourly {
    /// The request is allowed, and counted.
    Allowed,
    /// The limit is reached until the next clock hour, which begins in this many seconds: 1 to 3600. The request is not
    /// counted.
    Limited(u32),
}
