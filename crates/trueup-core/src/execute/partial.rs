//! Partial results: what one split of a query gives, how they are merged, and how they become the answer.
//!
//! | file | what it does |
//! |---|---|
//! | `planned` | keeps the plan of a query for all of its splits in this process |
//! | `split` | divides the row groups of a query |
//! | `control` | counts what a partial result covers, and refuses a merge that does not add up |
//! | `wire` | writes a partial result as bytes, and reads it: a header, and groups as Arrow |
//! | `error` | why a split, a partial result or a merge is refused |

mod control;
mod error;
mod planned;
mod split;
mod wire;

pub use error::PartialError;
pub use split::Split;

pub(super) use control::{ControlTotal, CoveredResult};
pub(super) use planned::PlannedQuery;

use super::row_groups::SelectedRowGroups;
use super::{Execution, aggregate_in_pool, comparison, event_reader, finish_checked, in_pool};
use crate::Interrupt;
use crate::aggregate::{AggregationMemo, PartialResult, ResultShape};
use crate::dataset::{Dataset, DatasetId};
use crate::error::Error;
use crate::finish::ResultTable;
use crate::memory::MemoryLease;
use crate::plan::Plan;
use crate::query::EventsQuery;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The version of what metrics mean. Partial results of different versions are never merged.
const SEMANTICS_VERSION: u32 = 1;

/// What one split of a query gives: groups with their counts and sums, all integers, and a control total of what they
/// cover. Partial results of all splits of a query, merged in any order, give the answer of
/// [`Dataset::query`](crate::Dataset::query) to the byte.
///
/// # Exactly once
/// A partial result knows its dataset and version, its query, the row groups that it covers, their number of rows, and
/// the sum of each of its measures. [`merge`](Self::merge) refuses a row group that both sides cover, and
/// [`finish`](Self::finish) refuses a result that does not cover every row group of the query, or whose groups do not
/// add up. A partial result that is lost, repeated, altered or of another version is an error, and never a number.
///
/// # Bytes
/// [`to_bytes`](Self::to_bytes) and [`from_bytes`](Self::from_bytes) carry a partial result from process to process;
/// `docs/splits.md` describes the bytes.
///
/// ```
/// use std::num::NonZeroUsize;
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::query::EventsQuery;
/// use trueup_core::{Execution, Partial};
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// let mut merged: Option<Partial> = None;
/// for split in dataset.plan_splits(&query, NonZeroUsize::MIN)? {
///     let partial = dataset.run_split(&query, &split, &Execution::default())?;
///     let received = Partial::from_bytes(&partial.to_bytes()?)?;
///     merged = Some(match merged {
///         None => received,
///         Some(before) => before.merge(received)?,
///     });
/// }
/// let merged = merged.ok_or("no split")?;
/// let table = merged.finish(&dataset, &query, &Execution::default())?;
/// assert_eq!(table.value(0, "leads"), Some(trueup_core::Value::Count(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Partial {
    key: PartialKey,
    /// The number of rows in the row groups that any range covers.
    rows: u64,
    /// The partial results of the [ranges](Plan::ranges) of the query.
    ranges: Vec<RangePartial>,
}

/// What partial results must have in common to be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartialKey {
    dataset: DatasetId,
    /// The fingerprint of the query.
    query: String,
    /// The version of what metrics mean.
    semantics: u32,
}

/// The partial result of one range: that of the rows of the answer, that of its totals, or the earlier range that
/// either is compared with.
#[derive(Debug)]
struct RangePartial {
    shape: ResultShape,
    covered: CoveredResult,
}

impl PartialKey {
    fn new(dataset: &Dataset, query: &EventsQuery) -> Self {
        Self { dataset: dataset.id().clone(), query: query.fingerprint(), semantics: SEMANTICS_VERSION }
    }

    /// Checks that both keys have the semantics of this program, and that they are the same.
    fn check(&self, other: &Self) -> Result<(), PartialError> {
        let expected = SEMANTICS_VERSION;
        if let Some(found) = [self.semantics, other.semantics].into_iter().find(|found| *found != expected) {
            return Err(PartialError::OtherSemantics { expected, found });
        }
        if other.dataset != self.dataset {
            let (expected, found) = (self.dataset.to_string(), other.dataset.to_string());
            return Err(PartialError::OtherDataset { expected, found });
        }
        if other.query == self.query { Ok(()) } else { Err(PartialError::OtherQuery) }
    }
}

impl RangePartial {
    /// Aggregates the row groups of a split that the plan of a range reads.
    fn run(
        dataset: &Dataset,
        plan: &Plan,
        memo: &AggregationMemo,
        split: &Split,
        execution: &Execution,
    ) -> Result<Self, Error> {
        let row_groups = SelectedRowGroups::of_set(dataset, split.row_groups()).read_by(plan);
        let mut covered = aggregate_in_pool(dataset, plan, memo, &row_groups, execution)?.covered;
        covered.add_up();
        Ok(Self { shape: ResultShape::new(plan), covered })
    }

    fn merge(&mut self, other: Self) -> Result<(), Error> {
        if self.shape != other.shape {
            return Err(PartialError::OtherQuery.into());
        }
        self.covered.merge(other.covered, &Interrupt::default())
    }

    /// Returns the merged result of all row groups that the plan of the range reads.
    fn checked(self, plan: &Plan, row_groups: SelectedRowGroups<'_>) -> Result<PartialResult, PartialError> {
        if self.shape != ResultShape::new(plan) {
            return Err(PartialError::OtherQuery);
        }
        self.covered.checked(&row_groups.read_by(plan))
    }
}

impl Dataset {
    /// Divides a query into at most `splits` splits of about equal numbers of rows. There is at least one, and none is
    /// empty unless the query reads nothing.
    ///
    /// # Errors
    /// The query has a fault.
    pub fn plan_splits(&self, query: &EventsQuery, splits: NonZeroUsize) -> Result<Vec<Split>, Error> {
        let planned = PlannedQuery::of(self, query)?;
        // A reader of events adds nothing up. Whatever else is asked is checked again before it is answered.
        if event_reader::check(query, &planned.plan).is_err() {
            self.check_currencies(query)?;
        }
        Ok(Split::divide(&planned.key, &planned.selected(self), splits))
    }

    /// Returns the plan of a query, after a check that the split is one of the query and of this dataset.
    pub(super) fn plan_of_split(&self, query: &EventsQuery, split: &Split) -> Result<Arc<PlannedQuery>, Error> {
        let planned = PlannedQuery::of(self, query)?;
        planned.check(split)?;
        Ok(planned)
    }

    /// Aggregates the row groups of a split. The dataset must be the one that planned the split, opened in any process.
    /// The reservation of `execution` no longer counts the partial result once it is returned. Whether `execution`
    /// prunes does not matter, because [`plan_splits`](Self::plan_splits) has always pruned.
    ///
    /// # Errors
    /// The split is of another query, dataset or version, or of a program that defines metrics differently; and as
    /// [`run`](Self::run).
    pub fn run_split(&self, query: &EventsQuery, split: &Split, execution: &Execution) -> Result<Partial, Error> {
        let planned = self.plan_of_split(query, split)?;
        in_pool(execution, || {
            let ranges = planned.plan.ranges().zip(&planned.memos);
            let ranges = ranges.map(|(plan, memo)| RangePartial::run(self, plan, memo, split, execution));
            let rows = SelectedRowGroups::of_set(self, split.row_groups()).rows();
            Ok(Partial { key: planned.key.clone(), rows, ranges: ranges.collect::<Result<_, _>>()? })
        })
    }
}

impl Partial {
    /// Adds the partial result of other splits of the same query.
    ///
    /// # Errors
    /// The other one is of another query, dataset or version, or of a program that defines metrics differently, or both
    /// cover the same row group.
    pub fn merge(mut self, other: Self) -> Result<Self, Error> {
        self.key.check(&other.key)?;
        if self.ranges.len() != other.ranges.len() {
            return Err(PartialError::OtherQuery.into());
        }
        self.ranges.iter_mut().zip(other.ranges).try_for_each(|(range, other)| range.merge(other))?;
        self.rows = self.rows.saturating_add(other.rows);
        Ok(self)
    }

    /// Turns the merged partial results of all splits into the answer. The dataset must be the one that planned the
    /// splits; no row group is read.
    ///
    /// # Errors
    /// The result is of another query, dataset or version, or of a program that defines metrics differently, does not
    /// cover every row group that the query reads exactly once, or does not add up to its control total; and as
    /// [`Dataset::run`](crate::Dataset::run).
    pub fn finish(self, dataset: &Dataset, query: &EventsQuery, execution: &Execution) -> Result<ResultTable, Error> {
        let planned = PlannedQuery::take(dataset, query)?;
        dataset.check_currencies(query)?;
        planned.key.check(&self.key)?;
        if self.ranges.len() != planned.plan.ranges().count() {
            return Err(PartialError::OtherQuery.into());
        }
        let checked = planned.plan.ranges().zip(self.ranges);
        let checked = checked.map(|(plan, range)| range.checked(plan, planned.selected(dataset)));
        let mut checked = checked.collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut finish = |plan: &Plan| {
            let mut next = || Some((checked.next()?, MemoryLease::new(execution.memory.clone())));
            match (&plan.comparison, next(), plan.comparison.as_ref().and_then(|_| next())) {
                (None, Some((result, share)), None) => finish_checked(plan, result, share, execution),
                (Some(comparison), Some(current), Some(earlier)) => {
                    comparison::finish(plan, &comparison.earlier, current, earlier, execution)
                }
                _ => Err(PartialError::OtherQuery.into()),
            }
        };
        let mut table = finish(&planned.plan)?;
        if let Some(plan) = &planned.plan.totals {
            table.set_totals(finish(plan)?, plan.range);
        }
        Ok(table)
    }

    /// Returns the version of the dataset; 0 for a dataset in memory.
    #[must_use]
    pub const fn dataset_version(&self) -> u64 {
        self.key.dataset.version
    }

    /// Returns the number of row groups that are covered.
    #[must_use]
    pub fn row_groups(&self) -> usize {
        let covered = self.ranges.iter().flat_map(|range| range.covered.control.row_groups.iter());
        covered.collect::<BTreeSet<u32>>().len()
    }

    /// Returns the number of rows in the covered row groups.
    #[must_use]
    pub const fn rows_read(&self) -> u64 {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Tables;

    #[test]
    fn results_of_other_semantics_are_refused_whichever_comes_first() {
        let dataset = Dataset::from_tables(&Tables::default()).unwrap();
        let id = dataset.id();
        let key = |semantics| PartialKey { dataset: id.clone(), query: String::new(), semantics };
        let (ours, other) = (key(SEMANTICS_VERSION), key(SEMANTICS_VERSION + 1));
        ours.check(&ours).unwrap();
        for (one, another) in [(&ours, &other), (&other, &ours), (&other, &other)] {
            let error = one.check(another).unwrap_err();
            let (expected, found) = (SEMANTICS_VERSION, SEMANTICS_VERSION + 1);
            assert!(
                matches!(error, PartialError::OtherSemantics { expected: e, found: f } if (e, f) == (expected, found)),
                "{error}"
            );
        }
    }
}
