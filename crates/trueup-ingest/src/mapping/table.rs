//! Plans canonical tables over the inputs, and gives events first-touch credit.

use super::canonical::{CONVERSION, CanonicalTable, ColumnType, STAGES};
use super::column::{ColumnCompiler, CompiledColumn};
use super::declaration::{Constant, EventTableDeclaration, FirstTouch, TableDeclaration, ValueSource};
use super::error::MappingError;
use super::expressions::{ColumnValue, Days, Micros, days_of, each_row};
use super::join::{JoinedRows, TablePlanner};
use polars::prelude::*;
use std::collections::BTreeMap;

/// A lazy frame with the columns of a canonical table.
pub(super) struct TablePlan {
    pub(super) frame: LazyFrame,
    pub(super) columns: Vec<String>,
    /// The key of the mapping that declares it.
    pub(super) key: String,
}

impl TablePlanner<'_> {
    /// Plans a table of spend or accounts.
    pub(super) fn table(
        &self,
        target: CanonicalTable,
        table: &TableDeclaration,
        at: usize,
    ) -> Result<TablePlan, MappingError> {
        let key = format!("{}[{at}]", target.key());
        let rows = self.joined_rows(table, &key)?;
        let spec = TableSpec { target, key: key.clone(), copied: &[], skips_undated: false };
        let columns =
            table.columns.iter().map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}"))));
        self.select(rows, columns.collect(), &spec)
    }

    /// Plans the tables of events of one declaration: one table if it is long, one per stage if it is wide.
    pub(super) fn events(
        &self,
        table: &EventTableDeclaration,
        at: usize,
        first_touch: Option<&FirstTouch>,
    ) -> Result<Vec<TablePlan>, MappingError> {
        let key = format!("events[{at}]");
        let rows = self.joined_rows(&table.table(), &key)?;
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
            let spec = TableSpec { target: CanonicalTable::Events, key, copied, skips_undated: false };
            return Ok(vec![self.select(rows, common, &spec)?]);
        }
        let mut tables = Vec::new();
        for (stage, columns) in STAGES.iter().filter_map(|stage| table.stages.get_key_value(*stage)) {
            let key = format!("{key}.stages.{stage}");
            let constant = Constant(stage.clone());
            let stage = ValueSource { value: Some(constant), ..ValueSource::default() };
            let mut all = common.clone();
            all.insert("type", (&stage, key.clone()));
            all.extend(columns.iter().map(|(name, source)| (name.as_str(), (source, format!("{key}.{name}")))));
            let spec = TableSpec { target: CanonicalTable::Events, key: key.clone(), copied, skips_undated: true };
            tables.push(self.select(rows.clone(), all, &spec)?);
        }
        Ok(tables)
    }

    fn select(
        &self,
        rows: JoinedRows,
        columns: ValueSources<'_>,
        spec: &TableSpec<'_>,
    ) -> Result<TablePlan, MappingError> {
        let compiler = ColumnCompiler { planner: self, known: &rows.columns };
        let mut frame = rows.frame.clone();
        let (mut dates, mut others) = (Vec::new(), Vec::new());
        for (name, (source, key)) in &columns {
            let column_type = match spec.target.column_type(name) {
                // Credit copies the column between tables, so it is text in each of them.
                ColumnType::Dimension if spec.copied.iter().any(|copied| copied == name) => ColumnType::Text,
                column_type => column_type,
            };
            let CompiledColumn { expr, only } =
                compiler.compile(source, column_type, key).map_err(|fault| fault.of(self.mapping))?;
            if let Some(only) = only {
                frame = frame.filter(only);
            }
            let list =
                if matches!(column_type, ColumnType::Day | ColumnType::Instant) { &mut dates } else { &mut others };
            list.push(expr.alias(made(name)));
        }
        let dated = ["date", "dateTime"]
            .into_iter()
            .filter(|name| columns.contains_key(name))
            .map(|name| col(made(name)).is_not_null());
        if let Some(dated) = dated.reduce(Expr::or) {
            frame = frame.with_columns(dates);
            frame = if spec.skips_undated {
                frame.filter(dated)
            } else {
                let column = columns.get("date").or_else(|| columns.get("dateTime"));
                let (name, key) = column.map_or(("date", spec.key.as_str()), |(source, key)| {
                    (source.column.as_deref().unwrap_or("date"), key.as_str())
                });
                let none = when(dated).then(lit(NULL)).otherwise(lit("")).cast(DataType::String);
                let checked = each_row::<bool>(vec![none], rows.location.clone(), self.site(key, name), |texts| {
                    if texts[0].is_none() { Ok(Some(true)) } else { Err("expected a date".to_owned()) }
                });
                frame.filter(checked)
            };
        }
        let names: Vec<String> = columns.keys().map(ToString::to_string).collect();
        let frame = frame
            .with_columns(others)
            .select(names.iter().map(|name| col(made(name)).alias(name.as_str())).collect::<Vec<_>>());
        Ok(TablePlan { frame, columns: names, key: spec.key.clone() })
    }
}

/// The columns of a table by name, each with its source and the key of that source.
type ValueSources<'a> = BTreeMap<&'a str, (&'a ValueSource, String)>;

/// The properties of a table that all its columns share.
struct TableSpec<'a> {
    target: CanonicalTable,
    key: String,
    /// The columns that first-touch credit copies.
    copied: &'a [String],
    /// Whether a row without a date is left out. Otherwise it is a fault.
    skips_undated: bool,
}

/// Returns the name of a finished column. No column of an input begins with `=`.
fn made(name: &str) -> PlSmallStr {
    format!("={name}").into()
}

/// The key of first-touch credit.
const FIRST_TOUCH: &str = "first_touch";

/// Returns the first conversion of each customer that has one: the account, the customer, and the columns to copy.
pub(super) fn first_conversions(tables: &[TablePlan], copied: &[String]) -> Result<DataFrame, MappingError> {
    let mut conversions = Vec::new();
    for table in tables {
        let has = |name: &str| table.columns.iter().any(|column| column == name);
        let or_none = |name: &str, dtype: DataType| if has(name) { col(name) } else { lit(NULL).cast(dtype) };
        let instant = or_none("dateTime", Micros::dtype());
        let day = or_none("date", Days::dtype()).cast(DataType::Int32).cast(DataType::Int64);
        // An event without a date takes the UTC date of its time, because the zones of accounts are not known yet.
        let day = when(day.clone().is_null()).then(days_of(instant.clone())).otherwise(day);
        let mut columns = vec![col("account"), col("opportunityId"), day.alias("=day"), instant.alias("=instant")];
        columns.extend(copied.iter().map(|name| or_none(name, DataType::String).alias(credited(name))));
        conversions.push(table.frame.clone().filter(col("type").eq(lit(CONVERSION))).select(columns));
    }
    let order = SortMultipleOptions::default().with_maintain_order(true).with_nulls_last(false);
    let mut kept = vec![col("account"), col("opportunityId")];
    kept.extend(copied.iter().map(|name| col(credited(name))));
    concat(&conversions, UnionArgs::default())
        .map(|all| {
            all.sort(["account", "opportunityId", "=day", "=instant"], order)
                .unique_stable_generic(Some(vec![col("account"), col("opportunityId")]), UniqueKeepStrategy::First)
                .select(kept)
        })
        .and_then(LazyFrame::collect)
        .map_err(|source| MappingError::engine(FIRST_TOUCH, source))
}

/// Replaces columns of a table of events by those of each customer's first conversion. Customers without a conversion
/// keep their values.
pub(super) fn give_credit(table: TablePlan, credit: &DataFrame, copied: &[String]) -> TablePlan {
    let mut columns = table.columns;
    let own =
        |name: &String| if columns.contains(name) { col(name.as_str()) } else { lit(NULL).cast(DataType::String) };
    let given = copied.iter().map(|name| {
        when(col("=credit").is_not_null()).then(col(credited(name))).otherwise(own(name)).alias(name.as_str())
    });
    let given: Vec<Expr> = given.collect();
    columns.extend(copied.iter().filter(|name| !columns.contains(name)).cloned().collect::<Vec<_>>());
    let keys = [col("account"), col("opportunityId")];
    let mut arguments = JoinArgs::new(JoinType::Left).with_coalesce(JoinCoalesce::CoalesceColumns);
    arguments.maintain_order = MaintainOrderJoin::Left;
    let credit = credit.clone().lazy().with_columns([lit(true).alias("=credit")]);
    let frame = table
        .frame
        .join(credit, keys.clone(), keys, arguments)
        .with_columns(given)
        .select(columns.iter().map(|name| col(name.as_str())).collect::<Vec<_>>());
    TablePlan { frame, columns, key: table.key }
}

fn credited(name: &str) -> PlSmallStr {
    format!("=credit.{name}").into()
}
