//! Event and spend files that break the layout, though their manifest describes them: no query answers from them.

use crate::place::{Place, Row, SOUND, events, row};
use arrow_array::RecordBatch;

/// A dataset of one row group is refused with a message that ends so, by queries and by verification alike.
fn refuses(rows: &[Row], ends: &str) {
    refuses_batch(events(rows), ends);
}

fn refuses_batch(rows: RecordBatch, ends: &str) {
    let mut place = Place::with_events(&[&SOUND]);
    place.manifest.events.clear();
    place.add_events(&[rows]);
    place.commit();
    let expected = format!("`{}`, row group 0, {ends}", place.path("events/events-0.parquet").display());
    assert_eq!(place.refused(), expected);
    assert_eq!(place.fault(), expected);
}

/// The sound rows with one of them changed.
fn changed(at: usize, change: impl FnOnce(&mut Row)) -> [Row; 4] {
    let mut rows = SOUND;
    change(&mut rows[at]);
    rows
}

#[test]
fn customers_are_numbered_one_by_one() {
    let fault = "column `trueup.customer`: customers are not numbered one by one";
    refuses(&changed(2, |row| row.number = Some(3)), fault);
    refuses(&changed(1, |row| row.number = Some(-1)), fault);
    refuses(&changed(3, |row| row.number = Some(1)), fault);
    refuses(&changed(1, |row| row.number = Some(i32::MIN)), fault);
    for at in 0..4 {
        refuses(&changed(at, |row| row.number = None), "column `trueup.customer`: a number is missing");
    }
}

#[test]
fn a_customer_is_of_one_account() {
    let fault = "column `account`: a customer has two accounts";
    refuses(&changed(3, |row| row.account = Some("c")), fault);
    refuses(&SOUND.map(|row| Row { number: Some(0), ..row }), fault);
}

#[test]
fn accounts_are_never_missing() {
    for at in 0..4 {
        refuses(&changed(at, |row| row.account = None), "column `account`: an account is missing");
        refuses(&changed(at, |row| row.account = Some("")), "column `account`: an account is missing");
    }
    for account in [None, Some("")] {
        let mut place = Place::sound();
        place.spend(&[(Some("a"), 20_000), (account, 20_001)]);
        place.recommit();
        let expected = "spend.parquet`, row group 0, column `account`: an account is missing";
        assert!(place.refused().ends_with(expected), "{}", place.refused());
        assert!(place.fault().ends_with(expected), "{}", place.fault());
    }
}

#[test]
fn days_are_there_and_do_not_go_back() {
    refuses(&changed(3, |row| row.day = Some(19_999)), "column `date`: a customer's events are not in order");
    refuses(&changed(1, |row| row.day = None), "column `date`: a date is missing");
    refuses(&changed(0, |row| row.day = Some(-1)), "column `date`: a date is out of range");
    refuses(&changed(3, |row| row.day = Some(65_536)), "column `date`: a date is out of range");
}

#[test]
fn stages_are_known() {
    for stage in [None, Some(""), Some("Sold")] {
        refuses(&changed(1, |row| row.stage = stage), "column `type`: a stage is unknown");
    }
}

#[test]
fn columns_are_there_and_of_their_types() {
    let sound = events(&SOUND);
    for name in ["trueup.customer", "account", "type", "date", "dateTime", "total"] {
        let at = sound.schema().index_of(name).unwrap();
        let others: Vec<usize> = (0..sound.num_columns()).filter(|column| *column != at).collect();
        refuses_batch(sound.project(&others).unwrap(), &format!("column `{name}`: the column is missing"));
    }
    for name in ["trueup.customer", "date", "dateTime", "total"] {
        let wrong = replaced(&sound, name, "campaign");
        refuses_batch(wrong, &format!("column `{name}`: the type is not that of the layout"));
    }
    for name in ["account", "type", "campaign"] {
        let wrong = replaced(&sound, name, "trueup.customer");
        refuses_batch(wrong, &format!("column `{name}`: expected a dictionary of texts"));
    }
}

/// The batch with a copy of another column under the name of one.
fn replaced(batch: &RecordBatch, name: &str, by: &str) -> RecordBatch {
    let schema = batch.schema();
    let column = |of: &str| batch.column_by_name(if of == name { by } else { of }).unwrap().clone();
    let columns = schema.fields().iter().map(|field| (field.name(), column(field.name()), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn the_second_row_group_is_named() {
    let place = Place::with_events(&[&SOUND, &[row(3, "c", "1", 20_000), row(3, "d", "1", 20_000)]]);
    place.commit();
    let expected = "events-0.parquet`, row group 1, column `account`: a customer has two accounts";
    assert!(place.refused().ends_with(expected), "{}", place.refused());
}
