//! Answers from results of earlier queries, and keeps results for later ones.
//!
//! A result is the merged partial result of a range, and covers certain rows of certain row groups. A query over the
//! same rows takes it as it is. After an update, a query subtracts what superseded rows have added, and adds row groups
//! that are new. Both are exact: customers are superseded whole, what a customer adds depends on no other customer, and
//! a sum of integers loses what is subtracted from it. What is no sum of integers is computed again: distinct agents
//! from all events, and spend from all spend, because the sums of a group may be 0 although it has rows of spend.

use super::row_groups::{RowGroupSet, SelectedRowGroups};
use super::{CheckedResult, Execution, aggregate_checked, needed_last_event, query_context};
use crate::aggregate::{AggregationMemo, EventAggregator, GroupState, PartialResult, ResultShape};
use crate::dataset::{Dataset, ResultCache, ResultKey, ResultOrigin, RowGroupRows, SupersededRows};
use crate::error::Error;
use crate::finish;
use crate::memory::MemoryLease;
use crate::plan::Plan;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// If more than one in this many rows of events would have to be read, all are: a kept result is copied before it is
/// updated, and its groups are found again.
const ROWS_PER_CHANGED: u64 = 3;

/// A file with at most one in this many rows of the events stays readable for the results that cover it, because the
/// next ingests may merge it with others.
const ROWS_PER_YOUNG: u64 = 16;

/// The merged partial result of an earlier query.
#[derive(Debug)]
struct KeptResult {
    rows: CoveredRows,
    partial: PartialResult,
}

/// The rows of the row groups that a result covers.
#[derive(Debug, PartialEq)]
struct CoveredRows {
    events: Vec<RowGroupRows>,
    spend: Vec<RowGroupRows>,
}

/// What to read in order to make one result of another.
#[derive(Debug, Default)]
struct Change {
    /// The rows to subtract.
    superseded: Vec<SupersededRows>,
    /// The row groups to add.
    added: RowGroupSet,
    /// Whether all spend is among what is added.
    drops_spend: bool,
}

/// Aggregates row groups, or takes what is kept of an earlier query. Keeps the result. The plan must be one that
/// [counts rows](Plan::counting_rows).
pub(super) fn aggregate(
    dataset: &Dataset,
    plan: &Plan,
    row_groups: &SelectedRowGroups<'_>,
    execution: &Execution,
) -> Result<CheckedResult, Error> {
    let results = dataset.results();
    let key = dataset.result_key(&plan.aggregated, needed_last_event(dataset, plan, execution)?);
    let rows = CoveredRows::new(dataset, row_groups);
    let kept: Option<Arc<KeptResult>> = results.get(&key);
    if let Some(kept) = kept.as_ref().filter(|kept| kept.rows == rows) {
        finish::check_rows(kept.partial.len(), execution.max_rows)?;
        let mut share = MemoryLease::new(execution.memory.clone());
        share.set(|| kept.partial.bytes())?;
        results.count(ResultOrigin::Reused);
        return Ok(CheckedResult { partial: kept.partial.clone(), share, merging: Duration::ZERO });
    }
    let change = kept.and_then(|kept| Some((Change::new(dataset, plan, &kept.rows, row_groups)?, kept)));
    let updated = match change.map(|(change, kept)| change.apply(dataset, plan, &kept.partial, execution)) {
        // A file that no version has any more may be gone.
        Some(Err(Error::Dataset(_))) | None => None,
        Some(updated) => Some(updated?),
    };
    let (result, origin) = match updated {
        Some(updated) => (updated, ResultOrigin::Updated),
        None => {
            let memo = AggregationMemo::new(plan);
            (aggregate_checked(dataset, plan, &memo, row_groups, execution)?, ResultOrigin::Computed)
        }
    };
    results.count(origin);
    keep(results, key, rows, &result);
    Ok(result)
}

/// Keeps a copy of a result, if there is room for it.
fn keep(results: &ResultCache, key: ResultKey, rows: CoveredRows, result: &CheckedResult) {
    let bytes = result.partial.bytes() + rows.bytes();
    if !results.keeps(bytes) {
        return;
    }
    // The copy counts towards the query until it counts as a result.
    if let Ok(_copy) = result.share.more(bytes) {
        results.put(key, Arc::new(KeptResult { rows, partial: result.partial.clone() }), bytes);
    }
}

impl CoveredRows {
    fn new(dataset: &Dataset, row_groups: &SelectedRowGroups<'_>) -> Self {
        let young = dataset.event_rows() / ROWS_PER_YOUNG;
        let left = |at, most_file_rows| Some(row_groups.get(at)?.1.left_rows(most_file_rows));
        let (events, spend) = row_groups.lens();
        Self {
            events: (0..events).filter_map(|at| left(at, young)).collect(),
            spend: (events..events + spend).filter_map(|at| left(at, 0)).collect(),
        }
    }

    /// Returns the number of bytes held.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.events.iter().chain(&self.spend).map(RowGroupRows::bytes).sum::<usize>()
    }
}

/// Returns the rows of row groups, by what every version knows them by.
fn by_row_group(rows: &[RowGroupRows]) -> HashMap<(u64, usize), &RowGroupRows> {
    rows.iter().map(|rows| (rows.row_group(), rows)).collect()
}

impl Change {
    /// Returns what leads from a result over `kept` to one over the row groups; `None` if these are to be read.
    fn new(dataset: &Dataset, plan: &Plan, kept: &CoveredRows, row_groups: &SelectedRowGroups<'_>) -> Option<Self> {
        let (events, spend) = (by_row_group(&kept.events), by_row_group(&kept.spend));
        let mut vanished = events.clone();
        let mut change = Self::default();
        // A row group that the query does not read has no rows that matter, except for superseded ones.
        for row_group in dataset.events() {
            if let Some(before) = vanished.remove(&row_group.id()) {
                change.superseded.extend(row_group.superseded_since(before)?);
            }
        }
        for before in vanished.values() {
            change.superseded.push(before.vanished()?);
        }
        if !change.superseded.is_empty() && !GroupState::is_subtractable(&plan.layout) {
            return None;
        }
        let is_left = |now: &RowGroupRows| spend.get(&now.row_group()).is_some_and(|before| *before == now);
        let left = dataset.spend().iter().map(|row_group| row_group.left_rows(0)).filter(is_left).count();
        change.drops_spend = left < spend.len();
        let (selected_events, _) = row_groups.lens();
        let (mut changed, mut all) = (change.superseded.iter().map(SupersededRows::count).sum::<u64>(), 0);
        for at in 0..row_groups.len() {
            let (number, row_group) = row_groups.get(at)?;
            let id = row_group.id();
            let is_kept = if at < selected_events {
                let is_kept = events.contains_key(&id);
                all += row_group.rows();
                changed += if is_kept { 0 } else { row_group.rows() };
                is_kept
            } else {
                !change.drops_spend && spend.contains_key(&id)
            };
            if !is_kept {
                change.added.push(number);
            }
        }
        (changed.saturating_mul(ROWS_PER_CHANGED) <= all).then_some(change)
    }

    /// Makes the result of another one.
    fn apply(
        self,
        dataset: &Dataset,
        plan: &Plan,
        kept: &PartialResult,
        execution: &Execution,
    ) -> Result<CheckedResult, Error> {
        let (shape, memo, interrupt) = (ResultShape::new(plan), AggregationMemo::new(plan), &execution.interrupt);
        let (superseded, superseded_share) = aggregate_superseded(dataset, plan, &memo, &self.superseded, execution)?;
        let added = SelectedRowGroups::of_set(dataset, &self.added);
        let CheckedResult { partial: added, share: added_share, merging } =
            aggregate_checked(dataset, plan, &memo, &added, execution)?;
        let start = Instant::now();
        let mut share = MemoryLease::new(execution.memory.clone());
        // While groups are dropped, the old and the new tables are held at the same time.
        share.set(|| kept.bytes_while_growing())?;
        let mut partial = kept.clone();
        partial.subtract(superseded, interrupt)?;
        drop(superseded_share);
        let mut partial = partial.without_empty(&shape, self.drops_spend, interrupt)?;
        share.set(|| partial.bytes_while_growing().max(added.bytes_while_growing()))?;
        partial.merge(added, interrupt)?;
        drop(added_share);
        share.set(|| partial.bytes())?;
        finish::check_rows(partial.len(), execution.max_rows)?;
        Ok(CheckedResult { partial, share, merging: merging + start.elapsed() })
    }
}

/// A partial result, and its memory.
type SharedResult = (PartialResult, MemoryLease);

/// Aggregates rows that are superseded, in the current thread pool. Their groups may be more than those of the answer,
/// so that no limit applies.
fn aggregate_superseded(
    dataset: &Dataset,
    plan: &Plan,
    memo: &AggregationMemo,
    superseded: &[SupersededRows],
    execution: &Execution,
) -> Result<SharedResult, Error> {
    let interrupt = &execution.interrupt;
    let context = query_context(dataset, plan, memo, execution)?;
    let next = AtomicUsize::new(0);
    let work = |_| {
        let mut aggregator = EventAggregator::new(&context, memo);
        let mut share = MemoryLease::new(execution.memory.clone());
        while let Some(rows) = superseded.get(next.fetch_add(1, Ordering::Relaxed)) {
            interrupt.check()?;
            aggregator.add(&rows.read(&plan.projection, interrupt)?, &mut share, interrupt)?;
            share.set(|| aggregator.bytes())?;
        }
        Ok::<SharedResult, Error>((aggregator.into_partial(), share))
    };
    let merge =
        |(mut one, mut share): SharedResult, (other, others_share): SharedResult| -> Result<SharedResult, Error> {
            share.set(|| one.bytes_while_growing().max(other.bytes_while_growing()))?;
            one.merge(other, interrupt)?;
            drop(others_share);
            share.set(|| one.bytes())?;
            Ok((one, share))
        };
    let threads = rayon::current_num_threads().min(superseded.len()).max(1);
    let merged = (0..threads).into_par_iter().with_max_len(1).map(work).try_reduce_with(merge);
    merged.unwrap_or_else(|| work(0))
}
