//! What a service is configured with: limits and a clock.

use crate::Day;
use crate::access::UnixTime;
use std::time::{Duration, SystemTime};

const SECONDS_PER_DAY: i64 = 86_400;

/// The limits of one request. A request that exceeds one is refused.
///
/// How many requests a user may send per hour is a setting of the directory, see
/// [`DirectorySettings`](crate::access::DirectorySettings).
///
/// ```
/// use std::time::Duration;
/// use trueup::service::Limits;
///
/// let limits = Limits { deadline: Duration::from_secs(5), ..Limits::default() };
/// assert!(limits.rows <= limits.cells);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of accounts times sub-ranges of an events request; by default 20,000.
    pub account_intervals: usize,
    /// Largest number of rows of an events answer, before conditions on metrics; by default 1,000,000.
    pub rows: usize,
    /// Largest number of rows times columns of an events answer, before conditions on metrics; by default 150,000,000.
    pub cells: usize,
    /// Largest number of documents of an insights answer; by default 200.
    pub documents: usize,
    /// How long a request may take; by default 30 s. The time starts with [`Service::handle`](super::Service::handle),
    /// or with a typed call such as [`Service::events`](super::Service::events). A request to `/api`, which reads no
    /// events, has no deadline once it runs; a server may refuse it while it waits for its turn.
    pub deadline: Duration,
    /// How long a request may wait for data of benchmarks that is being computed; by default 2 s.
    pub benchmarks_wait: Duration,
    /// How long an events request may wait for memory that other queries and answers hold; by default 2 s. Other
    /// requests do not wait for it.
    pub memory_wait: Duration,
    /// How many requests may wait for memory at the same time; by default 8. Further requests are refused without a
    /// wait.
    pub memory_queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            account_intervals: 20_000,
            rows: 1_000_000,
            cells: 150_000_000,
            documents: 200,
            deadline: Duration::from_secs(30),
            benchmarks_wait: Duration::from_secs(2),
            memory_wait: Duration::from_secs(2),
            memory_queue: 8,
        }
    }
}

/// A source of the current time. A closure that returns the time is a clock.
///
/// ```
/// use trueup::access::UnixTime;
/// use trueup::service::Clock;
///
/// let clock = || UnixTime::from_seconds(86_400);
/// assert_eq!(clock.today().to_string(), "1970-01-02");
/// ```
pub trait Clock: Send + Sync {
    /// Returns the current instant.
    fn now(&self) -> UnixTime;

    /// Returns the day (UTC) of [`Clock::now`], or the nearest day that [`Day`] can represent.
    fn today(&self) -> Day {
        let number = self.now().seconds().div_euclid(SECONDS_PER_DAY);
        u16::try_from(number).map_or(if number < 0 { Day::MIN } else { Day::MAX }, Day::from_number)
    }
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        SystemTime::now().into()
    }
}

impl<F: Fn() -> UnixTime + Send + Sync> Clock for F {
    fn now(&self) -> UnixTime {
        self()
    }
}
