//! Joins the groups of two ranges by the texts of their dimensions.

use super::order::{INTERRUPT_CHECK_ITEMS, map_interruptible};
use crate::{Interrupt, Interruption, StringList};
use std::cmp::Ordering;
use std::sync::Arc;

/// The texts of one dimension, by group or row.
pub(super) struct GroupTexts {
    pub(super) codes: Vec<u32>,
    /// The distinct texts, sorted.
    pub(super) texts: Arc<StringList>,
}

impl GroupTexts {
    pub(super) fn bytes(&self) -> usize {
        self.codes.capacity() * size_of::<u32>() + self.texts.bytes()
    }
}

/// A row of a comparison: its group in the earlier range and in the range that is asked for, each if there is one.
#[derive(Clone, Copy)]
pub(super) struct JoinedRow([u32; 2]);

/// Stands for a group that a range does not have. No range has that many groups, because groups are numbered with 32
/// bits.
const ABSENT: u32 = u32::MAX;

/// Joins the groups of two ranges by their texts. A range is given as its number of groups and their texts per
/// dimension; the groups are in the order of these texts. Returns the rows in that order, and their texts.
pub(super) fn join(
    ranges: [(usize, &[GroupTexts]); 2],
    interrupt: &Interrupt,
) -> Result<(Vec<JoinedRow>, Vec<GroupTexts>), Interruption> {
    let lens = ranges.map(|(len, _)| len);
    let ranges = ranges.map(|(_, dimensions)| dimensions);
    let mut dictionaries = Vec::new();
    for (one, other) in ranges[0].iter().zip(ranges[1]) {
        dictionaries.push(merge_dictionaries([&one.texts, &other.texts], interrupt)?);
    }
    let code = |range: usize, dimension: usize, group: usize| {
        dictionaries[dimension].codes[range][ranges[range][dimension].codes[group] as usize]
    };
    let compare_groups = |groups: [usize; 2]| {
        let by_text = (0..dictionaries.len()).map(|at| code(0, at, groups[0]).cmp(&code(1, at, groups[1])));
        by_text.fold(Ordering::Equal, Ordering::then)
    };
    let mut rows = Vec::with_capacity(lens[0].max(lens[1]));
    let mut next = [0, 0];
    // Both ranges are in the order of their texts, and the merged codes have the same order.
    while next[0] < lens[0] || next[1] < lens[1] {
        if rows.len().is_multiple_of(INTERRUPT_CHECK_ITEMS) {
            interrupt.check()?;
        }
        let order = match (next[0] < lens[0], next[1] < lens[1]) {
            (true, true) => compare_groups(next),
            (true, false) => Ordering::Less,
            (false, _) => Ordering::Greater,
        };
        let mut take = |range: usize, is_next: bool| {
            if !is_next {
                return ABSENT;
            }
            next[range] += 1;
            u32::try_from(next[range] - 1).unwrap_or(ABSENT)
        };
        rows.push(JoinedRow([take(0, order.is_le()), take(1, order.is_ge())]));
    }
    let mut dimensions = Vec::new();
    for (at, dictionary) in dictionaries.iter().enumerate() {
        let of_row = |row: JoinedRow| {
            row.group(1).map_or_else(|| row.group(0).map_or(0, |group| code(0, at, group)), |group| code(1, at, group))
        };
        let codes = map_interruptible(&rows, interrupt, of_row)?;
        dimensions.push(GroupTexts { codes, texts: dictionary.texts.clone() });
    }
    Ok((rows, dimensions))
}

/// The texts of two sorted dictionaries, in one.
struct MergedDictionary {
    texts: Arc<StringList>,
    /// By dictionary and code there, the code in `texts`.
    codes: [Vec<u32>; 2],
}

fn merge_dictionaries(lists: [&StringList; 2], interrupt: &Interrupt) -> Result<MergedDictionary, Interruption> {
    let mut texts = StringList::with_capacity(lists[0].len().max(lists[1].len()), lists[0].text_bytes());
    let mut codes = lists.map(|list| Vec::with_capacity(list.len()));
    loop {
        if texts.len().is_multiple_of(INTERRUPT_CHECK_ITEMS) {
            interrupt.check()?;
        }
        let next = [0, 1].map(|list| lists[list].get(codes[list].len()));
        let text = match next {
            [Some(one), Some(other)] => one.min(other),
            [Some(text), None] | [None, Some(text)] => text,
            [None, None] => return Ok(MergedDictionary { texts: Arc::new(texts), codes }),
        };
        let code = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        codes.iter_mut().zip(next).filter(|(_, next)| *next == Some(text)).for_each(|(codes, _)| codes.push(code));
        texts.push(text);
    }
}

impl JoinedRow {
    /// Returns the group of a range; `None` if the range does not have the group.
    pub(super) fn group(self, range: usize) -> Option<usize> {
        (self.0[range] != ABSENT).then_some(self.0[range] as usize)
    }
}
