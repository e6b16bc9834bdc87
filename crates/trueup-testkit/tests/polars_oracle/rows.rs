//! Rows as texts in which no digit is lost: money in millionths, doubles as Rust writes them.

use polars::prelude::*;
use trueup_core::{ResultTable, Value};

pub(crate) fn of_table(table: &ResultTable) -> Vec<String> {
    let is_shown = |(name, _): &(&str, Value<'_>)| *name != "end";
    let has_start = table.column("start").is_some();
    let row = |values: Vec<String>| if has_start { values.join(" | ") } else { format!(" | {}", values.join(" | ")) };
    table
        .rows()
        .map(|of| row(of.values().filter(is_shown).map(|(name, value)| of_value(name, value)).collect()))
        .collect()
}

fn of_value(name: &str, value: Value<'_>) -> String {
    match value {
        // A sub-range is named by its month.
        Value::Day(day) => day.month(),
        Value::Text(text) => text.to_owned(),
        Value::Count(count) => format!("{name} {count}"),
        Value::Money(micros) => format!("{name} {micros}"),
        Value::Ratio(ratio) => format!("{name} {ratio:?}"),
    }
}

pub(crate) fn of_frame(frame: &DataFrame) -> Vec<String> {
    let columns = frame.columns();
    let row = |row: usize| columns.iter().map(|column| of_cell(column, row)).collect::<Vec<_>>().join(" | ");
    (0..frame.height()).map(row).collect()
}

fn of_cell(column: &Column, row: usize) -> String {
    let name = column.name();
    match column.get(row).unwrap() {
        AnyValue::String(text) => text.to_owned(),
        AnyValue::StringOwned(text) => text.to_string(),
        AnyValue::Int64(count) => format!("{name} {count}"),
        AnyValue::Decimal(micros, _, 6) => format!("{name} {micros}"),
        AnyValue::Float64(ratio) => format!("{name} {:?}", ratio + 0.0),
        other => panic!("{name}: {other:?}"),
    }
}
