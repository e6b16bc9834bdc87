//! When and by what a version was made, as its manifest records it.

use crate::model::{UtcMicros, format_date_time};
use chrono::DateTime;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The resolution of the time of a commit, in microseconds: a millisecond.
const RESOLUTION: i64 = 1_000;

/// When and by what a version was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Commit {
    /// The time of the commit, in UTC, by the clock of the store or of the file system. A version is always later than
    /// the one before.
    pub time: CommitTime,
    /// What made the version.
    pub operation: CommitOperation,
    /// How long the writer took, in milliseconds: from its lock of the dataset to the commit.
    pub duration_ms: u64,
}

/// What made a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CommitOperation {
    /// An ingest added rows, or replaced some.
    Ingest,
    /// The definitions of metrics and dimensions were replaced.
    Define,
    /// Files were merged, which changes no answer.
    Compact,
    /// The events of some customers were removed.
    Forget,
    /// The content of an earlier version was made that of the newest one.
    Restore,
}

impl Commit {
    /// Returns the commit of a version that is made at `now`, after one that was made at `before`; its writer took
    /// `took`. If `now` is not later, because the clock was set back, the commit is a millisecond after the one before.
    /// The answer to a query as of some time therefore never changes once a version has been committed after that time.
    #[must_use]
    pub fn after(before: Option<CommitTime>, now: SystemTime, operation: CommitOperation, took: Duration) -> Self {
        let now = CommitTime::from(now);
        let time = before.map_or(now, |before| now.max(before.next()));
        Self { time, operation, duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// The time of a commit, in whole milliseconds.
///
/// ```
/// use trueup_core::dataset::CommitTime;
///
/// let time = CommitTime::from(std::time::UNIX_EPOCH);
/// assert_eq!(time.to_string(), "1970-01-01T00:00:00.000Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CommitTime(UtcMicros);

impl CommitTime {
    /// Returns the time in microseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn micros(self) -> UtcMicros {
        self.0
    }

    /// Returns the next time that differs.
    const fn next(self) -> Self {
        Self(UtcMicros(self.0.0.saturating_add(RESOLUTION)))
    }
}

impl From<SystemTime> for CommitTime {
    /// Rounds down to a millisecond. A time before 1970 counts as the beginning of 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        Self(UtcMicros(micros - micros.rem_euclid(RESOLUTION)))
    }
}

impl From<CommitTime> for SystemTime {
    fn from(time: CommitTime) -> Self {
        let since = Duration::from_micros(time.0.0.unsigned_abs());
        let moved = if time.0.0 < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) };
        moved.unwrap_or(UNIX_EPOCH)
    }
}

impl fmt::Display for CommitTime {
    /// Writes the time as RFC 3339 in UTC, with three digits of the fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format_date_time(self.0).unwrap_or_default();
        let seconds = text.trim_end_matches('Z');
        match seconds.split_once('.') {
            Some((seconds, fraction)) => write!(f, "{seconds}.{fraction:0<3}Z"),
            None => write!(f, "{seconds}.000Z"),
        }
    }
}

impl From<CommitTime> for String {
    fn from(time: CommitTime) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for CommitTime {
    type Error = chrono::ParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Ok(Self(UtcMicros(DateTime::parse_from_rfc3339(&text)?.timestamp_micros())))
    }
}

impl CommitOperation {
    /// Returns the operation as manifests and lists of versions name it, such as `ingest`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Define => "define",
            Self::Compact => "compact",
            Self::Forget => "forget",
            Self::Restore => "restore",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_later_than_the_one_before_even_if_the_clock_was_set_back() {
        let now = SystemTime::now();
        let ahead = CommitTime::from(now + Duration::from_secs(3_600));
        let after = |before| Commit::after(before, now, CommitOperation::Ingest, Duration::from_micros(1_700));
        assert_eq!(after(Some(ahead)).time.micros().0 - ahead.micros().0, RESOLUTION);
        assert!(after(None).time < ahead);
    }

    #[test]
    fn how_long_a_writer_took_is_recorded_in_milliseconds() {
        let commit = Commit::after(None, UNIX_EPOCH, CommitOperation::Compact, Duration::from_micros(1_700));
        let json = serde_json::to_string(&commit).unwrap();
        assert!(json.ends_with(r#","operation":"compact","durationMs":1}"#), "{json}");
        assert_eq!(serde_json::from_str::<Commit>(&json).unwrap(), commit);
    }

    #[test]
    fn times_are_written_with_three_digits_and_read_again() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_735_689_600_250, "2025-01-01T00:00:00.250Z"),
            (1_735_689_600_007, "2025-01-01T00:00:00.007Z"),
        ] {
            let time = CommitTime::from(UNIX_EPOCH + Duration::from_millis(millis));
            assert_eq!(time.to_string(), text);
            assert_eq!(CommitTime::try_from(text.to_owned()), Ok(time));
            assert_eq!(CommitTime::from(SystemTime::from(time)), time);
        }
    }
}
