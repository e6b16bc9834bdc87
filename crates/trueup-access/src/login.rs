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
    /// The key was rotated or deleted.
    #[error("a revoked key of user `{user}`")]
    Revoked {
        /// The owner of the key.
        user: String,
    },
    /// The user is inactive.
    #[error("user `{user}` is inactive")]
    Inactive {
        /// The user.
        user: String,
    },
    /// The key is a retired key of an organization; keys of organizations are no longer accepted.
    #[error("a retired key of organization `{organization}`")]
    OrganizationKey {
        /// The organization.
        organization: String,
    },
    /// The session has expired.
    #[error("an expired session of user `{user}`")]
    Expired {
        /// The owner of the session.
        user: String,
    },
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
/// assert_eq!(directory.count(&login, quarter_past)?, Hourly::Limited { retry_after_seconds: 2700 });
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hourly {
    /// The request is allowed, and counted.
    Allowed,
    /// The limit is reached. The request is not counted.
    Limited {
        /// Seconds until the next clock hour: 1 to 3600.
        retry_after_seconds: u32,
    },
}
