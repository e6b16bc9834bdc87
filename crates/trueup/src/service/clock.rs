//! The clock, which is handed in.

use crate::Day;
use crate::access::UnixTime;
use std::time::SystemTime;

const SECONDS_PER_DAY: i64 = 86_400;

/// What the time is. Closures that give the time are clocks.
///
/// ```
/// use trueup::access::UnixTime;
/// use trueup::service::Clock;
///
/// let clock = || UnixTime::from_seconds(86_400);
/// assert_eq!(clock.today().to_string(), "1970-01-02");
/// ```
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> UnixTime;

    /// The present day: that of [`Clock::now`] in UTC, held to the days that there are.
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
