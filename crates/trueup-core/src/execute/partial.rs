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
use super::{Execution, aggregate_in_pool, finish_checked, in_pool};
use crate::Interrupt;
use crate::aggregate::{AggregationMemo, ResultShape};
use crate::dataset::{Dataset, DatasetId};
use crate::error::Error;
use crate::finish::ResultTable;
use crate::memory::Share;
use crate::plan::Plan;
use crate::query::EventsQuery;
use serde::{Deserialize, Serialize};
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
/// [`to_bytes`](Self::to_bytes) and [`from_bytes`](Self::from_bytes) carry it from process to process; `docs/splits.md`
/// describes the form.
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
    rows: PlanPartial,
    /// The partial result of the plan of the totals, if the query asks for totals.
    totals: Option<PlanPartial>,
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

/// The partial result of one plan: that of the rows of the answer, or that of its totals.
#[derive(Debug)]
struct PlanPartial {
    shape: ResultShape,
    covered: CoveredResult,
}

impl PartialKey {
    fn new(dataset: &Dataset, query: &EventsQuery) -> Self {
        Self { dataset: dataset.id().clone(), query: query.fingerprint(), semantics: SEMANTICS_VERSION }
    }

    /// Checks that another key is the same.
    fn check(&self, other: &Self) -> Result<(), PartialError> {
        if other.semantics != self.semantics {
            return Err(PartialError::OtherSemantics { expected: self.semantics, found: other.semantics });
        }
        if other.dataset != self.dataset {
            let (expected, found) = (self.dataset.to_string(), other.dataset.to_string());
            return Err(PartialError::OtherDataset { expected, found });
        }
        if other.query == self.query { Ok(()) } else { Err(PartialError::OtherQuery) }
    }
}

impl PlanPartial {
    /// Aggregates the row groups of a split that a plan reads.
    fn run(
        dataset: &Dataset,
        plan: &Plan,
        memo: &AggregationMemo,
        split: &Split,
        execution: &Execution,
    ) -> Result<Self, Error> {
        let row_groups = SelectedRowGroups::of_set(dataset, plan, split.row_groups());
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

    fn finish(
        self,
        plan: &Plan,
        row_groups: &SelectedRowGroups<'_>,
        execution: &Execution,
    ) -> Result<ResultTable, Error> {
        if self.shape != ResultShape::new(plan) {
            return Err(PartialError::OtherQuery.into());
        }
        let result = self.covered.checked(row_groups)?;
        finish_checked(plan, result, Share::new(execution.memory.clone()), execution)
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
        Ok(Split::divide(&planned.key, &planned.selected(self, &planned.plan), splits))
    }

    /// Returns the plan of a query, after a check that the split is one of the query and of this dataset.
    pub(super) fn plan_of_split(&self, query: &EventsQuery, split: &Split) -> Result<Arc<PlannedQuery>, Error> {
        let planned = PlannedQuery::of(self, query)?;
        planned.check(split)?;
        Ok(planned)
    }

    /// Aggregates the row groups of a split. The dataset must be the one that planned it, opened in any process. The
    /// reservation of `execution` no longer counts the partial result once it is returned.
    ///
    /// # Errors
    /// The split is of another query, dataset or version, or of a program that defines metrics differently; and as
    /// [`run`](Self::run).
    pub fn run_split(&self, query: &EventsQuery, split: &Split, execution: &Execution) -> Result<Partial, Error> {
        let planned = self.plan_of_split(query, split)?;
        let run = |plan, memo| PlanPartial::run(self, plan, memo, split, execution);
        in_pool(execution, || {
            let rows = run(&planned.plan, &planned.memo)?;
            let totals = planned.plan.totals.as_deref().zip(planned.totals_memo.as_ref());
            let totals = totals.map(|(plan, memo)| run(plan, memo)).transpose()?;
            Ok(Partial { key: planned.key.clone(), rows, totals })
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
        self.rows.merge(other.rows)?;
        match (&mut self.totals, other.totals) {
            (Some(totals), Some(other)) => totals.merge(other)?,
            (None, None) => {}
            _ => return Err(PartialError::OtherQuery.into()),
        }
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
        planned.key.check(&self.key)?;
        let finish = |partial: PlanPartial, plan| partial.finish(plan, &planned.selected(dataset, plan), execution);
        let mut table = finish(self.rows, &planned.plan)?;
        match (&planned.plan.totals, self.totals) {
            (Some(plan), Some(totals)) => table.set_totals(finish(totals, plan)?, plan.range),
            (None, None) => {}
            _ => return Err(PartialError::OtherQuery.into()),
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
        self.rows.covered.control.row_groups.len()
    }

    /// Returns the number of rows in the covered row groups.
    #[must_use]
    pub const fn rows_read(&self) -> u64 {
        self.rows.covered.control.rows
    }
}
