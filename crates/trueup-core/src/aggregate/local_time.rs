//! Parts of points in time, such as the hour, in the time zones of accounts.

use crate::definitions::DatePart;
use crate::model::{MICROS_PER_DAY, MICROS_PER_SECOND, UtcMicros, Zone};
use crate::scan::{NO_VALUE, TextDictionary};
use chrono::{Datelike, NaiveDate};
use std::sync::Arc;

const MICROS_PER_HOUR: i64 = 3_600 * MICROS_PER_SECOND;

/// The years that a point in time may fall in: its date in the time zone is at most a day from that of its event.
const YEARS: std::ops::RangeInclusive<i32> = 1969..=2149;

/// Marks a day on which the offset of a time zone changes.
const CHANGES: i32 = i32::MAX;
/// Marks a day that was not looked up yet.
const UNKNOWN: i32 = i32::MIN;

/// Encodes a part of points in time. The code 0 is that of no point in time, and of the empty text.
#[derive(Debug)]
pub(super) struct LocalTime {
    part: DatePart,
    /// For each account of a row group, the index of its zone.
    of_account: Vec<usize>,
    zones: Vec<ZoneOffsets>,
}

/// The offsets of a time zone by the day in UTC, looked up when they are needed.
#[derive(Debug)]
struct ZoneOffsets {
    zone: Zone,
    /// In seconds, by the number of the day; or [`CHANGES`], or [`UNKNOWN`].
    by_day: Vec<i32>,
}

impl LocalTime {
    /// Returns an encoder, given the time zone of each account of a row group.
    pub(super) fn new(part: DatePart, of_accounts: impl Iterator<Item = Zone>) -> Self {
        let (mut of_account, mut zones): (Vec<usize>, Vec<ZoneOffsets>) = (Vec::new(), Vec::new());
        for zone in of_accounts {
            let at = zones.iter().position(|known| known.zone == zone).unwrap_or_else(|| {
                zones.push(ZoneOffsets { zone, by_day: Vec::new() });
                zones.len() - 1
            });
            of_account.push(at);
        }
        Self { part, of_account, zones }
    }

    /// Returns the texts by code.
    pub(super) fn texts(&self) -> TextDictionary {
        let first = [String::new()];
        Arc::new(match self.part {
            DatePart::Hour => first.into_iter().chain((0..24).map(|hour| format!("{hour:02}"))).collect(),
            DatePart::Weekday => first.into_iter().chain((1..=7).map(|day| day.to_string())).collect(),
            DatePart::Year => first.into_iter().chain(YEARS.map(|year| year.to_string())).collect(),
            DatePart::Quarter => {
                let quarters = YEARS.flat_map(|year| (1..=4).map(move |quarter| format!("{year}-Q{quarter}")));
                first.into_iter().chain(quarters).collect()
            }
        })
    }

    /// Returns the code of a point in time of an account, given by its index in the row group.
    pub(super) fn code(&mut self, account: usize, micros: i64) -> u32 {
        if micros == NO_VALUE {
            return 0;
        }
        let zone = &mut self.zones[self.of_account[account]];
        let local = micros + i64::from(zone.offset(micros)) * MICROS_PER_SECOND;
        let day = local.div_euclid(MICROS_PER_DAY);
        let number = match self.part {
            DatePart::Hour => local.rem_euclid(MICROS_PER_DAY) / MICROS_PER_HOUR,
            // 1970-01-01 was a Thursday.
            DatePart::Weekday => (day + 3).rem_euclid(7),
            DatePart::Year => year_and_quarter(day).map_or(-1, |(year, _)| year),
            DatePart::Quarter => year_and_quarter(day).map_or(-1, |(year, quarter)| year * 4 + quarter),
        };
        u32::try_from(number + 1).unwrap_or(0)
    }
}

/// Returns the year of a day, from the first of [`YEARS`], and its quarter, both from 0.
fn year_and_quarter(day: i64) -> Option<(i64, i64)> {
    let days = i32::try_from(day).ok()?.checked_add(NaiveDate::default().num_days_from_ce())?;
    let date = NaiveDate::from_num_days_from_ce_opt(days).filter(|date| YEARS.contains(&date.year()))?;
    Some((i64::from(date.year() - YEARS.start()), i64::from(date.quarter()) - 1))
}

impl ZoneOffsets {
    /// Returns the offset at a point in time, in seconds.
    fn offset(&mut self, micros: i64) -> i32 {
        let day = micros.div_euclid(MICROS_PER_DAY);
        let Ok(at) = usize::try_from(day) else { return self.zone.offset(UtcMicros(micros)) };
        // Days before `Day::MIN` and after `Day::MAX` have at most a few events.
        if at > usize::from(u16::MAX) {
            return self.zone.offset(UtcMicros(micros));
        }
        if at >= self.by_day.len() {
            self.by_day.resize(at + 1, UNKNOWN);
        }
        if self.by_day[at] == UNKNOWN {
            // No time zone changes its offset and changes it back within a day.
            let midnight = |day| UtcMicros(day * MICROS_PER_DAY);
            let (first, next) = (self.zone.offset(midnight(day)), self.zone.offset(midnight(day + 1)));
            self.by_day[at] = if first == next { first } else { CHANGES };
        }
        match self.by_day[at] {
            CHANGES => self.zone.offset(UtcMicros(micros)),
            known => known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use jiff::tz::TimeZoneDatabase;

    #[test]
    fn parts_are_those_of_the_local_time_in_every_zone() {
        // Every five hours of sixty years, in which offsets change, at different minutes and seconds.
        let times = (0..400_000_i64).map(|step| step * 5 * MICROS_PER_HOUR + step % 3_600 * MICROS_PER_SECOND);
        let times: Vec<i64> = times.take_while(|time| *time < 60 * 365 * MICROS_PER_DAY).collect();
        let names = ["UTC", "America/Chicago", "Africa/Monrovia", "Pacific/Apia", "Australia/Lord_Howe"];
        for zone in names.map(|name| name.parse::<Zone>().unwrap()) {
            let database = TimeZoneDatabase::bundled().get(zone.name()).unwrap();
            for part in [DatePart::Hour, DatePart::Weekday, DatePart::Quarter, DatePart::Year] {
                let mut encoder = LocalTime::new(part, [zone].into_iter());
                let texts = encoder.texts();
                for time in &times {
                    let local = database.to_datetime(Timestamp::from_microsecond(*time).unwrap());
                    let expected = match part {
                        DatePart::Hour => format!("{:02}", local.hour()),
                        _ => part.of_date(local.date().to_string().parse().unwrap()),
                    };
                    assert_eq!(&texts[encoder.code(0, *time) as usize], expected, "{zone} {part:?} {time}");
                }
            }
        }
    }

    #[test]
    fn no_point_in_time_is_the_empty_text() {
        let mut hours = LocalTime::new(DatePart::Hour, [Zone::UTC].into_iter());
        assert_eq!(hours.code(0, NO_VALUE), 0);
        assert_eq!(&hours.texts()[0], "");
    }
}
