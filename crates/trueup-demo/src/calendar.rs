use chrono::{Datelike, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;

use super::dice::Dice;
use super::settings::{Settings, SettingsError};

/// Monday to Sunday: how much more the phones ring on a Monday.
const WEEK: [u32; 7] = [130, 120, 112, 110, 105, 65, 40];

/// The days of the data set, as days since 1970-01-01, and its calendar months.
#[derive(Debug)]
pub(super) struct DemoCalendar {
    pub(super) first: i32,
    pub(super) last: i32,
    pub(super) months: Vec<CalendarMonth>,
}

/// One calendar month.
#[derive(Debug)]
pub(super) struct CalendarMonth {
    pub(super) first: i32,
    /// January is 0.
    pub(super) of_year: usize,
    /// Year and month in four digits, for customer ids.
    pub(super) label: String,
    /// Running sums of the days' weights, the weekly rhythm.
    pub(super) day_ends: Vec<u32>,
}

impl CalendarMonth {
    /// A day, drawn in the weekly rhythm.
    pub(super) fn draw_day(&self, dice: &mut Dice) -> i32 {
        self.day(dice.weighted(&self.day_ends))
    }

    /// The day of an index into the month's days.
    pub(super) fn day(&self, index: usize) -> i32 {
        self.first.saturating_add_unsigned(u32::try_from(index).unwrap_or(0))
    }

    pub(super) fn weight(&self) -> u32 {
        self.day_ends.last().copied().unwrap_or(1)
    }

    pub(super) fn day_weight(&self, day: usize) -> u32 {
        self.day_ends[day] - if day == 0 { 0 } else { self.day_ends[day - 1] }
    }
}

impl DemoCalendar {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let end = settings.end()?;
        let mut months: Vec<CalendarMonth> = Vec::new();
        for date in settings.start.iter_days().take_while(|date| *date <= end) {
            if date.day() == 1 {
                months.push(CalendarMonth {
                    first: days(date),
                    of_year: usize::try_from(date.month0()).unwrap_or(0),
                    label: date.format("%y%m").to_string(),
                    day_ends: Vec::new(),
                });
            }
            if let Some(month) = months.last_mut() {
                let before = month.day_ends.last().copied().unwrap_or(0);
                month.day_ends.push(before + WEEK[weekday(days(date))]);
            }
        }
        Ok(Self { first: days(settings.start), last: days(end), months })
    }

    /// Seconds that a zone is ahead of UTC, for each day. Taken at noon in UTC, when the night in which clocks change is over
    /// all through the United States; at night nobody calls.
    pub(super) fn offsets(&self, zone: Tz) -> Vec<i64> {
        (self.first..=self.last)
            .map(|day| {
                let noon = date(day).and_hms_opt(12, 0, 0).unwrap_or_default();
                i64::from(zone.offset_from_utc_datetime(&noon).fix().local_minus_utc())
            })
            .collect()
    }
}

/// 0 for Monday. 1970-01-01 was a Thursday.
pub(super) fn weekday(day: i32) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)
}

fn days(date: NaiveDate) -> i32 {
    date.to_epoch_days()
}

fn date(day: i32) -> NaiveDate {
    NaiveDate::from_epoch_days(day).unwrap_or_default()
}
