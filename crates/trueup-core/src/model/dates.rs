//! The date of an event: the one given, or the calendar date of its point in time where its account is.

use super::account::Accounts;
use super::columns::{DATE, DATE_TIME};
use super::fault::{Reason, RowFaults};
use super::instant::{format_date_time, local_date};
use crate::Day;
use arrow_array::iterator::ArrayIter;
use arrow_array::{ArrayAccessor, Date32Array, TimestampMicrosecondArray};
use chrono::NaiveDate;
use chrono_tz::Tz;
use hashbrown::HashMap;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The time zones of the accounts that are not in UTC.
#[derive(Clone, Debug)]
pub(super) struct Zones(HashMap<String, Tz>);

impl Zones {
    pub(super) fn of(accounts: &Accounts) -> Self {
        let away = accounts.iter().filter(|account| account.time_zone != Tz::UTC);
        Self(away.map(|account| (account.key.clone(), account.time_zone)).collect())
    }

    fn of_account(&self, key: &str) -> Tz {
        if self.0.is_empty() { Tz::UTC } else { self.0.get(key).copied().unwrap_or(Tz::UTC) }
    }
}

/// What was given, where there is such a column: days, and points in time in microseconds since 1970-01-01 UTC.
pub(super) struct Dates {
    pub(super) days: Option<Vec<Option<Day>>>,
    pub(super) instants: Option<Vec<Option<i64>>>,
}

impl Dates {
    /// The date of every row; null for those with a fault.
    pub(super) fn resolve<'a>(
        &self,
        accounts: impl ArrayAccessor<Item = &'a str>,
        zones: &Zones,
        faults: &mut RowFaults,
    ) -> Date32Array {
        let mut last = ("", zones.of_account(""));
        let resolve = |(row, account): (usize, Option<&'a str>)| {
            // A date that is refused reads as none; that is not to be blamed on the row again.
            let account = account.filter(|_| !faults.has(row))?;
            let day = self.days.as_ref().and_then(|days| days[row]);
            let instant = self.instants.as_ref().and_then(|instants| instants[row]);
            // Neighbours are commonly of one account, and then often the very same text of a dictionary.
            if !std::ptr::eq(account, last.0) && account != last.0 {
                last = (account, zones.of_account(account));
            }
            match decide(day, instant, last.1) {
                Ok(day) => Some(i32::from(day.number())),
                Err(reason) => {
                    let (column, value) = match reason {
                        Reason::Apart { .. } => (DATE, day.map(|day| day.to_string())),
                        Reason::DateTimeRange => (DATE_TIME, instant.map(shown)),
                        _ => (DATE, None),
                    };
                    faults.add(row, column, &value.unwrap_or_default(), reason);
                    None
                }
            }
        };
        ArrayIter::new(accounts).enumerate().map(resolve).collect()
    }

    /// The stored column `dateTime` of as many rows.
    pub(super) fn into_date_times(self, rows: usize) -> TimestampMicrosecondArray {
        self.instants.map_or_else(|| TimestampMicrosecondArray::new_null(rows), Into::into).with_timezone("UTC")
    }
}

fn shown(instant: i64) -> String {
    format_date_time(instant).unwrap_or_else(|| instant.to_string())
}

fn decide(day: Option<Day>, instant: Option<i64>, zone: Tz) -> Result<Day, Reason> {
    let Some(instant) = instant else { return day.ok_or(Reason::NoDate) };
    if let Some(day) = day.filter(|day| i64::from(day.number()) == instant.div_euclid(MICROS_PER_DAY)) {
        // No zone is a whole day away from UTC, so the local date is at most a day from the same date in UTC.
        return Ok(day);
    }
    let local = local_date(instant, zone).ok_or(Reason::DateTimeRange)?;
    match day {
        None => Day::from_date(local).map_err(|_| Reason::DateTimeRange),
        Some(day) if days_between(day.date(), local) <= 1 => Ok(day),
        Some(_) => Err(Reason::Apart { local, zone: zone.name() }),
    }
}

fn days_between(one: NaiveDate, other: NaiveDate) -> u64 {
    one.signed_duration_since(other).num_days().unsigned_abs()
}
