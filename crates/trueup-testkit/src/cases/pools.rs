//! The days and values that rows and requests draw from. They are few, so that rows collide.

use chrono::{Days, NaiveDate, TimeDelta};
use proptest::prelude::*;
use proptest::sample::select;

/// The number of days over which the events of a case are spread.
pub(super) const SPAN: i64 = 120;

/// The first day that an event may have.
const FIRST: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 1).expect("a calendar date");

/// The last day that an event may have.
const LAST: NaiveDate = NaiveDate::from_ymd_opt(2149, 6, 6).expect("a calendar date");

/// The usual first day of a case. The days of such a case cross the ends of four months and the change to summer time
/// in Chicago.
const USUAL: NaiveDate = NaiveDate::from_ymd_opt(2025, 1, 20).expect("a calendar date");

/// Generates the base of a case, which is the day at offset 0: mostly the usual one, sometimes so that the case begins
/// on the first allowed day or ends on the last.
pub(super) fn base() -> impl Strategy<Value = NaiveDate> {
    prop_oneof![
        20 => Just(USUAL),
        1 => Just(FIRST),
        1 => Just(day(LAST, 1 - SPAN)),
    ]
}

/// Returns whether events may have a time of day. At an end of the calendar a time zone could move an event out of the
/// allowed days.
pub(super) fn allows_times(base: NaiveDate) -> bool {
    base == USUAL
}

/// Generates an offset in days, often one that other rows share, or one at the edge of a month, a week or 90 days.
pub(super) fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => 0..4_i64,
        3 => proptest::sample::select(vec![0, 11, 12, 39, 40, 47, 48, 49, 70, 71, 89, 90, SPAN - 1]),
        3 => 0..SPAN,
    ]
}

/// Returns the day at an offset, clamped to the allowed days.
pub(super) fn day(base: NaiveDate, offset: i64) -> NaiveDate {
    base.checked_add_signed(TimeDelta::days(offset)).unwrap_or(LAST).clamp(FIRST, LAST)
}

/// Returns midnight UTC of a day, in microseconds since 1970-01-01.
pub(super) fn midnight(day: NaiveDate) -> i64 {
    day.signed_duration_since(FIRST).num_days() * 86_400_000_000
}

/// Returns the next day if `after`, or else the day before.
pub(super) fn neighbor(day: NaiveDate, after: bool) -> NaiveDate {
    let moved = if after { day.checked_add_days(Days::new(1)) } else { day.checked_sub_days(Days::new(1)) };
    moved.unwrap_or(day)
}

/// Funnel stages, in their order.
pub(super) const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// Account keys. The last one occurs only in spend.
pub(super) const ACCOUNTS: [&str; 5] = ["acme", "Acme", "b c", "zoë", "spend only"];

/// Currencies, and that of accounts which state none.
pub(super) const CURRENCIES: [&str; 3] = ["USD", "", "CAD"];

/// Ids of customers, which may occur in every account.
pub(super) const CUSTOMERS: [&str; 6] = ["c1", "c2", "c3", "c10", "C1", "ç"];

/// Event ids that customers share.
pub(super) const EVENT_IDS: [&str; 5] = ["e1", "e2", "e10", "E1", "é"];

/// Campaigns that look like filters, numbers and JSON.
pub(super) const CAMPAIGNS: [&str; 10] = [
    "x",
    "",
    "X",
    "Brand | Search > $5",
    "[Va] Drain",
    "été \"fünf\" \\ 💧",
    "line\nbreak\t\u{1}",
    "10",
    "10.0",
    "-007.5",
];

/// Categories of attribution.
pub(super) const CATEGORIES: [&str; 3] = ["Advertising", "Organic", ""];

/// Channels of attribution.
pub(super) const CHANNELS: [&str; 3] = ["Search", "Social", ""];

/// Customer statuses.
pub(super) const STATUSES: [&str; 4] = ["New", "Unmatched", "", "unmatched"];

/// The labels of lead grading, the empty text, and an unknown label, which differs from a known one only in its case.
pub(super) const LABELS: [&str; 5] =
    ["Bookable - Booked", "Bookable - Didn't Book", "Unbookable", "", "bookable - booked"];

/// Agents.
pub(super) const AGENTS: [&str; 3] = ["Ann", "Bob", ""];

/// Texts of further columns.
pub(super) const TEXTS: [&str; 5] = ["a", "", "B", "00501", "true"];

/// Amounts in millionths: zero, amounts whose averages end in half a millionth, and the largest allowed ones.
pub(super) const AMOUNTS: [i64; 14] = [
    0,
    1,
    -1,
    1_000_000,
    100_000,
    1_234_560_000,
    -250_000_000,
    33_333_333,
    2,
    9_007_199_254_740_993,
    9_000_000_000_000_000_000,
    8_999_999_999_999_999_999,
    -9_000_000_000_000_000_000,
    150_500_000,
];

/// Dates in filters.
pub(super) const DATES: [&str; 8] =
    ["2025-01-20", "2025-01-31", "2025-02-01", "2025-02-28", "2025-03-09", "2025-03-10", "2025-04-01", ""];

/// Months in filters.
pub(super) const MONTHS: [&str; 4] = ["2025-01", "2025-02", "2025-03", "2025-13"];

/// Points in time in filters.
pub(super) const INSTANTS: [&str; 4] =
    ["2025-02-01T00:00:00Z", "2025-03-09T06:00:00Z", "2025-01-20T23:59:59.999999Z", ""];

/// Booleans in filters.
pub(super) const BOOLEANS: [&str; 3] = ["true", "false", ""];

/// The texts of integers and floats in columns.
pub(super) const NUMBERS: [&str; 7] = ["0", "10", "-3", "0.1", "1e+21", "5e-324", ""];

/// Dimensions of requests: computed, stored, of lead grading, ignored, and unknown ones. The first nine are the usual
/// ones.
pub(super) const DIMENSIONS: [&str; 40] = [
    "campaign",
    "account",
    "customerStatus",
    "date",
    "month",
    "adjustedType",
    "type",
    "attributionCategory",
    "attributionChannel",
    "opportunityId",
    "attributionSource",
    "accountKey",
    "accountName",
    "currency",
    "week",
    "dateTime",
    "typeIsLast",
    "opportunityStartDate",
    "firstBooked",
    "firstEstimated",
    "firstSold",
    "firstClosed",
    "firstCanceled",
    "opportunityBooked",
    "eventId",
    "opportunityAgent",
    "conversionDetailedLabel",
    "opportunityIntent",
    "Campaign",
    "zip",
    "my column|$[0]",
    "größe",
    "flag",
    "jobs",
    "visit",
    "seen",
    "noSuchField",
    "adSpend",
    "normalizedBusinessUnit",
    "conversionTranscript",
];

/// Dimensions of filters, each with its operands.
pub(super) const FILTERED: [(&str, &[&str]); 36] = [
    ("campaign", &CAMPAIGNS),
    ("customerStatus", &STATUSES),
    ("attributionCategory", &CATEGORIES),
    ("attributionChannel", &CHANNELS),
    ("attributionSource", &CATEGORIES),
    ("type", &STAGES),
    ("adjustedType", &STAGES),
    ("typeIsLast", &BOOLEANS),
    ("opportunityBooked", &BOOLEANS),
    ("opportunityId", &CUSTOMERS),
    ("accountKey", &ACCOUNTS),
    ("accountName", &["acme", "Same name", "Acme", "spend only"]),
    ("currency", &CURRENCIES),
    ("eventId", &EVENT_IDS),
    ("date", &DATES),
    ("week", &DATES),
    ("month", &MONTHS),
    ("dateTime", &INSTANTS),
    ("opportunityStartDate", &DATES),
    ("firstBooked", &DATES),
    ("firstEstimated", &DATES),
    ("firstSold", &DATES),
    ("firstClosed", &DATES),
    ("firstCanceled", &DATES),
    ("opportunityAgent", &AGENTS),
    ("conversionDetailedLabel", &LABELS),
    ("opportunityIntent", &TEXTS),
    ("Campaign", &CAMPAIGNS),
    ("zip", &TEXTS),
    ("my column|$[0]", &TEXTS),
    ("größe", &NUMBERS),
    ("flag", &BOOLEANS),
    ("jobs", &NUMBERS),
    ("visit", &DATES),
    ("seen", &INSTANTS),
    ("noSuchField", &TEXTS),
];

/// JSON numbers in filters.
pub(super) const OPERANDS: [&str; 14] = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "10",
    "100",
    "1e2",
    "150.5",
    "0.000001",
    "0.3333333333333333",
    "-7.5",
    "9000000000000",
    "9007199254.740993",
];

/// Generates a value of the pool, at least half of the time one of its first two.
pub(super) fn value(pool: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![1 => select(&pool[..2]), 1 => select(pool)]
}
