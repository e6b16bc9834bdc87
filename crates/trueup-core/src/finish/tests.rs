use super::{Texts, Values, finish};
use crate::aggregate::{PartialResult, QueryContext};
use crate::dataset::{Dataset, Tables};
use crate::error::Error;
use crate::plan::Plan;
use crate::query::{EventsQuery, Interval};
use crate::{Day, Interrupt, Interruption, ResultTable, Value};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
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
    EventsQuery::new(fields.iter().copied(), start, end).interval(Interval::Day)
}

fn texts<'t>(table: &'t ResultTable, name: &str) -> &'t Texts {
    match &table.column(name).unwrap().values {
        Values::Texts(texts) => texts,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn unknown_fields_share_one_column() {
    let fields = ["unknown", "leads", "account", "alsoUnknown", "zip"];
    let table = dataset().query(&query(&fields)).unwrap();
    assert_eq!(table.unknown_fields(), ["unknown", "alsoUnknown"]);
    let first = texts(&table, "unknown");
    assert_eq!((first.codes(), first.dictionary()), (&[0; 3][..], &[""].iter().collect()));
    for name in ["alsoUnknown", "zip"] {
        let other = texts(&table, name);
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
    let rows = |field| dataset().query(&EventsQuery::new([field, "eventCount"], day, day)).unwrap().len();
    // An unknown field looks like one that some table has, so that nobody can find out which fields other tables have.
    let dictionary = |fields: [&str; 2]| {
        let table = dataset().query(&EventsQuery::new(fields, day, day)).unwrap();
        texts(&table, fields[0]).dictionary().clone()
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
        let plan = Plan::new(&query(fields), dataset.columns()).unwrap();
        let context = QueryContext::new(&plan, dataset.accounts());
        let finish = |interrupt| finish(&plan, PartialResult::new(&context), None, &interrupt);
        assert!(finish(Interrupt::default()).is_ok());
        let canceled = Interrupt::default();
        canceled.cancel();
        assert!(matches!(finish(canceled), Err(Error::Interrupted(Interruption::Canceled))));
    }
}
