//! PartialResult state to the answer: ratios, conditions on metrics, order.

mod arrow;
mod measures;
mod order;
#[cfg(feature = "polars")]
mod polars;
mod prefix_keys;
mod sorted_dictionary;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::TableMemory;
pub use table::{Column, ExtraMemory, ResultTable, Row, Texts, Value, Values};

use crate::aggregate::{PartialResult, QueryContext, Ternary};
use crate::error::{Error, QueryError};
use crate::plan::Output;
use crate::query::Interval;
use crate::{Day, Interrupt};
use measures::GroupMeasures;
use order::{map_interruptible, sort_by_rank};
use rayon::prelude::*;
use sorted_dictionary::SortedDictionary;

/// Rows of which one thread makes all columns.
const FEW: usize = 1 << 15;

/// About the most bytes that [`finish`] takes besides the merged state: dimensions in order, groups in order, and the columns.
pub(crate) fn bytes(context: &QueryContext<'_>, merged: &PartialResult) -> usize {
    let plan = context.plan;
    // GroupTable and their order twice, and what passes.
    let mut per_group = 2 * size_of::<u32>() + size_of::<Ternary>();
    if context.layout.agents {
        per_group += size_of::<i128>();
    }
    if plan.needs_spend() {
        per_group += size_of::<Option<u32>>();
    }
    if plan.interval != Interval::Total {
        per_group += 2 * size_of::<Day>();
    }
    // The codes of texts are made, then moved to where clones share them; blank columns are clones.
    per_group += usize::from(!plan.blank.is_empty()) * size_of::<u32>() + size_of::<u32>();
    per_group += plan.output.iter().map(width).sum::<usize>();
    let sorted = merged.texts.iter().map(|texts| texts.texts().bytes() + texts.texts().len() * size_of::<u32>());
    // PrefixKeys are sorted from one place to another, one dimension after the other.
    let heads = merged.texts.iter().map(|texts| 2 * texts.texts().len() * size_of::<u128>()).max().unwrap_or(0);
    merged.groups.len() * per_group + sorted.sum::<usize>() + heads
}

/// Bytes that a value of a column takes.
const fn width(output: &Output) -> usize {
    match output {
        Output::Dimension(_) => size_of::<u32>(),
        Output::Blank(_) => 0,
        // Money is as wide as a value can be.
        Output::Metric(..) => size_of::<i128>(),
    }
}

/// Turns merged state to the answer, unless it has more than `max_rows` rows before conditions on metrics or the interrupt ends it:
/// no step that takes long goes without looking at it.
pub(crate) fn finish(
    context: &QueryContext<'_>,
    mut merged: PartialResult,
    max_rows: Option<usize>,
    interrupt: &Interrupt,
) -> Result<ResultTable, Error> {
    let plan = context.plan;
    if plan.dimensions.is_empty() && plan.blank.is_empty() {
        // With only metrics selected every sub-range has a row, zeros included.
        for sub_range in (0_u32..).take(plan.sub_ranges.len()) {
            merged.slot(&[sub_range]);
        }
    }
    let spend = if plan.needs_spend() { merged.ensure_spend(interrupt)? } else { Vec::new() };
    if let Some(limit) = max_rows.filter(|limit| merged.groups.len() > *limit) {
        return Err(QueryError::TooManyRows { limit }.into());
    }
    let texts = std::mem::take(&mut merged.texts).into_iter();
    let dictionaries =
        texts.map(|texts| SortedDictionary::new(&texts.into_texts(), interrupt)).collect::<Result<Vec<_>, _>>()?;
    let finished = GroupMeasures::new(context, &merged, spend, interrupt)?;
    let passes = plan.having.as_ref().map(|having| finished.truths(having)).transpose()?;
    let is_kept = |group: &u32| passes.as_ref().is_none_or(|truths| truths[*group as usize] == Ternary::True);
    let mut groups: Vec<u32> = (0_u32..).take(merged.groups.len()).filter(is_kept).collect();
    let code = |group: u32, at: usize| merged.groups.key(group as usize)[at];
    // By the last dimension first: what comes in order of one stays in it among those that are equal in the next.
    for (place, dictionary) in
        dictionaries.iter().enumerate().rev().filter(|(_, dictionary)| dictionary.ranks.len() > 1)
    {
        let rank = |group: u32| dictionary.ranks[code(group, place + 1) as usize];
        groups = sort_by_rank(&groups, dictionary.ranks.len(), interrupt, rank)?;
    }
    if plan.sub_ranges.len() > 1 {
        groups = sort_by_rank(&groups, plan.sub_ranges.len(), interrupt, |group| code(group, 0))?;
    }
    let mut columns = Vec::new();
    if plan.interval != Interval::Total {
        let sub_range = |group: u32| plan.sub_ranges[code(group, 0) as usize];
        let starts: Vec<Day> = map_interruptible(&groups, interrupt, |group| sub_range(group).start)?;
        let ends: Vec<Day> = map_interruptible(&groups, interrupt, |group| sub_range(group).end)?;
        columns.push(Column { name: "start".to_owned(), values: Values::Days(starts) });
        columns.push(Column { name: "end".to_owned(), values: Values::Days(ends) });
    }
    // The texts that a column has which is empty on all rows in scope: nobody shall see whether out of scope some table has it.
    let is_met = plan.needs_spend() || merged.groups.len() > 0;
    let blank = Texts::blank(groups.len(), is_met);
    let column = |output: &Output| -> Result<Column, Error> {
        Ok(match output {
            Output::Dimension(place) => {
                let dictionary = &dictionaries[*place];
                let codes =
                    map_interruptible(&groups, interrupt, |group| dictionary.ranks[code(group, place + 1) as usize])?;
                let texts = Texts { codes: codes.into(), dictionary: dictionary.sorted.clone() };
                Column { name: plan.dimensions[*place].name.clone(), values: Values::Texts(texts) }
            }
            Output::Blank(place) => {
                Column { name: plan.blank[*place].name.clone(), values: Values::Texts(blank.clone()) }
            }
            Output::Metric(field, formula) => {
                Column { name: field.name.to_owned(), values: finished.values(*formula, field.name, &groups)? }
            }
        })
    };
    // Few rows take less time than it takes to wake a thread, and for it to get what this one has at hand.
    let at_once = if groups.len() < FEW { plan.output.len().max(1) } else { 1 };
    let made: Vec<_> = plan.output.par_iter().with_min_len(at_once).map(column).collect();
    for column in made {
        columns.push(column?);
    }
    Ok(ResultTable {
        columns,
        rows: groups.len(),
        unknown_fields: plan.unknown_fields.clone(),
        memory: TableMemory::default(),
    })
}
