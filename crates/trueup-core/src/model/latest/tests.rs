#![expect(clippy::unwrap_used, reason = "tests")]

use super::super::{Accounts, EventNormalizer};
use super::*;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};
use std::sync::Arc;

/// Which customers' events stay, of events given as account, customer, event id.
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
fn the_last_row_of_an_account_and_id_stays_even_if_its_customer_differs() {
    assert_eq!(kept(&[["a", "1", "x"], ["a", "2", "y"], ["a", "3", "x"]]), ["2", "3"]);
    assert_eq!(kept(&[["a", "1", "x"], ["a", "2", "x"], ["a", "3", "x"]]), ["3"]);
}

#[test]
fn ids_of_other_accounts_and_absent_ids_replace_nothing() {
    assert_eq!(kept(&[["a", "1", "x"], ["b", "2", "x"]]), ["1", "2"]);
    assert_eq!(
        kept(&[["a", "1", ""], ["a", "1", ""], ["a", "2", "x"], ["a", "3", ""], ["a", "4", "x"]]),
        ["1", "1", "3", "4"]
    );
    assert_eq!(kept(&[["a", "1", ""]]), ["1"]);
    assert!(kept(&[]).is_empty());
}
