//! The days and months of the dataset.

use chrono::{Datelike, NaiveDate};
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::dice::Dice;
use super::settings::{Settings, SettingsError};

/// Relative demand on each day of the week, from Monday to Sunday.
const WEEKDAY_WEIGHTS: [u32; 7] = [130, 120, 112, 110, 105, 65, 40];

/// The first and last day of the dataset, in days since 1970-01-01, and its calendar months.
#[derive(Debug)]
pub(super) struct DemoCalendar {
    pub(super) first: i32,
    pub(super) last: i32,
    pub(super) months: Vec<CalendarMonth>,
}

/// One calendar month, and the demand on its days.
#[derive(Debug)]
pub(super) struct CalendarMonth {
    /// Its first day, in days since 1970-01-01.
    pub(super) first: i32,
    /// Index of the month in its year; January is 0.
    pub(super) of_year: usize,
    /// The last two digits of the year, and the month, such as `2407`; part of customer ids.
    pub(super) label: String,
    /// Running sums of the weights of the days, of which the last month may lack some.
    pub(super) day_ends: Vec<u32>,
    /// The weight of all days of the calendar month.
    whole: u32,
}

impl CalendarMonth {
    /// Draws a day, in proportion to the weights of weekdays.
    pub(super) fn draw_day(&self, dice: &mut Dice) -> i32 {
        self.day(dice.weighted(&self.day_ends))
    }

    /// Returns a day of the month by its index, from 0.
    pub(super) fn day(&self, index: usize) -> i32 {
        self.first.saturating_add_unsigned(u32::try_from(index).unwrap_or(0))
    }

    /// Returns the sum of the weights of all days.
    pub(super) fn weight(&self) -> u32 {
        self.day_ends.last().copied().unwrap_or(1)
    }

    /// Returns the share of the days in the calendar month by weight, in thousandths.
    pub(super) fn part(&self) -> u64 {
        u64::from(self.weight()) * 1_000 / u64::from(self.whole.max(1))
    }

    /// Returns the weight of a day by its index, from 0.
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
                let of_month = date.iter_days().take_while(|day| day.month() == date.month());
                months.push(CalendarMonth {
                    first: days(date),
                    of_year: usize::try_from(date.month0()).unwrap_or(0),
                    label: date.format("%y%m").to_string(),
                    day_ends: Vec::new(),
                    whole: of_month.map(|day| WEEKDAY_WEIGHTS[weekday(days(day))]).sum(),
                });
            }
            if let Some(month) = months.last_mut() {
                let before = month.day_ends.last().copied().unwrap_or(0);
                month.day_ends.push(before + WEEKDAY_WEIGHTS[weekday(days(date))]);
            }
        }
        Ok(Self { first: days(settings.start), last: days(end), months })
    }

    /// Returns the offset of a time zone from UTC in seconds, for each day. It is taken at noon UTC: by then the clocks
    /// have changed everywhere in the United States, and no event happens before 6:30 in local time.
    pub(super) fn offsets(&self, zone: &str) -> Vec<i64> {
        // A test compares the days of events with the time zones of their accounts, so that each zone is there.
        let zone = TimeZoneDatabase::bundled().get(zone).unwrap_or(TimeZone::UTC);
        let noon = |day: i32| Timestamp::from_second(i64::from(day) * 86_400 + 43_200).unwrap_or_default();
        (self.first..=self.last).map(|day| i64::from(zone.to_offset(noon(day)).seconds())).collect()
    }
}

/// Returns the weekday of a day; 0 is Monday. 1970-01-01 was a Thursday.
pub(super) fn weekday(day: i32) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)
}

fn days(date: NaiveDate) -> i32 {
    date.to_epoch_days()
}
