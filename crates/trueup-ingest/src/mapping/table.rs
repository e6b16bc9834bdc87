//! A canonical table, as a plan over the inputs.

use super::MappingError;
use super::column::CompiledColumn;
use super::declaration::{EventTableDeclaration, FirstTouch, TableDeclaration, ValueSource};
use super::error::KeyFault;
use super::field::{CanonicalTable, ColumnType, STAGES};
use super::rows::each_row;
use super::stream::{JoinedRows, TablePlanner};
use polars::prelude::*;
use std::collections::BTreeMap;

/// A plan whose columns are those of a canonical table.
pub(super) struct TablePlan {
    pub(super) frame: LazyFrame,
    pub(super) columns: Vec<String>,
    /// The key of the mapping that declares it.
    pub(super) key: String,
}

impl TablePlanner<'_> {
    /// A table of spend or accounts.
    pub(super) fn table(
        &self,
        target: CanonicalTable,
        table: &TableDeclaration,
        at: usize,
    ) -> Result<TablePlan, MappingError> {
        let key = format!("{}[{at}]", target.key());
        let stream = self.stream(table, &key)?;
        let plan = TableSpec { target, key: key.clone(), copied: &[], optional: false };
        let columns =
            table.columns.iter().map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}"))));
        self.select(stream, columns.collect(), &plan)
    }

    /// The tables of events that one declaration makes: one if it is long, one for each stage if it is wide.
    pub(super) fn events(
        &self,
        table: &EventTableDeclaration,
        at: usize,
        first_touch: Option<&FirstTouch>,
    ) -> Result<Vec<TablePlan>, MappingError> {
        let key = format!("events[{at}]");
        let stream = self.stream(&table.table(), &key)?;
        let kept: Vec<(&str, ValueSource)> = table
            .keep
            .iter()
            .map(|name| (name.as_str(), ValueSource { column: Some(name.clone()), ..ValueSource::default() }))
            .collect();
        let mut common: ValueSources<'_> = BTreeMap::new();
        common.extend(kept.iter().map(|(name, source)| (*name, (source, format!("{key}.keep")))));
        common.extend(
            table.columns.iter().map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}")))),
        );
        let copied = first_touch.map_or(&[][..], |first_touch| &first_touch.copy);
        if table.stages.is_empty() {
            let plan = TableSpec { target: CanonicalTable::Events, key, copied, optional: false };
            return Ok(vec![self.select(stream, common, &plan)?]);
        }
        let mut tables = Vec::new();
        for (stage, columns) in STAGES.iter().filter_map(|stage| table.stages.get_key_value(*stage)) {
            let key = format!("{key}.stages.{stage}");
            let constant = super::declaration::Constant(stage.clone());
            let stage = ValueSource { value: Some(constant), ..ValueSource::default() };
            let mut all = common.clone();
            all.insert("type", (&stage, key.clone()));
            all.extend(columns.iter().map(|(name, source)| (name.as_str(), (source, format!("{key}.{name}")))));
            let plan = TableSpec { target: CanonicalTable::Events, key: key.clone(), copied, optional: true };
            tables.push(self.select(stream.clone(), all, &plan)?);
        }
        Ok(tables)
    }

    fn select(
        &self,
        stream: JoinedRows,
        columns: ValueSources<'_>,
        plan: &TableSpec<'_>,
    ) -> Result<TablePlan, MappingError> {
        let context = self.context(&stream.scope);
        let mut frame = stream.frame.clone();
        let (mut dates, mut others) = (Vec::new(), Vec::new());
        for (name, (source, key)) in &columns {
            let field = match plan.target.field(name) {
                // What is copied is compared with the same column of other tables, so it is text in all of them.
                ColumnType::Dimension if plan.copied.iter().any(|copied| copied == name) => ColumnType::Text,
                field => field,
            };
            let CompiledColumn { expr, only } =
                context.compile(source, field, key).map_err(|fault| fault.of(self.mapping))?;
            if let Some(only) = only {
                frame = frame.filter(only);
            }
            let list = if matches!(field, ColumnType::Day | ColumnType::Instant) { &mut dates } else { &mut others };
            list.push(expr.alias(made(name)));
        }
        let dated = ["date", "dateTime"]
            .into_iter()
            .filter(|name| columns.contains_key(name))
            .map(|name| col(made(name)).is_not_null());
        if let Some(dated) = dated.reduce(Expr::or) {
            frame = frame.with_columns(dates);
            frame = if plan.optional {
                frame.filter(dated)
            } else {
                let column = columns.get("date").or_else(|| columns.get("dateTime"));
                let (name, key) = column.map_or(("date", plan.key.as_str()), |(source, key)| {
                    (source.column.as_deref().unwrap_or("date"), key.as_str())
                });
                let none = when(dated).then(lit(NULL)).otherwise(lit("")).cast(DataType::String);
                let checked = each_row::<bool>(vec![none], stream.place.clone(), context.site(key, name), |texts| {
                    if texts[0].is_none() { Ok(Some(true)) } else { Err("expected a date".to_owned()) }
                });
                frame.filter(checked)
            };
        }
        let names: Vec<String> = columns.keys().map(ToString::to_string).collect();
        let frame = frame
            .with_columns(others)
            .select(names.iter().map(|name| col(made(name)).alias(name.as_str())).collect::<Vec<_>>());
        Ok(TablePlan { frame, columns: names, key: plan.key.clone() })
    }
}

/// The columns of a table by name, each with where it comes from and the key that says so.
type ValueSources<'a> = BTreeMap<&'a str, (&'a ValueSource, String)>;

/// How columns become a table.
struct TableSpec<'a> {
    target: CanonicalTable,
    key: String,
    /// The columns that first-touch credit copies.
    copied: &'a [String],
    /// Whether a row without a date is no event, rather than a fault.
    optional: bool,
}

/// The name of a finished column beside those of the inputs, whose names never begin like this.
fn made(name: &str) -> PlSmallStr {
    format!("={name}").into()
}

/// A fault of the whole mapping.
pub(super) fn nothing() -> KeyFault {
    KeyFault::new("events", "a mapping makes at least one table of [[events]], [[spend]] or [[accounts]]")
}
