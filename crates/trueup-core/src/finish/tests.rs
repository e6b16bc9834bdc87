use super::arrow::dictionary;
use super::{Column, StringColumn, Values, finish};
use crate::aggregate::{PartialResult, ResultShape};
use crate::dataset::{Dataset, Tables};
use crate::error::Error;
use crate::query::{EventsQuery, Interval};
use crate::{Day, Interrupt, Interruption, ResultTable, StringList, Value};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use std::sync::Arc;

const DAYS: [&str; 3] = ["2025-01-01", "2025-01-02", "2025-01-03"];

/// Returns a dataset with a lead on each of three days.
fn dataset() -> Dataset {
    let column = |texts: [&str; 3]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let events = RecordBatch::try_from_iter([
        ("account", column(["a", "a", "a"])),
        ("opportunityId", column(["1", "2", "3"])),
        ("type", column(["lead-originated"; 3])),
        ("date", column(DAYS)),
    ]);
    Dataset::from_tables(&Tables { events: vec![events.unwrap()], ..Tables::default() }).unwrap()
}

fn query(fields: &[&str]) -> EventsQuery {
    let [start, _, end] = DAYS.map(|day| day.parse::<Day>().unwrap());
    EventsQuery::new(fields.iter().copied(), start, end).interval(Interval::Day).allow_unknown(true)
}

#[test]
fn fields_that_no_table_has_share_one_column() {
    let fields = ["unknown", "leads", "account", "alsoUnknown", "zip"];
    let table = dataset().query(&query(&fields)).unwrap();
    assert_eq!(table.unknown_fields(), ["unknown", "alsoUnknown"]);
    let first = table.texts("unknown").unwrap();
    assert_eq!((first.codes(), first.dictionary()), (&[0; 3][..], &[""].iter().collect()));
    for name in ["alsoUnknown", "zip"] {
        let other = table.texts(name).unwrap();
        assert!(Arc::ptr_eq(&first.codes, &other.codes) && Arc::ptr_eq(&first.dictionary, &other.dictionary), "{name}");
    }
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["start", "end", "unknown", "leads", "account", "alsoUnknown", "zip"]);
    assert_eq!(table.value(1, "zip"), Some(Value::Text("")));
    assert_eq!(table.value(1, "leads"), Some(Value::Count(1)));
}

#[test]
fn an_unknown_field_is_a_dimension() {
    let day = "2024-01-01".parse().unwrap();
    let rows =
        |field| dataset().query(&EventsQuery::new([field, "eventCount"], day, day).allow_unknown(true)).unwrap().len();
    // An unknown field looks like one that some table has, so that nobody can find out which fields other tables have.
    let dictionary = |fields: [&str; 2]| {
        let table = dataset().query(&EventsQuery::new(fields, day, day).allow_unknown(true)).unwrap();
        table.texts(fields[0]).unwrap().dictionary().clone()
    };
    for metric in ["eventCount", "spend"] {
        assert_eq!(dictionary(["unknown", metric]), dictionary(["opportunityId", metric]), "{metric}");
    }
    // Without events, metrics alone have one row, and dimensions have none.
    assert_eq!((rows("leads"), rows("unknown"), rows("account")), (1, 0, 0));
}

#[test]
fn a_query_may_be_canceled_after_aggregation() {
    let dataset = dataset();
    for fields in [&["leads"][..], &["account", "unknown", "leads", "spend", "opportunityAgents"]] {
        let plan = dataset.plan(&query(fields)).unwrap();
        let finish = |interrupt| finish(&plan, PartialResult::new(&ResultShape::new(&plan)), None, &interrupt);
        assert!(finish(Interrupt::default()).is_ok());
        let canceled = Interrupt::default();
        canceled.cancel();
        assert!(matches!(finish(canceled), Err(Error::Interrupted(Interruption::Canceled))));
    }
}

fn coded(codes: Vec<u32>, dictionary: &[&str]) -> StringColumn {
    StringColumn::new(codes, dictionary.iter().collect()).unwrap()
}

fn one_column(texts: StringColumn) -> ResultTable {
    ResultTable::from_columns(vec![Column { name: "campaign".to_owned(), values: Values::Strings(texts) }])
}

#[test]
fn dimensions_are_dictionaries_of_the_texts_that_occur() {
    let batch = one_column(coded(vec![3, 1, 3], &["", "a", "b", "c"])).record_batch().unwrap();
    let column = batch.column(0).as_dictionary::<Int32Type>();
    assert_eq!(column.keys().values(), &[1, 0, 1]);
    assert_eq!(column.values().as_string::<i32>(), &StringArray::from(vec!["a", "c"]));
    assert_eq!(one_column(coded(Vec::new(), &[])).record_batch().unwrap().num_rows(), 0);
}

/// The texts of all rows together exceed 32-bit offsets.
#[test]
fn a_long_text_may_repeat_in_any_number_of_rows() {
    let long = "x".repeat(1 << 20);
    let batch = one_column(coded(vec![0; 2_100], &[&long])).record_batch().unwrap();
    assert_eq!(batch.num_rows(), 2_100);
    assert_eq!(batch.column(0).as_dictionary::<Int32Type>().values().len(), 1);
}

#[test]
fn distinct_texts_that_exceed_the_offsets_are_refused() {
    // The texts that occur have eight bytes.
    let texts = coded(vec![1, 2, 1], &["unused", "campaign", ""]);
    assert!(dictionary(&texts, 8).is_ok());
    assert!(matches!(dictionary(&texts, 7), Err(ArrowError::OffsetOverflowError(8))));
}

#[test]
fn a_code_beyond_the_dictionary_is_refused() {
    assert_eq!(StringColumn::new(vec![7; 4], ["a"].iter().collect()), None);
    assert_eq!(StringColumn::new(vec![0], StringList::default()), None);
}
