use super::super::{Accounts, EventNormalizer};
use super::*;
use std::sync::Arc;

fn stored(extra: &str, value: &str) -> RecordBatch {
    let row = [("account", "a"), ("opportunityId", "1"), ("type", "sold"), ("date", "2025-01-01"), (extra, value)];
    let columns = row.map(|(name, value)| (name, Arc::new(StringArray::from(vec![value])) as ArrayRef));
    let given = RecordBatch::try_from_iter(columns).unwrap();
    EventNormalizer::new(&given.schema(), &Accounts::default()).unwrap().normalize(&given).unwrap().batch
}

#[test]
fn concatenation_unites_columns_and_fills_missing_ones_with_null() {
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
fn kept(rows: &[[&str; 3]]) -> Vec<String> {
    let texts = |values: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let column = |at: usize| texts(rows.iter().map(|row| row[at]).collect());
    let given = RecordBatch::try_from_iter([
        ("account", column(0)),
        ("opportunityId", column(1)),
        ("eventId", column(2)),
        ("type", texts(vec!["sold"; rows.len()])),
        ("date", texts(vec!["2025-01-01"; rows.len()])),
    ])
    .unwrap();
    let stored = EventNormalizer::new(&given.schema(), &Accounts::default()).unwrap().normalize(&given).unwrap().batch;
    let latest = keep_latest(&stored).unwrap();
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
