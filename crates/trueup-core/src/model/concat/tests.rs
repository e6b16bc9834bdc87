#![expect(clippy::unwrap_used, reason = "tests")]

use super::super::{Accounts, EventNormalizer};
use super::*;
use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray};
use std::sync::Arc;

fn stored(extra: &str, value: &str) -> RecordBatch {
    let row = [("account", "a"), ("opportunityId", "1"), ("type", "sold"), ("date", "2025-01-01"), (extra, value)];
    let columns = row.map(|(name, value)| (name, Arc::new(StringArray::from(vec![value])) as ArrayRef));
    let given = RecordBatch::try_from_iter(columns).unwrap();
    EventNormalizer::new(&given.schema(), &Accounts::default()).unwrap().normalize(&given).unwrap().batch
}

#[test]
fn columns_unite_by_name_and_what_is_missing_is_null() {
    let all = concat_events(&[stored("zip", "1"), stored("campaign", "c"), stored("zip", "2")]).unwrap();
    assert_eq!(all.schema(), stored_event_schema(["campaign", "zip"]));
    let texts = |at: usize| all.column(at).as_string::<i32>().iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    assert_eq!((texts(7), texts(8)), (vec!["", "c", ""], vec!["1", "", "2"]));
    assert_eq!(all.column(7).null_count(), 2);
}

#[test]
fn no_batches_are_an_empty_one() {
    let none = concat_events(&[]).unwrap();
    assert_eq!((none.num_rows(), none.schema()), (0, stored_event_schema([])));
}
