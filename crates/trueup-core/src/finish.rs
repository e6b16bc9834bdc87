//! Turns the merged partial result into the result table: computes metrics, applies conditions on them, and sorts.
//!
//! | file | what it does |
//! |---|---|
//! | `order` | sorts texts and groups, and maps groups to columns, in steps that an interrupt can end |
//! | `sorted_dictionary` with `prefix_keys` | sorts the texts of each dimension |
//! | `measures` with `percentiles` | evaluates conditions on metrics, and computes the metrics |
//! | `sort` | sorts the groups as the query asks |
//! | `exact_values` | holds the exact values that a comparison computes with |
//! | `comparison` | makes one table of two ranges: joins them (`join`), computes what changed (`effects`, `exact`) |
//! | `finished` | gives a finished answer the columns of benchmarks or targets, and sorts its rows |
//! | `difference` | compares two answers row by row |
//! | `table` | holds the result |
//! | `arrow`, `parquet`, `polars` | convert it |

mod arrow;
mod comparison;
mod difference;
mod effects;
mod exact;
mod exact_values;
mod finished;
mod join;
mod measures;
mod order;
mod parquet;
mod percentiles;
#[cfg(feature = "polars")]
mod polars;
mod prefix_keys;
mod sort;
mod sorted_dictionary;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use arrow::MAX_TEXT_BYTES;
pub(crate) use comparison::{RangeGroups, bytes_to_compare, compare};
pub use difference::NotComparable;
pub(crate) use effects::effects_of_parts;
pub(crate) use exact::nearest_quotient;
pub(crate) use exact_values::{ExactValue, change, exact_fraction, relative_change};
pub(crate) use finished::ExtendedQuery;
pub(crate) use measures::SumFormula;
pub use parquet::ParquetProgress;
pub(crate) use table::StringColumnBuilder;
pub use table::{Column, ExtraMemory, Ratios, ResultTable, Row, StringColumn, Value, Values};

use crate::aggregate::{GroupSlot, PartialResult};
use crate::error::{Error, QueryError};
use crate::plan::{Output, Plan, Ternary};
use crate::query::Interval;
use crate::{Day, Interrupt, Interruption};
use measures::GroupMeasures;
use order::{map_interruptible, sort_by_rank};
use percentiles::SortedDurations;
use sort::sort_groups;
use sorted_dictionary::SortedDictionary;

/// Returns about the largest number of bytes that [`finish`] takes in addition to the partial result: for sorted
/// dictionaries, the order of the groups, and the columns.
pub(crate) fn bytes(plan: &Plan, partial: &PartialResult) -> usize {
    // The order of the groups, twice, and whether each passes.
    let mut per_group = 2 * size_of::<u32>() + size_of::<Ternary>();
    if plan.needs_spend() {
        per_group += size_of::<GroupSlot>();
    }
    if plan.interval != Interval::Total {
        per_group += 2 * size_of::<Day>();
    }
    if !plan.sort.is_empty() {
        // The values to sort by, the places of the groups twice, and the sorted groups.
        per_group += plan.sort.len() * size_of::<i128>() + 3 * size_of::<u32>();
    }
    // The codes of texts are collected, then copied to shared memory. All blank columns share one.
    per_group += usize::from(!plan.blank.is_empty()) * size_of::<u32>() + size_of::<u32>();
    per_group += plan.output.iter().map(width).sum::<usize>();
    if plan.exact_ratios {
        // A numerator and a denominator.
        let metrics = plan.output.iter().filter(|output| matches!(output, Output::Metric(_))).count();
        per_group += metrics * 2 * size_of::<i128>();
    }
    let texts = || partial.grouped.groups.texts.iter().map(|texts| texts.texts());
    let sorted = texts().map(|texts| texts.bytes() + texts.len() * size_of::<u32>());
    // The prefix keys of one dimension at a time are sorted from one buffer to another.
    let prefix_keys = texts().map(|texts| 2 * texts.len() * size_of::<u128>()).max().unwrap_or(0);
    let durations = partial.grouped.state.durations.pairs().iter().filter_map(|pair| pair.by_day());
    let durations = durations.map(|by_day| SortedDurations::bytes(by_day.len(), partial.len()));
    partial.len() * per_group + sorted.sum::<usize>() + prefix_keys + durations.sum::<usize>()
}

/// Returns the largest number of bytes of a value of a column.
const fn width(output: &Output) -> usize {
    match output {
        Output::Dimension(_) => size_of::<u32>(),
        Output::Blank(_) => 0,
        // Money is the widest.
        Output::Metric(_) => size_of::<i128>(),
    }
}

/// Turns a merged partial result into the result table.
///
/// # Errors
/// There are more than `max_rows` rows before conditions on metrics, a count overflows, or the interrupt ends the
/// query. Every step that may take long checks the interrupt.
pub(crate) fn finish(
    plan: &Plan,
    mut partial: PartialResult,
    max_rows: Option<usize>,
    interrupt: &Interrupt,
) -> Result<ResultTable, Error> {
    let (spend, dictionaries) = complete(plan, &mut partial, max_rows, interrupt)?;
    let measures = GroupMeasures::new(plan, &partial, spend, interrupt)?;
    let groups = ordered_groups(plan, &partial, &measures, &dictionaries, interrupt)?;
    let code = |group: u32, at: usize| partial.grouped.groups.table.key(group as usize)[at];
    let mut columns = Vec::new();
    if plan.interval != Interval::Total {
        let sub_range = |group: u32| plan.sub_ranges[code(group, 0) as usize];
        let starts: Vec<Day> = map_interruptible(&groups, interrupt, |group| sub_range(group).start)?;
        let ends: Vec<Day> = map_interruptible(&groups, interrupt, |group| sub_range(group).end)?;
        columns.push(Column { name: "start".to_owned(), values: Values::Days(starts) });
        columns.push(Column { name: "end".to_owned(), values: Values::Days(ends) });
    }
    // A blank column has the same texts as a column that is empty on all rows of the selected accounts, so that nobody
    // can find out whether another account has the field.
    let has_text = plan.needs_spend() || partial.len() > 0;
    let blank = StringColumn::blank(groups.len(), has_text);
    let column = |output: &Output| -> Result<Column, Error> {
        Ok(match output {
            Output::Dimension(place) => {
                let dictionary = &dictionaries[*place];
                let rank = |group| dictionary.ranks[code(group, place + 1) as usize];
                let codes = map_interruptible(&groups, interrupt, rank)?;
                let texts = StringColumn { codes: codes.into(), dictionary: dictionary.sorted.clone() };
                Column { name: plan.dimensions[*place].name.clone(), values: Values::Strings(texts) }
            }
            Output::Blank(place) => {
                Column { name: plan.blank[*place].name.clone(), values: Values::Strings(blank.clone()) }
            }
            Output::Metric(metric) => {
                Column { name: metric.name().to_owned(), values: measures.values(metric, &groups)? }
            }
        })
    };
    for output in &plan.output {
        columns.push(column(output)?);
    }
    Ok(ResultTable {
        unknown_fields: plan.unknown_fields.clone(),
        definitions: plan.definitions.clone(),
        ..ResultTable::from_columns(columns)
    })
}

/// Adds the groups that events do not make, and takes the texts of the dimensions. Returns for each group the slot of
/// its spend, and the sorted texts of each dimension.
fn complete(
    plan: &Plan,
    partial: &mut PartialResult,
    max_rows: Option<usize>,
    interrupt: &Interrupt,
) -> Result<(Vec<GroupSlot>, Vec<SortedDictionary>), Error> {
    if plan.dimensions.is_empty() && plan.blank.is_empty() {
        partial.add_sub_ranges(plan.sub_ranges.len());
    }
    let spend = if plan.needs_spend() { partial.add_spend_groups(interrupt)? } else { Vec::new() };
    check_rows(partial.len(), max_rows)?;
    let texts = std::mem::take(&mut partial.grouped.groups.texts).into_iter();
    let dictionaries =
        texts.map(|texts| SortedDictionary::new(&texts.into_texts(), interrupt)).collect::<Result<Vec<_>, _>>()?;
    Ok((spend, dictionaries))
}

/// Refuses an answer, or the groups of a part of the data, with more rows than the answer may have.
pub(crate) fn check_rows(rows: usize, max_rows: Option<usize>) -> Result<(), QueryError> {
    match max_rows {
        Some(limit) if rows > limit => Err(QueryError::TooManyRows { limit }),
        _ => Ok(()),
    }
}

/// Returns the groups of the answer in order: those for which the conditions on metrics hold, by sub-range and then by
/// each dimension in turn, sorted as the query asks, up to its limit.
fn ordered_groups(
    plan: &Plan,
    partial: &PartialResult,
    measures: &GroupMeasures<'_>,
    dictionaries: &[SortedDictionary],
    interrupt: &Interrupt,
) -> Result<Vec<u32>, Error> {
    let results = plan.having.as_ref().map(|having| measures.evaluate(having)).transpose()?;
    let passes = |group: &u32| results.as_ref().is_none_or(|results| results[*group as usize] == Ternary::True);
    let groups = (0_u32..).take(partial.len()).filter(passes).collect();
    let mut groups = sort_by_dimensions(groups, partial, dictionaries, interrupt)?;
    let code = |group: u32, at: usize| partial.grouped.groups.table.key(group as usize)[at];
    if plan.sub_ranges.len() > 1 {
        groups = sort_by_rank(&groups, plan.sub_ranges.len(), interrupt, |group| code(group, 0))?;
    }
    groups = sort_groups(groups, &plan.sort, measures, dictionaries, interrupt, code)?;
    groups.truncate(plan.limit.unwrap_or(usize::MAX));
    Ok(groups)
}

/// Returns groups in the order of their dimensions, the first of which decides first. Groups that are equal in all of
/// them stay in their order.
fn sort_by_dimensions(
    mut groups: Vec<u32>,
    partial: &PartialResult,
    dictionaries: &[SortedDictionary],
    interrupt: &Interrupt,
) -> Result<Vec<u32>, Interruption> {
    // Stable sorts, the least significant key first.
    for (place, SortedDictionary { ranks, .. }) in dictionaries.iter().enumerate().rev() {
        if ranks.len() > 1 {
            let rank = |group: u32| ranks[partial.grouped.groups.table.key(group as usize)[place + 1] as usize];
            groups = sort_by_rank(&groups, ranks.len(), interrupt, rank)?;
        }
    }
    Ok(groups)
}
