//! Events with their computed fields: counted and added up by group, they give what the query answers.

use crate::run::{dataset, requested};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use trueup_core::dataset::Dataset;
use trueup_core::model::{UtcMicros, format_date_time};
use trueup_core::query::EventsQuery;
use trueup_core::{Error, EventReader, Execution, Interrupt, QueryError, Value};
use trueup_testkit::cases::{case, cohort_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{COMPUTED_FIELDS, METRICS, OPEN_LEADS, Request};

/// For each group, the number of its events and the sum of their amounts in millionths.
type Groups = BTreeMap<Vec<String>, (u64, i128)>;

/// Returns the text of a value as answers have it.
fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Date32 => {
            Date32Type::to_naive_date_opt(column.as_primitive::<Date32Type>().value(row)).unwrap().to_string()
        }
        DataType::Timestamp(..) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            format_date_time(UtcMicros(micros)).unwrap()
        }
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}

/// Adds the events of a batch to the groups of their sub-range and dimensions.
fn add(groups: &mut Groups, batch: &RecordBatch) {
    for row in 0..batch.num_rows() {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        let key = fields.filter(|(field, _)| field.name() != "total").map(|(_, column)| text(column, row)).collect();
        let totals = batch.column_by_name("total").unwrap().as_primitive::<Decimal128Type>();
        let group = groups.entry(key).or_default();
        group.0 += 1;
        group.1 += if totals.is_null(row) { 0 } else { totals.value(row) };
    }
}

/// Returns the groups of an answer that have events.
fn expected(dataset: &Dataset, query: &EventsQuery) -> Groups {
    let table = dataset.query(query).unwrap();
    let mut groups = Groups::new();
    for row in table.rows() {
        let (mut key, mut group) = (Vec::new(), (0, 0));
        for (_, value) in row.values() {
            match value {
                Value::Day(day) => key.push(day.to_string()),
                Value::Text(text) => key.push(text.to_owned()),
                Value::Count(count) => group.0 = count,
                Value::Money(micros) => group.1 = micros,
                other => panic!("{other:?}"),
            }
        }
        if group.0 > 0 {
            assert!(groups.insert(key, group).is_none(), "two rows of one group");
        }
    }
    groups
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn events_add_up_to_the_answer(
        (tables, request) in prop_oneof![2 => case().boxed(), 1 => cohort_case().boxed()],
        (splits, all_computed) in (1_usize..5, any::<bool>()),
    ) {
        let is_dimension = |name: &&str| !METRICS.contains(name) && *name != OPEN_LEADS;
        let mut dimensions: Vec<&str> = request.fields.iter().map(String::as_str).filter(is_dimension).collect();
        if all_computed {
            dimensions.extend(COMPUTED_FIELDS);
        }
        let of = |metrics: &[&str]| Request {
            fields: dimensions.iter().chain(metrics).map(|name| (*name).to_owned()).collect(),
            ..request.clone()
        };
        let (Ok(events), Ok(groups)) = (requested(&of(&["total"])), requested(&of(&["total", "eventCount"]))) else {
            return Ok(());
        };
        let dataset = dataset(&tables, 7);
        let Ok(planned) = dataset.plan_splits(&events, NonZeroUsize::new(splits).unwrap()) else { return Ok(()) };
        let mut found = Groups::new();
        for split in planned {
            match EventReader::new(&dataset, &events, &split, Execution::default()) {
                Ok(reader) => {
                    let schema = reader.schema();
                    for batch in reader {
                        let batch = batch.unwrap();
                        prop_assert_eq!(batch.schema(), schema.clone());
                        add(&mut found, &batch);
                    }
                }
                Err(Error::Query(QueryError::NotOfEvents { part })) => {
                    prop_assert_eq!(part, "a condition on a metric");
                    return Ok(());
                }
                Err(other) => panic!("{other}"),
            }
        }
        prop_assert_eq!(found, expected(&dataset, &groups));
    }
}

#[test]
fn what_events_do_not_have_is_refused() {
    let dataset = Dataset::from_tables(&trueup_core::dataset::Tables::default()).unwrap();
    let query = |fields: &[&str]| {
        EventsQuery::new(fields.iter().copied(), "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap())
    };
    let refused = |query: EventsQuery| {
        let split = dataset.plan_splits(&query, NonZeroUsize::MIN).unwrap().remove(0);
        EventReader::new(&dataset, &query, &split, Execution::default()).unwrap_err().to_string()
    };
    for (query, part) in [
        (query(&["campaign", "total", "leads"]), "the metric `leads`"),
        (query(&["total"]).sort("total"), "an order"),
        (query(&["total"]).limit(3), "a limit"),
        (query(&["total"]).totals(), "totals"),
    ] {
        let expected =
            format!("expected a query of events, without {part}; of the metrics, only `total` has a value on an event");
        assert_eq!(refused(query), expected);
    }
    let (one, other) = (query(&["total"]), query(&["type", "total"]));
    let split = dataset.plan_splits(&one, NonZeroUsize::MIN).unwrap().remove(0);
    let foreign = EventReader::new(&dataset, &other, &split, Execution::default());
    assert!(matches!(foreign, Err(Error::Partial(trueup_core::PartialError::OtherQuery))));
}

#[test]
fn an_interrupt_ends_reading() {
    let dataset = Dataset::from_tables(&trueup_core::dataset::Tables::default()).unwrap();
    let query = EventsQuery::new(["total"], "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
    let split = dataset.plan_splits(&query, NonZeroUsize::MIN).unwrap().remove(0);
    let interrupt = Interrupt::default();
    let execution = Execution { interrupt: interrupt.clone(), ..Execution::default() };
    let mut reader = EventReader::new(&dataset, &query, &split, execution).unwrap();
    interrupt.cancel();
    assert!(matches!(reader.next(), Some(Err(Error::Interrupted(_)))));
    assert!(matches!(reader.next(), Some(Err(Error::Interrupted(_)))));
}
