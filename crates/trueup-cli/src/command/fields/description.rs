//! The texts of fields as columns of a table.

use crate::output::{Format, ResultTableBuilder};
use trueup::field::FieldDescription;

/// Returns the fields as a table, one row per field: for people only the most important columns, because a terminal is
/// narrow.
pub(super) fn table<'a>(fields: &[FieldDescription<'a>], format: Format) -> ResultTableBuilder {
    let column = |table: ResultTableBuilder, name: &str, text: &dyn Fn(&FieldDescription<'a>) -> &'a str| {
        table.texts(name, fields.iter().map(|field| text(field).to_owned()))
    };
    let table = column(ResultTableBuilder::default(), "name", &|field| field.name);
    let table = column(table, "type", &|field| field.kind());
    if format == Format::Table {
        let table = column(table, "unit", &|field| field.metric().map_or(field.format(), |metric| metric.unit.name()));
        return column(table, "definition", &|field| field.definition());
    }
    let table = column(table, "displayName", &|field| field.display_name());
    let table = column(table, "format", &|field| field.format());
    let table = column(table, "unit", &|field| field.metric().map_or("", |metric| metric.unit.name()));
    let formula = |field: &FieldDescription<'_>| field.metric().map(|metric| metric.formula);
    let table = table.texts("formula", fields.iter().map(|field| formula(field).unwrap_or_default()));
    let table = column(table, "addsUp", &|field| field.metric().map_or("", |metric| metric.adds_up));
    column(table, "definition", &|field| field.definition())
}
