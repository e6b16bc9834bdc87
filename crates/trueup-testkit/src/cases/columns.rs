//! The further columns of the event table, each of one type.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use proptest::prelude::*;

use super::pools::{AGENTS, CAMPAIGNS, CATEGORIES, CHANNELS, LABELS, STATUSES, TEXTS, value};
use super::window;
use crate::oracle::Cell;

/// The columns that a table may have, in the order of [`cells`]; the last two are ignored by ingest because their names
/// are computed or a metric.
pub(super) const COLUMNS: [&str; 17] = [
    "campaign",
    "attributionCategory",
    "attributionChannel",
    "customerStatus",
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
    "adjustedType",
    "leads",
];

/// Which of the columns a table has.
pub(super) fn present() -> impl Strategy<Value = Vec<bool>> {
    let usual = proptest::collection::vec(proptest::bool::weighted(0.8), 7);
    let further = proptest::collection::vec(proptest::bool::weighted(0.3), 8);
    let ignored = proptest::collection::vec(proptest::bool::weighted(0.05), 2);
    (usual, further, ignored).prop_map(|(usual, further, ignored)| [usual, further, ignored].concat())
}

/// One cell for each of the columns. Dates and instants count from the base of the case.
pub(super) fn cells() -> Vec<BoxedStrategy<Cell>> {
    let integers = vec![0, 10, -3, i64::MAX, i64::MIN];
    let floats = vec![0.0, -0.0, 0.1, 10.0, 1e21, 5e-324, 0.1 + 0.2, 123_456_789.125, -1e-7];
    vec![
        text(&CAMPAIGNS),
        text(&CATEGORIES),
        text(&CHANNELS),
        text(&STATUSES),
        text(&AGENTS),
        text(&LABELS),
        text(&TEXTS),
        text(&CAMPAIGNS),
        text(&TEXTS),
        text(&TEXTS),
        or_null(proptest::sample::select(floats).prop_map(Cell::Float)),
        or_null(any::<bool>().prop_map(Cell::Bool)),
        or_null(proptest::sample::select(integers).prop_map(Cell::Integer)),
        or_null(window::offset().prop_map(|offset| Cell::Date(window::day(NaiveDate::default(), 20_108 + offset)))),
        or_null(
            (window::offset(), fraction())
                .prop_map(|(days, fraction)| Cell::Timestamp((20_108 + days) * 86_400_000_000 + fraction)),
        ),
        text(&TEXTS),
        or_null((0..3_i64).prop_map(Cell::Integer)),
    ]
}

/// Microseconds after midnight: none, a whole second, or a fraction with and without trailing zeros.
fn fraction() -> impl Strategy<Value = i64> {
    proptest::sample::select(vec![0, 1, 120_000, 1_000_000, 86_399_999_999])
}

/// The cells of the columns that are there.
pub(super) fn row(present: &[bool], cells: Vec<Cell>) -> BTreeMap<String, Cell> {
    let named = COLUMNS.iter().zip(present).zip(cells);
    named.filter(|((_, present), _)| **present).map(|((name, _), cell)| ((*name).to_owned(), cell)).collect()
}

fn text(pool: &'static [&'static str]) -> BoxedStrategy<Cell> {
    or_null(value(pool).prop_map(|text| Cell::Text(text.to_owned())))
}

fn or_null(cell: impl Strategy<Value = Cell> + 'static) -> BoxedStrategy<Cell> {
    prop_oneof![1 => Just(Cell::Null), 4 => cell].boxed()
}
