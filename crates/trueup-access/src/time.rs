//! Instants. No function of this crate reads the clock; callers pass the time.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_HOUR: i64 = 3600;

/// An instant: whole seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
///
/// ```
/// use trueup_access::UnixTime;
///
/// let noon = UnixTime::from_seconds(43_200);
/// assert!(noon < noon.plus_seconds(1));
/// assert!(noon < UnixTime::from(std::time::SystemTime::now()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(i64);

impl UnixTime {
    /// Returns the instant `seconds` after 1970-01-01 00:00:00 UTC.
    ///
    /// ```
    /// assert_eq!(trueup_access::UnixTime::from_seconds(7).seconds(), 7);
    /// ```
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since 1970-01-01 00:00:00 UTC.
    ///
    /// ```
    /// assert_eq!(trueup_access::UnixTime::from_seconds(-1).seconds(), -1);
    /// ```
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// Returns the instant `seconds` later, or the latest possible.
    ///
    /// ```
    /// assert_eq!(trueup_access::UnixTime::from_seconds(1).plus_seconds(2).seconds(), 3);
    /// ```
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Returns the number of the clock hour (UTC) since 1970.
    pub(crate) const fn hour(self) -> i64 {
        self.0.div_euclid(SECONDS_PER_HOUR)
    }

    /// Returns the seconds until the next clock hour: 1 to 3600.
    pub(crate) fn until_next_hour(self) -> u32 {
        // `rem_euclid` is in 0..3600, so the difference always fits.
        u32::try_from(SECONDS_PER_HOUR - self.0.rem_euclid(SECONDS_PER_HOUR)).unwrap_or(u32::MAX)
    }
}

impl From<SystemTime> for UnixTime {
    /// Rounds down to a whole second.
    fn from(time: SystemTime) -> Self {
        let seconds = |duration: std::time::Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => seconds(after),
            Err(before) => {
                let before = before.duration();
                -seconds(before) - i64::from(before.subsec_nanos() > 0)
            }
        })
    }
}
