//! The row groups that a query reads, and sets of row groups by number.

use crate::Interrupt;
use crate::dataset::{Dataset, DatasetError, Pruning, RowGroup, RowGroupRows, StartedReads, TableFile};
use crate::plan::Plan;
use crate::scan::{EventColumns, SpendColumns};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A set of row groups of a dataset by number: those of events in the order of the manifest, then those of spend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Range<u32>>", into = "Vec<Range<u32>>")]
pub(super) struct RowGroupSet {
    /// Ascending; neither empty nor adjacent.
    ranges: Vec<Range<u32>>,
}

impl RowGroupSet {
    /// Adds a number that is larger than all in the set.
    pub(super) fn push(&mut self, number: u32) {
        match self.ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => self.ranges.push(number..number + 1),
        }
    }

    /// Returns the numbers in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// Returns the number of row groups.
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|range| range.len()).sum()
    }

    /// Returns the numbers of both sets, or a number that both have.
    pub(super) fn union(&self, other: &Self) -> Result<Self, u32> {
        let mut all: Vec<Range<u32>> = self.ranges.iter().chain(&other.ranges).cloned().collect();
        all.sort_unstable_by_key(|range| range.start);
        let mut ranges: Vec<Range<u32>> = Vec::with_capacity(all.len());
        for range in all {
            match ranges.last_mut() {
                Some(last) if last.end > range.start => return Err(range.start),
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        Ok(Self { ranges })
    }

    /// Returns the numbers of this set that another does not have.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        let mut others = other.ranges.iter().peekable();
        for number in self.iter() {
            while others.next_if(|range| range.end <= number).is_some() {}
            if others.peek().is_none_or(|range| range.start > number) {
                rest.push(number);
            }
        }
        rest
    }
}

impl FromIterator<u32> for RowGroupSet {
    /// Collects ascending numbers.
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.push(number));
        set
    }
}

impl TryFrom<Vec<Range<u32>>> for RowGroupSet {
    type Error = &'static str;

    fn try_from(ranges: Vec<Range<u32>>) -> Result<Self, Self::Error> {
        let is_ascending = ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
        if is_ascending && ranges.iter().all(|range| !range.is_empty()) {
            Ok(Self { ranges })
        } else {
            Err("expected ascending ranges of row groups")
        }
    }
}

impl From<RowGroupSet> for Vec<Range<u32>> {
    fn from(set: RowGroupSet) -> Self {
        set.ranges
    }
}

/// Row groups that a query reads, in order.
#[derive(Debug)]
pub(super) struct SelectedRowGroups<'a> {
    dataset: &'a Dataset,
    /// Ascending.
    numbers: Vec<u32>,
}

/// A row group of either table.
#[derive(Debug)]
pub(super) enum AnyRowGroup<'a> {
    Events(&'a RowGroup<EventColumns>),
    Spend(&'a RowGroup<SpendColumns>),
}

impl<'a> SelectedRowGroups<'a> {
    /// Selects the row groups that a plan reads: if `pruning` is false, all row groups of the tables that it needs.
    pub(super) fn new(dataset: &'a Dataset, plan: &Plan, pruning: bool) -> Self {
        let spend = if plan.needs_spend() { dataset.spend() } else { &[] };
        let keeps = dataset.events().iter().map(|row_group| is_kept(row_group, plan, pruning));
        let keeps = keeps.chain(spend.iter().map(|row_group| is_kept(row_group, plan, pruning)));
        let numbers = (0..).zip(keeps).filter_map(|(number, keep)| keep.then_some(number));
        Self { dataset, numbers: numbers.collect() }
    }

    /// Selects the row groups of a set; the dataset has all of them.
    pub(super) fn of_set(dataset: &'a Dataset, set: &RowGroupSet) -> Self {
        Self { dataset, numbers: set.iter().collect() }
    }

    /// Keeps only the row groups that a plan reads. A query may read others for its other ranges, or for spend that its
    /// totals do not need.
    pub(super) fn read_by(mut self, plan: &Plan) -> Self {
        let (dataset, events) = (self.dataset, self.dataset.events());
        self.numbers.retain(|number| match events.get(*number as usize) {
            Some(row_group) => is_kept(row_group, plan, true),
            None => plan.needs_spend() && is_kept(&dataset.spend()[*number as usize - events.len()], plan, true),
        });
        self
    }

    /// Returns the number of row groups.
    pub(super) const fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of the row group at a place, and the row group; `None` beyond the last place.
    pub(super) fn get(&self, at: usize) -> Option<(u32, AnyRowGroup<'a>)> {
        self.numbers.get(at).map(|number| (*number, self.row_group(*number)))
    }

    fn row_group(&self, number: u32) -> AnyRowGroup<'a> {
        let (number, events) = (number as usize, self.dataset.events());
        match events.get(number) {
            Some(row_group) => AnyRowGroup::Events(row_group),
            None => AnyRowGroup::Spend(&self.dataset.spend()[number - events.len()]),
        }
    }

    fn iter(&self) -> impl Iterator<Item = AnyRowGroup<'a>> + '_ {
        self.numbers.iter().map(|number| self.row_group(*number))
    }

    /// Returns the numbers of the row groups.
    pub(super) fn set(&self) -> RowGroupSet {
        self.numbers.iter().copied().collect()
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.iter().map(|row_group| row_group.rows()).sum()
    }

    /// Returns the number of row groups of events, and that of row groups of spend.
    pub(super) fn lens(&self) -> (usize, usize) {
        let events = self.numbers.partition_point(|number| (*number as usize) < self.dataset.events().len());
        (events, self.numbers.len() - events)
    }

    /// Reads the footers of the files of the row groups, unless they have been read: several at the same time, and not
    /// each when a thread comes to its first row group.
    pub(super) fn read_footers(&self, interrupt: &Interrupt) -> Result<(), DatasetError> {
        TableFile::read_footers(self.iter().filter_map(|row_group| row_group.file()), interrupt)
    }

    /// Returns the number of bytes in files of the columns that the plan reads; 0 for a dataset in memory.
    pub(super) fn stored_bytes(&self, plan: &Plan) -> Result<u64, DatasetError> {
        let bytes = |row_group| match row_group {
            AnyRowGroup::Events(row_group) => row_group.stored_bytes(&plan.projection),
            AnyRowGroup::Spend(row_group) => row_group.stored_bytes(&plan.spend_projection),
        };
        self.iter().map(bytes).sum()
    }
}

impl<'a> AnyRowGroup<'a> {
    /// Returns the number of rows.
    pub(super) const fn rows(&self) -> u64 {
        match self {
            Self::Events(row_group) => row_group.rows(),
            Self::Spend(row_group) => row_group.rows(),
        }
    }

    /// Returns what every version knows the row group by.
    pub(super) fn id(&self) -> (u64, usize) {
        match self {
            Self::Events(row_group) => row_group.id(),
            Self::Spend(row_group) => row_group.id(),
        }
    }

    /// Returns the rows that the version has left; see [`RowGroup::left_rows`].
    pub(super) fn left_rows(&self, most_file_rows: u64) -> RowGroupRows {
        match self {
            Self::Events(row_group) => row_group.left_rows(most_file_rows),
            Self::Spend(row_group) => row_group.left_rows(most_file_rows),
        }
    }

    /// Returns the file of the row group; `None` in memory.
    fn file(&self) -> Option<&'a TableFile> {
        match self {
            Self::Events(row_group) => row_group.file(),
            Self::Spend(row_group) => row_group.file(),
        }
    }

    /// Returns whether the row group is in an object store.
    pub(super) fn is_remote(&self) -> bool {
        match self {
            Self::Events(row_group) => row_group.is_remote(),
            Self::Spend(row_group) => row_group.is_remote(),
        }
    }

    /// Starts to read the columns that a plan needs, if they are in an object store and not held.
    pub(super) fn read_ahead(&self, plan: &Plan) -> StartedReads {
        match self {
            Self::Events(row_group) => row_group.read_ahead(&plan.projection),
            Self::Spend(row_group) => row_group.read_ahead(&plan.spend_projection),
        }
    }
}

fn is_kept<T>(row_group: &RowGroup<T>, plan: &Plan, pruning: bool) -> bool {
    !pruning || row_group.entry.prune(plan.range, &plan.accounts) == Pruning::Keep
}
