//! Executes a comparison: aggregates both ranges, one after the other, and joins their groups; or joins what splits
//! have aggregated.

use super::{Execution, RunStatistics, aggregate_range};
use crate::aggregate::PartialResult;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::finish::{RangeGroups, ResultTable, bytes_to_compare, compare};
use crate::memory::MemoryLease;
use crate::plan::Plan;
use std::time::Instant;

/// The groups of one range, and their memory.
type SharedGroups = (RangeGroups, MemoryLease);

/// Executes `plan` and the plan of the earlier range in the current thread pool. The second plan finds the columns that
/// the first one has read in the cache of columns. The statistics are the sums over both ranges.
pub(super) fn execute(
    dataset: &Dataset,
    plan: &Plan,
    earlier: &Plan,
    execution: &Execution,
) -> Result<(ResultTable, RunStatistics), Error> {
    let mut statistics = RunStatistics::default();
    let mut aggregated = |plan| {
        let (partial, share, of_range) = aggregate_range(dataset, plan, execution)?;
        statistics.row_groups += of_range.row_groups;
        statistics.rows += of_range.rows;
        statistics.kept_rows += of_range.kept_rows;
        statistics.groups += of_range.groups;
        statistics.aggregation += of_range.aggregation;
        statistics.merging += of_range.merging;
        let start = Instant::now();
        let groups = groups(plan, partial, share, execution)?;
        statistics.finishing += start.elapsed();
        Ok::<_, Error>(groups)
    };
    // The range that is asked for comes first, so that its errors are reported first.
    let current = aggregated(plan)?;
    let previous = aggregated(earlier)?;
    let start = Instant::now();
    let table = joined(plan, previous, current, execution)?;
    statistics.result_rows = table.len();
    statistics.finishing += start.elapsed();
    Ok((table, statistics))
}

/// Turns the merged results of `plan` and of the plan of the earlier range into the answer.
pub(super) fn finish(
    plan: &Plan,
    earlier: &Plan,
    (current, current_share): (PartialResult, MemoryLease),
    (previous, previous_share): (PartialResult, MemoryLease),
    execution: &Execution,
) -> Result<ResultTable, Error> {
    let current = groups(plan, current, current_share, execution)?;
    let previous = groups(earlier, previous, previous_share, execution)?;
    joined(plan, previous, current, execution)
}

/// Returns the groups of one range.
fn groups(
    plan: &Plan,
    partial: PartialResult,
    mut share: MemoryLease,
    execution: &Execution,
) -> Result<SharedGroups, Error> {
    execution.interrupt.check()?;
    share.set(|| partial.bytes() + RangeGroups::estimate_bytes(plan, &partial))?;
    let groups = RangeGroups::new(plan, partial, execution.max_rows, &execution.interrupt)?;
    share.set(|| groups.bytes())?;
    Ok((groups, share))
}

/// Joins the groups of both ranges.
fn joined(
    plan: &Plan,
    (previous, previous_share): SharedGroups,
    (current, current_share): SharedGroups,
    execution: &Execution,
) -> Result<ResultTable, Error> {
    execution.interrupt.check()?;
    let ranges = [previous, current];
    let mut share = MemoryLease::new(execution.memory.clone());
    share.set(|| bytes_to_compare(plan, &ranges))?;
    let table = compare(plan, ranges, execution.max_rows, &execution.interrupt)?;
    drop([current_share, previous_share]);
    Ok(table.counted(share)?)
}
