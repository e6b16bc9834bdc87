//! Merged state to the answer: ratios, conditions on metrics, order.

mod arrow;
mod measures;
#[cfg(feature = "polars")]
mod polars;
mod table;

pub use table::{Column, ResultTable, Row, Texts, Value, Values};

use crate::aggregate::{Context, Merged, Truth};
use crate::error::QueryError;
use crate::plan::Output;
use crate::query::Interval;
use measures::Finished;
use std::cmp::Ordering;
use std::sync::Arc;

/// Turns merged state to the answer, unless it has more than `max_rows` rows before conditions on metrics.
pub(crate) fn finish(
    context: &Context<'_>,
    mut merged: Merged,
    max_rows: Option<usize>,
) -> Result<ResultTable, QueryError> {
    let plan = context.plan;
    if plan.dimensions.is_empty() {
        // With only metrics selected every sub-range has a row, zeros included.
        (0_u32..).take(plan.sub_ranges.len()).for_each(|sub_range| merged.ensure(&[sub_range]));
    }
    if plan.needs_spend {
        merged.ensure_spend();
    }
    if let Some(limit) = max_rows.filter(|limit| merged.groups.len() > *limit) {
        return Err(QueryError::TooManyRows { limit });
    }
    let finished = Finished::new(context, &merged);
    let passes = plan.having.as_ref().map(|having| finished.truths(having));
    let is_kept = |group: &usize| passes.as_ref().is_none_or(|truths| truths[*group] == Truth::True);
    let mut groups: Vec<usize> = (0..merged.groups.len()).filter(is_kept).collect();
    let dictionaries: Vec<_> = merged.texts.iter().map(|texts| Dictionary::new(texts.texts())).collect();
    groups.sort_unstable_by(|a, b| compare(&dictionaries, merged.groups.key(*a), merged.groups.key(*b)));
    let mut columns = Vec::new();
    if plan.interval != Interval::Total {
        let sub_range = |group: &usize| plan.sub_ranges[merged.groups.key(*group)[0] as usize];
        let starts = groups.iter().map(|group| sub_range(group).start).collect();
        let ends = groups.iter().map(|group| sub_range(group).end).collect();
        columns.push(Column { name: "start".to_owned(), values: Values::Days(starts) });
        columns.push(Column { name: "end".to_owned(), values: Values::Days(ends) });
    }
    for output in &plan.output {
        columns.push(match output {
            Output::Dimension(place) => {
                let dictionary = &dictionaries[*place];
                let rank = |group: &usize| dictionary.ranks[merged.groups.key(*group)[place + 1] as usize];
                let texts = Texts { codes: groups.iter().map(rank).collect(), dictionary: dictionary.sorted.clone() };
                Column { name: plan.dimensions[*place].name.clone(), values: Values::Texts(texts) }
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
    sorted: Vec<Arc<str>>,
    /// Where the text of a code stands among them.
    ranks: Vec<u32>,
}

impl Dictionary {
    fn new(texts: &[Arc<str>]) -> Self {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_unstable_by(|a, b| texts[*a].as_bytes().cmp(texts[*b].as_bytes()));
        let mut ranks = vec![0; texts.len()];
        (0_u32..).zip(&order).for_each(|(rank, code)| ranks[*code] = rank);
        Self { sorted: order.into_iter().map(|code| texts[code].clone()).collect(), ranks }
    }
}

fn compare(dictionaries: &[Dictionary], a: &[u32], b: &[u32]) -> Ordering {
    let ranks = dictionaries.iter().zip(a[1..].iter().zip(&b[1..]));
    let mut by_text =
        ranks.map(|(dictionary, (a, b))| dictionary.ranks[*a as usize].cmp(&dictionary.ranks[*b as usize]));
    a[0].cmp(&b[0]).then_with(|| by_text.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}
