//! Merged state to the answer: ratios, conditions on metrics, order.

mod arrow;
mod measures;
mod order;
#[cfg(feature = "polars")]
mod polars;
mod table;
#[cfg(test)]
mod tests;

pub use table::{Column, ResultTable, Row, Texts, Value, Values};

use crate::aggregate::{Context, Merged, Truth};
use crate::error::{Error, QueryError};
use crate::plan::Output;
use crate::query::Interval;
use crate::{Day, Interrupt, Interruption};
use measures::Finished;
use order::{each, sort};
use std::cmp::Ordering;
use std::sync::Arc;

/// Turns merged state to the answer, unless it has more than `max_rows` rows before conditions on metrics or the interrupt ends it:
/// no step that takes long goes without looking at it.
pub(crate) fn finish(
    context: &Context<'_>,
    mut merged: Merged,
    max_rows: Option<usize>,
    interrupt: &Interrupt,
) -> Result<ResultTable, Error> {
    let plan = context.plan;
    if plan.dimensions.is_empty() && plan.blank.is_empty() {
        // With only metrics selected every sub-range has a row, zeros included.
        (0_u32..).take(plan.sub_ranges.len()).for_each(|sub_range| merged.ensure(&[sub_range]));
    }
    if plan.needs_spend {
        merged.ensure_spend(interrupt)?;
    }
    if let Some(limit) = max_rows.filter(|limit| merged.groups.len() > *limit) {
        return Err(QueryError::TooManyRows { limit }.into());
    }
    let finished = Finished::new(context, &merged, interrupt)?;
    let passes = plan.having.as_ref().map(|having| finished.truths(having)).transpose()?;
    let is_kept = |group: &usize| passes.as_ref().is_none_or(|truths| truths[*group] == Truth::True);
    let groups: Vec<usize> = (0..merged.groups.len()).filter(is_kept).collect();
    let dictionaries =
        merged.texts.iter().map(|texts| Dictionary::new(texts.texts(), interrupt)).collect::<Result<Vec<_>, _>>()?;
    let groups = sort(groups, interrupt, |a, b| compare(&dictionaries, merged.groups.key(a), merged.groups.key(b)))?;
    let mut columns = Vec::new();
    if plan.interval != Interval::Total {
        let sub_range = |group: usize| plan.sub_ranges[merged.groups.key(group)[0] as usize];
        let starts: Vec<Day> = each(&groups, interrupt, |group| Ok::<_, Interruption>(sub_range(group).start))?;
        let ends: Vec<Day> = each(&groups, interrupt, |group| Ok::<_, Interruption>(sub_range(group).end))?;
        columns.push(Column { name: "start".to_owned(), values: Values::Days(starts) });
        columns.push(Column { name: "end".to_owned(), values: Values::Days(ends) });
    }
    // The texts that a column has which is empty on all rows in scope: nobody shall see whether out of scope some table has it.
    let is_met = plan.needs_spend || merged.groups.len() > 0;
    let blank = Texts::blank(groups.len(), is_met);
    for output in &plan.output {
        columns.push(match output {
            Output::Dimension(place) => {
                let dictionary = &dictionaries[*place];
                let rank = |group: usize| dictionary.ranks[merged.groups.key(group)[place + 1] as usize];
                let codes = each(&groups, interrupt, |group| Ok::<_, Interruption>(rank(group)))?;
                let texts = Texts { codes: codes.into(), dictionary: dictionary.sorted.clone() };
                Column { name: plan.dimensions[*place].name.clone(), values: Values::Texts(texts) }
            }
            Output::Blank(place) => {
                Column { name: plan.blank[*place].name.clone(), values: Values::Texts(blank.clone()) }
            }
            Output::Metric(field, formula) => {
                Column { name: field.name.to_owned(), values: finished.values(*formula, field.name, &groups)? }
            }
        });
    }
    Ok(ResultTable { columns, rows: groups.len(), unknown_fields: plan.unknown_fields.clone() })
}

/// The texts of a dimension in order.
struct Dictionary {
    sorted: Arc<[Arc<str>]>,
    /// Where the text of a code stands among them.
    ranks: Vec<u32>,
}

impl Dictionary {
    fn new(texts: &[Arc<str>], interrupt: &Interrupt) -> Result<Self, Interruption> {
        let by_text = |a: usize, b: usize| texts[a].as_bytes().cmp(texts[b].as_bytes());
        let order = sort((0..texts.len()).collect(), interrupt, by_text)?;
        let mut ranks = vec![0; texts.len()];
        (0_u32..).zip(&order).for_each(|(rank, code)| ranks[*code] = rank);
        let sorted = each(&order, interrupt, |code| Ok::<_, Interruption>(texts[code].clone()))?;
        Ok(Self { sorted: sorted.into(), ranks })
    }
}

fn compare(dictionaries: &[Dictionary], a: &[u32], b: &[u32]) -> Ordering {
    let ranks = dictionaries.iter().zip(a[1..].iter().zip(&b[1..]));
    let mut by_text =
        ranks.map(|(dictionary, (a, b))| dictionary.ranks[*a as usize].cmp(&dictionary.ranks[*b as usize]));
    a[0].cmp(&b[0]).then_with(|| by_text.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}
