//! The stored form of events: its columns, and the order, concatenation and replacement of events.

use super::columns::{LEADING, check_columns};
use super::*;
use crate::Day;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use std::sync::Arc;

/// Returns a table in which every column may be null.
pub(super) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, values)| (name, values, true))).unwrap()
}

pub(super) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn computed_fields_and_metrics_are_ignored() {
    for name in ["adjustedType", "currency", "month", "leads", "bookRate", "trueup.customer"] {
        assert!(is_ignored_event_column(name), "{name}");
    }
}

#[test]
fn stored_fields_and_unknown_names_are_kept() {
    let stored =
        LEADING.into_iter().chain(["campaign", "customerStatus", "conversionDetailedLabel", "zip", "myOwn", ""]);
    for name in stored {
        assert!(!is_ignored_event_column(name), "{name}");
    }
}

#[test]
fn extra_columns_are_sorted_by_name_without_duplicates() {
    let schema = stored_event_schema(["zip", "Zip", "campaign", "zip"]);
    assert_eq!(extra_columns(&schema).collect::<Vec<_>>(), ["Zip", "campaign", "zip"]);
    assert_eq!(schema.fields().len(), LEADING.len() + 3);
}

#[test]
fn duplicate_names_and_nested_columns_are_refused() {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let twice = Schema::new(vec![text("zip"), text("zip")]);
    assert_eq!(check_columns(&twice, &LEADING), Err(SchemaFault::DuplicateColumn { column: "zip".to_owned() }));
    let list = DataType::List(Arc::new(text("item")));
    let nested = Schema::new(vec![text("account"), Field::new("tags", list.clone(), true)]);
    let fault = check_columns(&nested, &LEADING).unwrap_err();
    assert_eq!(fault, SchemaFault::Nested { column: "tags".to_owned(), data_type: list });
    assert!(fault.to_string().starts_with("expected single values in column `tags`, but found nested ones"));
}

#[test]
fn only_own_columns_have_names_that_begin_with_trueup() {
    let schema = |name: &str| {
        let names = [ACCOUNT, OPPORTUNITY_ID, TYPE, DATE, name];
        Schema::new(names.map(|name| Field::new(name, DataType::Utf8, true)).to_vec())
    };
    for own in [CUSTOMER_COLUMN, DATE_SOURCE_COLUMN, RECORD_COLUMN] {
        assert!(EventNormalizer::new(&schema(own), &Accounts::default()).is_ok());
    }
    let fault = EventNormalizer::new(&schema("trueup.region"), &Accounts::default()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "expected no column whose name begins with `trueup.`, but found `trueup.region`; rename it, or leave it out"
    );
}

/// The values of the leading columns of an event, and its campaign. The empty text is null.
type TestEvent = [&'static str; 8];

fn stored(rows: &[TestEvent]) -> RecordBatch {
    stored_with("campaign", rows)
}

/// Returns events in stored form, whose last column has the name `last`.
fn stored_with(last: &str, rows: &[TestEvent]) -> RecordBatch {
    let column = |at: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[at]))) as ArrayRef;
    let names = LEADING.into_iter().chain([last]).enumerate();
    let given = RecordBatch::try_from_iter(names.map(|(at, name)| (name, column(at)))).unwrap();
    let normalized = EventNormalizer::new(&given.schema(), &Accounts::default()).unwrap().normalize(&given).unwrap();
    assert_eq!(normalized.faults, []);
    normalized.batch
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
        of(&["1", "10", "2"]),
        of(&["lead-originated", "booked", "estimated", "sold", "closed", "canceled"]),
        of(&["2025-01-01", "2025-01-02"]),
        of(&["", "2025-01-01T23:30:00Z", "2025-01-02T00:30:00Z"]),
        of(&["", "e1", "e10", "e2"]),
        of(&["", "-2", "0", "1.5", "10"]),
        of(&["", "B", "a"]),
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
    fn events_are_sorted_whatever_the_order_of_the_input(
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

/// Returns an event of the day 2025-01-01 whose last column has the value `value`.
fn sold(account: &'static str, customer: &'static str, event_id: &'static str, value: &'static str) -> TestEvent {
    [account, customer, "sold", "2025-01-01", "", event_id, "", value]
}

#[test]
fn concatenation_unites_columns_and_fills_missing_ones_with_null() {
    let stored = |name: &str, value| stored_with(name, &[sold("a", "1", "", value)]);
    let all = concat_events(&[stored("zip", "1"), stored("campaign", "c"), stored("zip", "2")]).unwrap();
    assert_eq!(all.schema(), stored_event_schema(["campaign", "zip"]));
    let texts = |at: usize| all.column(at).as_string::<i32>().iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    assert_eq!((texts(7), texts(8)), (vec!["", "c", ""], vec!["1", "", "2"]));
    assert_eq!(all.column(7).null_count(), 2);
}

#[test]
fn the_concatenation_of_no_batches_is_an_empty_batch() {
    let none = concat_events(&[]).unwrap();
    assert_eq!((none.num_rows(), none.schema()), (0, stored_event_schema([])));
}

/// Returns the customers whose events stay. Each row is an account, a customer and an event id.
fn kept(rows: &[[&'static str; 3]]) -> Vec<String> {
    let rows: Vec<TestEvent> = rows.iter().map(|[account, customer, id]| sold(account, customer, id, "")).collect();
    let latest = keep_latest(&stored(&rows)).unwrap();
    latest.column(1).as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

#[test]
fn the_last_row_of_an_account_and_event_id_stays_whatever_its_customer() {
    assert_eq!(kept(&[["a", "1", "x"], ["a", "2", "y"], ["a", "3", "x"]]), ["2", "3"]);
    assert_eq!(kept(&[["a", "1", "x"], ["a", "2", "x"], ["a", "3", "x"]]), ["3"]);
}

#[test]
fn an_absent_event_id_or_one_of_another_account_replaces_nothing() {
    assert_eq!(kept(&[["a", "1", "x"], ["b", "2", "x"]]), ["1", "2"]);
    assert_eq!(
        kept(&[["a", "1", ""], ["a", "1", ""], ["a", "2", "x"], ["a", "3", ""], ["a", "4", "x"]]),
        ["1", "1", "3", "4"]
    );
    assert_eq!(kept(&[["a", "1", ""]]), ["1"]);
    assert!(kept(&[]).is_empty());
}
