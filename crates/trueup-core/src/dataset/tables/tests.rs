use super::*;
use arrow_array::StringArray;

fn events(rows: usize) -> RecordBatch {
    let texts = |text: fn(usize) -> String| Arc::new(StringArray::from_iter_values((0..rows).map(text))) as ArrayRef;
    let columns = [
        ("account", texts(|_| "a".to_owned())),
        ("opportunityId", texts(|row| format!("{row:06}"))),
        ("type", texts(|_| "sold".to_owned())),
        ("date", texts(|_| "2025-01-31".to_owned())),
        ("eventId", texts(|row| format!("id {row}"))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_row_group_holds_only_its_own_texts() {
    let tables = Tables { events: vec![events(100)], row_group_rows: 10, ..Tables::default() };
    let dataset = Dataset::from_tables(&tables).unwrap();
    assert_eq!(dataset.event_row_groups(), 10);
    for row_group in &dataset.events {
        let columns = row_group.read(&EventProjection::default()).unwrap();
        // The empty text has a code too.
        assert_eq!((row_group.rows, columns.text("eventId").unwrap().dictionary().len()), (10, 11));
    }
}

#[test]
fn a_row_that_breaks_a_rule_is_a_fault_of_the_table() {
    let spend = RecordBatch::try_from_iter([("account", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
    let tables = Tables { spend: vec![spend], ..Tables::default() };
    let error = Dataset::from_tables(&tables).unwrap_err();
    assert!(matches!(error, Error::Table(TableFault::Schema(_))), "{error:?}");
}
