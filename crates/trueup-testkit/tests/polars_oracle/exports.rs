//! A result table as a record batch and as a data frame has the values of its rows.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int32Type, UInt64Type};
use polars::prelude::{AnyValue, DataFrame};
use proptest::prelude::*;
use trueup::filter;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::query::EventsQuery;
use trueup_core::{Day, ResultTable, Value};
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::oracle::{Request, Tables};

/// Returns the answer to a request without its accounts and its parameter `filter`; `None` if it is refused.
fn answer(tables: &Tables, request: &Request) -> Option<ResultTable> {
    let canonical = CanonicalTables {
        events: event_batches(tables),
        spend: spend_batches(tables),
        accounts: account_batches(tables),
        row_group_rows: 50,
    };
    let [start, end] = [request.start, request.end].map(|date| Day::from_date(date).unwrap());
    let query = EventsQuery::new(request.fields.clone(), start, end).interval(request.interval.parse().ok()?);
    let query =
        filter::apply(query.allow_long_total().allow_unknown(true).allow_mixed_currencies(true), &request.filters)
            .ok()?;
    Dataset::from_tables(&canonical).unwrap().query(&query).ok()
}

/// Returns a value of an array as a text. [`of_frame`] and [`of_row`] return the same text for an equal value.
fn of_array(array: &ArrayRef, row: usize) -> String {
    if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        return format!("day {}", days.value(row));
    }
    if let Some(texts) = array.as_dictionary_opt::<Int32Type>() {
        let code = usize::try_from(texts.keys().value(row)).unwrap();
        return format!("text {}", texts.values().as_string::<i32>().value(code));
    }
    if let Some(counts) = array.as_primitive_opt::<UInt64Type>() {
        return format!("count {}", counts.value(row));
    }
    if let Some(amounts) = array.as_primitive_opt::<Decimal128Type>() {
        return format!("micros {}", amounts.value(row));
    }
    format!("ratio {:?}", array.as_primitive::<Float64Type>().value(row))
}

fn of_frame(frame: &DataFrame, name: &str, row: usize) -> String {
    match frame.column(name).unwrap().get(row).unwrap() {
        AnyValue::Date(day) => format!("day {day}"),
        AnyValue::String(text) => format!("text {text}"),
        AnyValue::StringOwned(text) => format!("text {text}"),
        AnyValue::UInt64(count) => format!("count {count}"),
        AnyValue::Decimal(micros, 38, 6) => format!("micros {micros}"),
        AnyValue::Float64(ratio) => format!("ratio {ratio:?}"),
        other => panic!("{name} is {other:?}"),
    }
}

fn of_row(value: Value<'_>) -> String {
    match value {
        Value::Day(day) => format!("day {}", day.number()),
        Value::Text(text) => format!("text {text}"),
        Value::Count(count) => format!("count {count}"),
        Value::Money(micros) => format!("micros {micros}"),
        Value::Ratio(ratio) => format!("ratio {ratio:?}"),
        other => format!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_form_of_a_result_table_has_the_same_values((tables, request) in case()) {
        let Some(table) = answer(&tables, &request) else { return Ok(()) };
        let batch = table.record_batch().unwrap();
        let frame = table.data_frame().unwrap();
        prop_assert_eq!((batch.num_rows(), frame.height()), (table.len(), table.len()));
        prop_assert_eq!((batch.num_columns(), frame.width()), (table.columns().len(), table.columns().len()));
        for (at, row) in table.rows().enumerate() {
            for (name, value) in row.values() {
                let expected = of_row(value);
                prop_assert_eq!(&of_array(batch.column_by_name(name).unwrap(), at), &expected);
                prop_assert_eq!(&of_frame(&frame, name, at), &expected);
            }
        }
    }
}
