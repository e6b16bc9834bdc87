use super::super::{Accounts, EventNormalizer, columns};
use super::*;
use arrow_array::cast::AsArray;
use proptest::prelude::*;
use std::sync::Arc;

const COLUMNS: [&str; 8] = [
    columns::ACCOUNT,
    columns::OPPORTUNITY_ID,
    columns::TYPE,
    columns::DATE,
    columns::DATE_TIME,
    columns::EVENT_ID,
    columns::TOTAL,
    "campaign",
];

type TestEvent = [&'static str; 8];

fn stored(rows: &[TestEvent]) -> RecordBatch {
    let column = |at: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[at]))) as ArrayRef;
    let given =
        RecordBatch::try_from_iter(COLUMNS.into_iter().enumerate().map(|(at, name)| (name, column(at)))).unwrap();
    let normalized = EventNormalizer::new(&given.schema(), &Accounts::default()).unwrap().normalize(&given).unwrap();
    assert_eq!(normalized.faults, []);
    normalized.batch
}

/// Asserts that the events of one customer, given in their expected order, are sorted into it from any other order.
fn assert_history(rows: &[TestEvent]) {
    let expected = stored(rows);
    for turn in 0..rows.len() {
        let mut given = rows.to_vec();
        given.rotate_left(turn);
        assert_eq!(
            sort_events(&stored(&given)).unwrap(),
            SortedEvents { batch: expected.clone(), customers: vec![0, u32::try_from(rows.len()).unwrap()] }
        );
        given.reverse();
        assert_eq!(sort_events(&stored(&given)).unwrap().batch, expected);
    }
}

#[test]
fn a_history_is_sorted_by_date_time_stage_id_total_and_the_rest() {
    assert_history(&[
        ["a", "1", "sold", "2025-01-01", "", "", "", ""],
        ["a", "1", "lead-originated", "2025-01-02", "", "", "", ""],
        ["a", "1", "canceled", "2025-01-02", "2025-01-02T08:00:00Z", "", "", ""],
        ["a", "1", "lead-originated", "2025-01-02", "2025-01-02T09:00:00Z", "", "", ""],
        ["a", "1", "booked", "2025-01-02", "2025-01-02T09:00:00Z", "", "", ""],
        ["a", "1", "booked", "2025-01-02", "", "", "", ""],
        ["a", "1", "estimated", "2025-01-02", "", "", "", ""],
        ["a", "1", "sold", "2025-01-02", "", "", "", ""],
        ["a", "1", "closed", "2025-01-02", "", "", "", ""],
        ["a", "1", "canceled", "2025-01-02", "", "", "", ""],
        ["a", "1", "sold", "2025-01-03", "", "", "", ""],
        ["a", "1", "sold", "2025-01-03", "", "", "", "B"],
        ["a", "1", "sold", "2025-01-03", "", "", "", "a"],
        ["a", "1", "sold", "2025-01-03", "", "", "-2", ""],
        ["a", "1", "sold", "2025-01-03", "", "", "10", ""],
        ["a", "1", "sold", "2025-01-03", "", "e1", "", ""],
        ["a", "1", "sold", "2025-01-03", "", "e10", "", ""],
        ["a", "1", "sold", "2025-01-03", "", "e2", "", ""],
    ]);
}

#[test]
fn customers_are_sorted_by_account_start_and_id() {
    let event = |account, customer, date| [account, customer, "sold", date, "", "", "", ""];
    let expected = [
        event("A", "9", "2025-01-05"),
        event("a", "2", "2025-01-01"),
        event("a", "2", "2025-01-09"),
        event("a", "1", "2025-01-02"),
        event("a", "10", "2025-01-02"),
        event("b", "2", "2024-01-01"),
    ];
    let given = [5, 2, 4, 0, 1, 3].map(|at| expected[at]);
    let sorted = sort_events(&stored(&given)).unwrap();
    assert_eq!(sorted, SortedEvents { batch: stored(&expected), customers: vec![0, 1, 3, 4, 5, 6] });
    assert_eq!(sort_events(&sorted.batch).unwrap(), sorted);
}

#[test]
fn an_empty_batch_has_no_customers() {
    assert_eq!(sort_events(&stored(&[])).unwrap().customers, [0]);
}

#[test]
fn a_batch_that_is_not_in_stored_form_is_refused() {
    let events = stored(&[["a", "1", "sold", "2025-01-01", "", "", "", ""]]);
    assert!(sort_events(&events.project(&[0, 1, 2]).unwrap()).is_err());
}

/// Generates rows with few values, so that many keys are equal.
fn row() -> impl Strategy<Value = TestEvent> {
    let of = |values: &'static [&'static str]| proptest::sample::select(values);
    (
        of(&["a", "b"]),
        of(&["1", "2", "3"]),
        of(&["lead-originated", "booked", "sold", "canceled"]),
        of(&["2025-01-01", "2025-01-02"]),
        of(&["", "2025-01-01T23:30:00Z", "2025-01-02T00:30:00Z"]),
        of(&["", "x", "y"]),
        of(&["", "0", "1.5"]),
        of(&["", "c", "d"]),
    )
        .prop_map(|(account, customer, stage, date, time, id, total, campaign)| {
            [account, customer, stage, date, time, id, total, campaign]
        })
}

/// Sorts rows in the obvious way, by everything that [`sort_events`] lists.
fn naive(rows: &[TestEvent]) -> Vec<TestEvent> {
    let stage = |row: &TestEvent| Stage::from_name(row[2]).map(Stage::code);
    let time = |row: &TestEvent| match (row[4], row[2]) {
        ("", "lead-originated") => (0, ""),
        ("", _) => (2, ""),
        (time, _) => (1, time),
    };
    let total = |row: &TestEvent| (!row[6].is_empty(), row[6].parse::<f64>().map_or(0.0, |total| total * 1e6));
    let start = |row: &TestEvent| rows.iter().filter(|other| other[..2] == row[..2]).map(|other| other[3]).min();
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| {
        let key = |row: &TestEvent| (row[0], start(row), row[1], row[3], time(row), stage(row), row[5]);
        let (one_total, other_total) = (total(one), total(other));
        key(one)
            .cmp(&key(other))
            .then_with(|| one_total.0.cmp(&other_total.0))
            .then_with(|| one_total.1.total_cmp(&other_total.1))
            .then_with(|| one[7].cmp(other[7]))
    });
    sorted
}

proptest! {
    #[test]
    fn the_order_of_the_input_does_not_matter(
        (given, shuffled) in proptest::collection::vec(row(), 0..40).prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
    ) {
        let sorted = sort_events(&stored(&given)).unwrap();
        prop_assert_eq!(&sorted, &sort_events(&stored(&shuffled)).unwrap());
        prop_assert_eq!(&sorted.batch, &stored(&naive(&given)));
        let (accounts, ids) = (sorted.batch.column(0).as_string::<i32>(), sorted.batch.column(1).as_string::<i32>());
        let customer = |row: usize| (accounts.value(row), ids.value(row));
        let starts: Vec<u32> = (0..given.len()).filter(|row| *row == 0 || customer(*row) != customer(row - 1)).map(|row| u32::try_from(row).unwrap()).collect();
        prop_assert_eq!(&sorted.customers[..starts.len()], &starts[..]);
        prop_assert_eq!(sorted.customers.last().map(|end| *end as usize), Some(given.len()));
    }
}

#[test]
fn a_near_span_is_one_quarter_or_two_consecutive_ones() {
    let span = |first: &str, last: &str| QuarterSpan::of(first.parse().unwrap(), last.parse().unwrap());
    let near = |first, last| QuarterSpan::Near { first, last };
    assert_eq!(span("1970-01-01", "1970-03-31"), near(0, 0));
    assert_eq!(span("1970-03-31", "1970-04-01"), near(0, 1));
    assert_eq!(span("1970-01-01", "1970-06-30"), near(0, 1));
    assert_eq!(span("1970-03-31", "1970-07-01"), QuarterSpan::Far);
    assert_eq!(span("2024-12-31", "2025-01-01"), near(219, 220));
    assert_eq!(QuarterSpan::of(Day::MAX, Day::MAX), near(717, 717));
    assert!(near(0, 0) < near(0, 1) && near(0, 1) < near(1, 1) && near(717, 717) < QuarterSpan::Far);
}
