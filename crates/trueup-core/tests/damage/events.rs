//! Event and spend files that break the layout, although their checksums are right: no query answers from them.

use crate::test_dataset::{Row, SOUND, TestDataset, events, row};
use arrow_array::RecordBatch;

/// Checks that a query and a verification of a row group both fail with a message that ends with `ends`.
fn rejects(rows: &[Row], ends: &str) {
    rejects_batch(events(rows), ends);
}

fn rejects_batch(rows: RecordBatch, ends: &str) {
    let mut stored = TestDataset::with_events(&[&SOUND]);
    stored.manifest.events.clear();
    stored.add_events(&[rows]);
    stored.publish();
    let expected = format!("`{}`, row group 0, {ends}", stored.path("events/events-0.parquet").display());
    assert_eq!(stored.refused(), expected);
    assert_eq!(stored.fault(), expected);
}

/// Returns the valid rows with a change in one of them.
fn changed(at: usize, change: impl FnOnce(&mut Row)) -> [Row; 4] {
    let mut rows = SOUND;
    change(&mut rows[at]);
    rows
}

#[test]
fn customers_are_numbered_one_by_one() {
    let fault = "column `trueup.customer`: customers are not numbered one by one";
    rejects(&changed(2, |row| row.number = Some(3)), fault);
    rejects(&changed(1, |row| row.number = Some(-1)), fault);
    rejects(&changed(3, |row| row.number = Some(1)), fault);
    rejects(&changed(1, |row| row.number = Some(i32::MIN)), fault);
    for at in 0..4 {
        rejects(&changed(at, |row| row.number = None), "column `trueup.customer`: a number is missing");
    }
}

#[test]
fn a_customer_belongs_to_one_account() {
    let fault = "column `account`: a customer has two accounts";
    rejects(&changed(3, |row| row.account = Some("c")), fault);
    rejects(&SOUND.map(|row| Row { number: Some(0), ..row }), fault);
}

#[test]
fn every_row_has_an_account() {
    for at in 0..4 {
        rejects(&changed(at, |row| row.account = None), "column `account`: an account is missing");
        rejects(&changed(at, |row| row.account = Some("")), "column `account`: an account is missing");
    }
    for account in [None, Some("")] {
        let mut stored = TestDataset::sound();
        stored.spend(&[(Some("a"), 20_000), (account, 20_001)]);
        stored.republish();
        let expected = "spend.parquet`, row group 0, column `account`: an account is missing";
        assert!(stored.refused().ends_with(expected), "{}", stored.refused());
        assert!(stored.fault().ends_with(expected), "{}", stored.fault());
    }
}

#[test]
fn every_event_has_a_day_and_a_customers_days_never_decrease() {
    rejects(&changed(3, |row| row.day = Some(19_999)), "column `date`: a customer's events are not in order");
    rejects(&changed(1, |row| row.day = None), "column `date`: a date is missing");
    rejects(&changed(0, |row| row.day = Some(-1)), "column `date`: a date is out of range");
    rejects(&changed(3, |row| row.day = Some(65_536)), "column `date`: a date is out of range");
}

#[test]
fn every_event_has_a_known_stage() {
    for stage in [None, Some(""), Some("Sold")] {
        rejects(&changed(1, |row| row.stage = stage), "column `type`: a stage is unknown");
    }
}

#[test]
fn every_column_exists_and_has_its_type() {
    let sound = events(&SOUND);
    for name in ["trueup.customer", "account", "type", "date", "dateTime", "total"] {
        let at = sound.schema().index_of(name).unwrap();
        let others: Vec<usize> = (0..sound.num_columns()).filter(|column| *column != at).collect();
        rejects_batch(sound.project(&others).unwrap(), &format!("column `{name}`: the column is missing"));
    }
    for name in ["trueup.customer", "date", "dateTime", "total"] {
        let wrong = replaced(&sound, name, "campaign");
        rejects_batch(wrong, &format!("column `{name}`: the type is not that of the layout"));
    }
    for name in ["account", "type", "campaign"] {
        let wrong = replaced(&sound, name, "trueup.customer");
        rejects_batch(wrong, &format!("column `{name}`: expected texts"));
    }
}

/// Returns the batch with the column `name` replaced by a copy of the column `by`.
fn replaced(batch: &RecordBatch, name: &str, by: &str) -> RecordBatch {
    let schema = batch.schema();
    let column = |of: &str| batch.column_by_name(if of == name { by } else { of }).unwrap().clone();
    let columns = schema.fields().iter().map(|field| (field.name(), column(field.name()), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn a_fault_names_its_row_group() {
    let stored = TestDataset::with_events(&[&SOUND, &[row(3, "c", "1", 20_000), row(3, "d", "1", 20_000)]]);
    stored.publish();
    let expected = "events-0.parquet`, row group 1, column `account`: a customer has two accounts";
    assert!(stored.refused().ends_with(expected), "{}", stored.refused());
}
