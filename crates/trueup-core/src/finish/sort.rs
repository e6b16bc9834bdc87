//! Sorts the groups of an answer by the columns that the query names.

use super::measures::GroupMeasures;
use super::order::{map_interruptible, sort};
use super::sorted_dictionary::SortedDictionary;
use crate::error::Error;
use crate::plan::{SortColumn, SortSource};
use crate::{Interrupt, Interruption};
use std::cmp::Ordering;

/// What a group without a value is sorted by, in both directions: it comes after all others, because no sum of a query
/// is nearly as large.
const LAST: i128 = i128::MAX;

/// Returns the groups sorted by `columns`, the first of which decides first. Groups that are equal there stay in their
/// order. `code(group, at)` returns a code of the group's key: its sub-range at 0, then its dimensions.
pub(super) fn sort_groups(
    groups: Vec<u32>,
    columns: &[SortColumn],
    measures: &GroupMeasures<'_>,
    dictionaries: &[SortedDictionary],
    interrupt: &Interrupt,
    code: impl Fn(u32, usize) -> u32,
) -> Result<Vec<u32>, Error> {
    if columns.is_empty() {
        return Ok(groups);
    }
    let values = |column: &SortColumn| -> Result<Vec<i128>, Interruption> {
        let sort_key = |value| sort_key(value, column.is_descending);
        match &column.source {
            SortSource::SubRange => {
                map_interruptible(&groups, interrupt, |group| sort_key(Some(i128::from(code(group, 0)))))
            }
            SortSource::Dimension(at) => {
                let SortedDictionary { sorted, ranks } = &dictionaries[*at];
                // The empty text is the first of all texts.
                let empty = (sorted.get(0) == Some("")).then_some(0);
                let rank = |group| ranks[code(group, at + 1) as usize];
                let value = |group| Some(rank(group)).filter(|rank| Some(*rank) != empty).map(i128::from);
                map_interruptible(&groups, interrupt, |group| sort_key(value(group)))
            }
            SortSource::Metric(metric) => Ok(measures.ordered(metric, &groups)?.into_iter().map(sort_key).collect()),
        }
    };
    let keys = columns.iter().map(values).collect::<Result<Vec<_>, _>>()?;
    Ok(sort_by_keys(&groups, &keys, interrupt)?)
}

/// Returns what a row is sorted by, given a number that is larger where its value is; `None` if it has no value.
pub(super) fn sort_key(value: Option<i128>, is_descending: bool) -> i128 {
    match value {
        Some(value) if is_descending => -value,
        Some(value) => value,
        None => LAST,
    }
}

/// Returns rows sorted by keys, each with one number per row, the first of which decides first. Rows that are equal
/// there stay in their order.
pub(super) fn sort_by_keys(rows: &[u32], keys: &[Vec<i128>], interrupt: &Interrupt) -> Result<Vec<u32>, Interruption> {
    let compare = |a: u32, b: u32| {
        let by_value = keys.iter().map(|values| values[a as usize].cmp(&values[b as usize]));
        by_value.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
    };
    let sorted = sort((0_u32..).take(rows.len()).collect(), interrupt, compare)?;
    map_interruptible(&sorted, interrupt, |at| rows[at as usize])
}
