//! First-touch credit: what a customer's first conversion says, on all events of the customer.

use super::MappingError;
use super::field::CONVERSION;
use super::rows::{ColumnValue, Days, Micros, days_of};
use super::stream::engine;
use super::table::TablePlan;
use polars::prelude::*;

/// The key of the mapping that asks for it.
const KEY: &str = "first_touch";

/// The first conversion of every customer that has one: its account, its id, and the columns to be copied.
pub(super) fn first_conversions(tables: &[TablePlan], copied: &[String]) -> Result<DataFrame, MappingError> {
    let mut conversions = Vec::new();
    for table in tables {
        let has = |name: &str| table.columns.iter().any(|column| column == name);
        let or_none = |name: &str, dtype: DataType| if has(name) { col(name) } else { lit(NULL).cast(dtype) };
        let instant = or_none("dateTime", Micros::dtype());
        let day = or_none("date", Days::dtype()).cast(DataType::Int32).cast(DataType::Int64);
        // The date of an event that has only a time is that of UTC here: accounts and their zones come later.
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
        .map_err(|source| engine(KEY, source))
}

/// A table of events with the columns of each customer's first conversion; a customer that has none keeps its own.
pub(super) fn give(table: TablePlan, credit: &DataFrame, copied: &[String]) -> TablePlan {
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
