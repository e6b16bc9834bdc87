//! The days that cases fall on.

use chrono::{Days, NaiveDate, TimeDelta};
use proptest::prelude::*;

/// How many days the events of a case can spread over.
pub(super) const SPAN: i64 = 120;

/// The first day that an event may have.
const FIRST: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 1).expect("a calendar date");

/// The last day that an event may have.
const LAST: NaiveDate = NaiveDate::from_ymd_opt(2149, 6, 6).expect("a calendar date");

/// From here a case crosses four ends of months and the change to summer time in Chicago.
const USUAL: NaiveDate = NaiveDate::from_ymd_opt(2025, 1, 20).expect("a calendar date");

/// The day that offsets count from; now and then the very first or last ones allowed.
pub(super) fn base() -> impl Strategy<Value = NaiveDate> {
    prop_oneof![
        20 => Just(USUAL),
        1 => Just(FIRST),
        1 => Just(day(LAST, 1 - SPAN)),
    ]
}

/// Times of day are left out where the calendar ends, because a time zone could push them over it.
pub(super) fn allows_times(base: NaiveDate) -> bool {
    base == USUAL
}

/// An offset in days, often one that other rows have too, or the edge of a month or a week.
pub(super) fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => 0..4_i64,
        3 => proptest::sample::select(vec![0, 11, 12, 39, 40, 47, 48, 49, 70, 71, 89, 90, SPAN - 1]),
        3 => 0..SPAN,
    ]
}

/// The day at an offset, held inside the calendar allowed.
pub(super) fn day(base: NaiveDate, offset: i64) -> NaiveDate {
    base.checked_add_signed(TimeDelta::days(offset)).unwrap_or(LAST).clamp(FIRST, LAST)
}

/// Midnight UTC of a day, in microseconds since 1970.
pub(super) fn midnight(day: NaiveDate) -> i64 {
    day.signed_duration_since(FIRST).num_days() * 86_400_000_000
}

/// The day after or before, for a `date` that differs from the local one.
pub(super) fn neighbour(day: NaiveDate, after: bool) -> NaiveDate {
    let moved = if after { day.checked_add_days(Days::new(1)) } else { day.checked_sub_days(Days::new(1)) };
    moved.unwrap_or(day)
}
