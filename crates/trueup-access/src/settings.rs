//! The settings of a directory.

use crate::error::Error;
use std::time::Duration;

/// How a directory makes keys, limits requests, and waits for its file. Settings are not stored: each process passes
/// its own.
///
/// ```
/// use trueup_access::DirectorySettings;
///
/// let settings = DirectorySettings::default().hourly_limit(50).key_prefix("acme_live")?;
/// # Ok::<(), trueup_access::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySettings {
    pub(crate) key_prefix: String,
    pub(crate) hourly_limit: u32,
    pub(crate) wait: Duration,
    pub(crate) change_wait: Duration,
}

impl Default for DirectorySettings {
    fn default() -> Self {
        Self {
            key_prefix: "tu".to_owned(),
            hourly_limit: 1_000,
            wait: Duration::from_millis(250),
            change_wait: Duration::from_secs(1),
        }
    }
}

impl DirectorySettings {
    /// Sets the prefix of new keys, which an underscore follows; by default `tu`. Keys with another prefix stay valid.
    ///
    /// # Errors
    /// [`Error::InvalidPrefix`] unless it is 1 to 32 letters, digits, `-` or `_`, all of them ASCII.
    ///
    /// ```
    /// use trueup_access::{DirectorySettings, Error};
    ///
    /// assert!(DirectorySettings::default().key_prefix("acme").is_ok());
    /// assert!(matches!(DirectorySettings::default().key_prefix("a b"), Err(Error::InvalidPrefix(_))));
    /// ```
    pub fn key_prefix(mut self, prefix: &str) -> Result<Self, Error> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(1..=32).contains(&prefix.len()) || !prefix.bytes().all(allowed) {
            return Err(Error::InvalidPrefix(prefix.to_owned()));
        }
        prefix.clone_into(&mut self.key_prefix);
        Ok(self)
    }

    /// Sets how many requests a user may send per clock hour (UTC); by default 1,000. 0 allows none.
    ///
    /// ```
    /// let settings = trueup_access::DirectorySettings::default().hourly_limit(10);
    /// ```
    #[must_use]
    pub const fn hourly_limit(mut self, requests: u32) -> Self {
        self.hourly_limit = requests;
        self
    }

    /// Sets how long each call that reads, or that counts a request, waits at most for a file that another process
    /// holds; by default 250 ms. A directory in memory ignores it.
    ///
    /// ```
    /// let settings = trueup_access::DirectorySettings::default().wait(std::time::Duration::from_millis(100));
    /// ```
    #[must_use]
    pub const fn wait(mut self, longest: Duration) -> Self {
        self.wait = longest;
        self
    }

    /// Sets how long a change of the file, opening the directory, or a check of the whole file waits at most for
    /// another process; by default 1 s. A directory in memory ignores it.
    ///
    /// ```
    /// let settings = trueup_access::DirectorySettings::default().change_wait(std::time::Duration::from_secs(5));
    /// ```
    #[must_use]
    pub const fn change_wait(mut self, longest: Duration) -> Self {
        self.change_wait = longest;
        self
    }
}
