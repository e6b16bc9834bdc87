//! The values that rows and requests draw from, few enough to meet.

use proptest::prelude::*;
use proptest::sample::select;

/// Funnel stages, in their order.
pub(super) const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// Account keys; the last one is met only in spend.
pub(super) const ACCOUNTS: [&str; 5] = ["acme", "Acme", "b c", "zoë", "spend only"];

/// The same customers in every account.
pub(super) const CUSTOMERS: [&str; 6] = ["c1", "c2", "c3", "c10", "C1", "ç"];

/// Ids that customers fight over.
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

/// The labels that lead grading knows, and one that it does not.
pub(super) const LABELS: [&str; 5] =
    ["Bookable - Booked", "Bookable - Didn't Book", "Unbookable", "", "bookable - booked"];

/// Agents.
pub(super) const AGENTS: [&str; 3] = ["Ann", "Bob", ""];

/// Texts of further columns.
pub(super) const TEXTS: [&str; 5] = ["a", "", "B", "00501", "true"];

/// Amounts in millionths: zero, halves of a millionth when averaged, and the largest that are allowed.
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

/// Dates as filters name them.
pub(super) const DATES: [&str; 8] =
    ["2025-01-20", "2025-01-31", "2025-02-01", "2025-02-28", "2025-03-09", "2025-03-10", "2025-04-01", ""];

/// Months as filters name them.
pub(super) const MONTHS: [&str; 4] = ["2025-01", "2025-02", "2025-03", "2025-13"];

/// Instants as filters name them.
pub(super) const INSTANTS: [&str; 4] =
    ["2025-02-01T00:00:00Z", "2025-03-09T06:00:00Z", "2025-01-20T23:59:59.999999Z", ""];

/// The words of booleans.
pub(super) const WORDS: [&str; 3] = ["true", "false", ""];

/// Numbers as columns of whole numbers and floats render them.
pub(super) const NUMBERS: [&str; 7] = ["0", "10", "-3", "0.1", "1e+21", "5e-324", ""];

/// Dimensions that a request may select: computed, stored, of the lead-grading group, ignored, and unknown ones.
pub(super) const DIMENSIONS: [&str; 38] = [
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
    "accountKey",
    "accountName",
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

/// What a filter on each dimension compares with.
pub(super) const FILTERED: [(&str, &[&str]); 34] = [
    ("campaign", &CAMPAIGNS),
    ("customerStatus", &STATUSES),
    ("attributionCategory", &CATEGORIES),
    ("attributionChannel", &CHANNELS),
    ("type", &STAGES),
    ("adjustedType", &STAGES),
    ("typeIsLast", &WORDS),
    ("opportunityBooked", &WORDS),
    ("opportunityId", &CUSTOMERS),
    ("accountKey", &ACCOUNTS),
    ("accountName", &["acme", "Same name", "Acme", "spend only"]),
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
    ("flag", &WORDS),
    ("jobs", &NUMBERS),
    ("visit", &DATES),
    ("seen", &INSTANTS),
    ("noSuchField", &TEXTS),
];

/// JSON numbers that filters compare with.
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

/// A value of the pool, as often as not one of its first two.
pub(super) fn value(pool: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![1 => select(&pool[..2]), 1 => select(pool)]
}
