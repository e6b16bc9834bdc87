//! Executes a query: plan, prune, read and aggregate in parallel, merge, finish.
//!
//! | file | what it does |
//! |---|---|
//! | `row_groups` | selects the row groups to read |
//! | `partial` | splits a query, merges the partial results of its splits, and checks that they cover it |
//! | `comparison` | executes the plans of both ranges of a comparison, and joins the groups of both |
//! | `kept_results` | answers from results of earlier queries, and keeps results for later ones |
//! | `last_event` | finds the last day of the events, which decides whether the windows of a cohort are over |
//! | `currencies` | refuses queries that would add up amounts of different currencies |
//! | `event_reader` | reads the events that a query aggregates, with their computed fields |
//! | `why` | explains one row of an answer: the events and the spend behind its numbers |
//! | `explain` | describes a plan and what its execution took |
//! | `empty_range` | finds the ranges of a query in which the dataset has nothing, and the days of accounts |
//! | `columns_of` | finds the columns in which accounts have values |
//! | `unseen_values` | finds the values in filters that no event and no spend has |

mod columns_of;
mod comparison;
mod currencies;
mod empty_range;
mod event_reader;
mod explain;
mod kept_results;
mod last_event;
mod partial;
mod row_groups;
mod unseen_values;
mod why;

pub use currencies::MixedCurrencies;
pub use empty_range::EmptyRange;
pub use event_reader::EventReader;
pub use explain::{ExplainedDimension, ExplainedRange, Explanation, RowGroupCounts, RunStatistics};
pub use partial::{Partial, PartialError, Split};
pub use unseen_values::{UnseenValue, ValueSearch};
pub use why::{
    ChangeClass, ExplainedMeasure, ExplainedMetric, MeasureChange, MeasureClass, MetricChange, RatioClass, Why,
};

use crate::aggregate::{AggregationMemo, EventAggregator, PartialResult, QueryContext, aggregate_spend};
use crate::dataset::{Dataset, ReadAhead, StartedReads};
use crate::dictionary::Measure;
use crate::error::{Error, QueryError};
use crate::finish::{self, ResultTable};
use crate::memory::MemoryLease;
use crate::plan::Plan;
use crate::query::EventsQuery;
use crate::{Day, Interrupt, Reservation};
use last_event::last_event_day;
use partial::{ControlTotal, CoveredResult};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use row_groups::{AnyRowGroup, RowGroupSet, SelectedRowGroups};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How a query is executed. Options decide whether and how fast a query is answered; none changes a byte of the answer.
///
/// ```
/// use std::time::Duration;
/// use trueup_core::{Execution, Interrupt};
///
/// let interrupt = Interrupt::after(Duration::from_secs(10));
/// let execution = Execution { max_rows: Some(100_000), interrupt, ..Execution::default() };
/// assert!(execution.pruning);
/// ```
#[derive(Clone, Debug)]
pub struct Execution {
    /// The number of threads, which are started for this query; `None` shares the threads of the process.
    pub threads: Option<NonZeroUsize>,
    /// The threads of the embedding program that execute the query, whatever `threads` says; `None` leaves it to
    /// `threads`. One pool may execute many queries at the same time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trueup_core::Execution;
    ///
    /// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let execution = Execution { pool: Some(Arc::new(pool)), ..Execution::default() };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub pool: Option<Arc<ThreadPool>>,
    /// Whether row groups that statistics rule out are left unread.
    pub pruning: bool,
    /// The largest number of rows that the answer may have before conditions on metrics and before the
    /// [limit](EventsQuery::limit) of the query; `None` sets no limit. A query with more rows ends with
    /// [`QueryError::TooManyRows`](crate::QueryError::TooManyRows) as soon as it has found them.
    pub max_rows: Option<usize>,
    /// Ends the query early, at a deadline or when it is canceled; the default never does.
    pub interrupt: Interrupt,
    /// Counts the memory of the query, and that of the answer until the answer is dropped; `None` counts nothing. A
    /// query that does not fit ends with [`Error::NoRoom`](crate::Error::NoRoom).
    pub memory: Option<Arc<Reservation>>,
    /// Receives how far the query is; `None` reports nothing.
    pub progress: Option<QueryProgress>,
    /// Whether the query uses results that are [kept](Dataset::with_result_budget) of earlier queries, and keeps its
    /// own.
    pub reuse: bool,
}

/// A function that receives how far a query is: the number of rows that it has read so far, and the number that it
/// reads in all. It is called after each row group, by the thread that has read the row group, and not at all by a
/// query that uses a kept result over the same rows. A query with totals or a comparison reads rows several times. So
/// does [`why`](Dataset::why): once for the answer (in a comparison, for each range), once for the lines and, for a row
/// without events, sometimes once more to see whether rows with events show its spend. Both numbers then begin again.
#[derive(Clone)]
pub struct QueryProgress(Arc<dyn Fn(u64, u64) + Send + Sync>);

impl QueryProgress {
    /// Calls `report` with the number of rows that were read, and the number of all rows.
    ///
    /// ```
    /// use trueup_core::{Execution, QueryProgress};
    ///
    /// let progress = QueryProgress::new(|rows, total| eprintln!("{rows} of {total} rows"));
    /// let execution = Execution { progress: Some(progress), ..Execution::default() };
    /// ```
    pub fn new(report: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl Execution {
    /// Adds rows that were read to those read so far, and reports them.
    fn report(&self, read_rows: &AtomicU64, rows: u64, total: u64) {
        if let Some(QueryProgress(report)) = &self.progress {
            report(read_rows.fetch_add(rows, Ordering::Relaxed) + rows, total);
        }
    }
}

impl fmt::Debug for QueryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryProgress")
    }
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            threads: None,
            pool: None,
            pruning: true,
            max_rows: None,
            interrupt: Interrupt::default(),
            memory: None,
            progress: None,
            reuse: true,
        }
    }
}

impl Dataset {
    /// Resolves a query.
    pub(crate) fn plan(&self, query: &EventsQuery) -> Result<Plan, QueryError> {
        let _span = tracing::debug_span!("plan").entered();
        let last_day = query.cohort.map_or(Day::MAX, |_| self.last_event_bound());
        Plan::new(&self.own_query(query), self.stored_columns(), self.columns(), last_day)
    }

    /// Answers a query.
    ///
    /// # Errors
    /// The query has a fault, or a file cannot be read.
    ///
    /// ```
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    ///
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// assert_eq!(dataset.query(&query)?.value(0, "leads"), Some(trueup_core::Value::Count(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, query: &EventsQuery) -> Result<ResultTable, Error> {
        self.run(query, Execution::default())
    }

    /// Answers a query, executed as `execution` says.
    ///
    /// # Errors
    /// The query has a fault, a file cannot be read, threads cannot be started, or a limit or the interrupt of
    /// `execution` ends the query.
    pub fn run(&self, query: &EventsQuery, execution: Execution) -> Result<ResultTable, Error> {
        let _span = tracing::debug_span!("query").entered();
        execute(self, &self.plan_answer(query)?, &execution).map(|(table, _)| table)
    }

    /// Checks a query: everything that can be wrong with it before the first row is read, except for
    /// [different currencies](Self::mixed_currencies).
    ///
    /// # Errors
    /// The first fault of the query, as [`run`](Self::run) returns it.
    ///
    /// ```
    /// use trueup_core::QueryError;
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    ///
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-12-31".parse()?);
    /// assert!(matches!(dataset.check(&query), Err(QueryError::SpanTooLong { days: 365, .. })));
    /// assert!(dataset.check(&query.allow_long_total()).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, query: &EventsQuery) -> Result<(), QueryError> {
        self.plan(query).map(drop)
    }

    /// Explains the plan of a query, without executing it. Reads the footers of the files that the query would read.
    ///
    /// # Errors
    /// The query has a fault, or a footer cannot be read.
    pub fn explain(&self, query: &EventsQuery) -> Result<Explanation, Error> {
        let plan = self.plan_answer(query)?;
        Explanation::new(&plan, query, self, true)
    }

    /// Executes a query, and explains its plan and what its execution took. No result of an earlier query is used.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn analyze(&self, query: &EventsQuery, execution: Execution) -> Result<Explanation, Error> {
        let plan = self.plan_answer(query)?;
        let execution = Execution { reuse: false, ..execution };
        let (_, statistics) = execute(self, &plan, &execution)?;
        Ok(Explanation::new(&plan, query, self, execution.pruning)?.with_statistics(statistics))
    }
}

/// Executes a plan on the threads that `execution` asks for.
fn execute(dataset: &Dataset, plan: &Plan, execution: &Execution) -> Result<(ResultTable, RunStatistics), Error> {
    in_pool(execution, || execute_in_pool(dataset, plan, execution))
}

/// Runs a function on the pool of `execution`, on as many new threads as it asks for, or on the threads of the process.
fn in_pool<T: Send>(execution: &Execution, run: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    // The threads of a pool continue the span of the caller.
    let span = tracing::Span::current();
    match (&execution.pool, execution.threads) {
        (Some(pool), _) => pool.install(|| span.in_scope(run)),
        (None, Some(threads)) => {
            let pool = ThreadPoolBuilder::new().num_threads(threads.get()).build();
            pool.map_err(|error| Error::Threads(error.to_string()))?.install(|| span.in_scope(run))
        }
        (None, None) => run(),
    }
}

/// Executes a plan in the current thread pool.
fn execute_in_pool(
    dataset: &Dataset,
    plan: &Plan,
    execution: &Execution,
) -> Result<(ResultTable, RunStatistics), Error> {
    let (mut table, mut statistics) = match &plan.comparison {
        Some(comparison) => comparison::execute(dataset, plan, &comparison.earlier, execution)?,
        None => execute_range(dataset, plan, execution)?,
    };
    let start = Instant::now();
    if let Some(totals) = &plan.totals {
        let (totals, _) = execute_in_pool(dataset, totals, execution)?;
        table.set_totals(totals, plan.range);
    }
    statistics.totals = start.elapsed();
    Ok((table, statistics))
}

/// Executes a plan without its totals and its comparison.
fn execute_range(dataset: &Dataset, plan: &Plan, execution: &Execution) -> Result<(ResultTable, RunStatistics), Error> {
    let (partial, share, mut statistics) = aggregate_range(dataset, plan, execution)?;
    let start = Instant::now();
    let table = finish_checked(plan, partial, share, execution)?;
    statistics.result_rows = table.len();
    statistics.finishing = start.elapsed();
    Ok((table, statistics))
}

/// Aggregates all row groups that a plan reads. Returns their checked result, its memory, and what the work took.
fn aggregate_range(
    dataset: &Dataset,
    plan: &Plan,
    execution: &Execution,
) -> Result<(PartialResult, MemoryLease, RunStatistics), Error> {
    let start = Instant::now();
    let row_groups = SelectedRowGroups::new(dataset, plan, execution.pruning);
    let CheckedResult { partial, share, merging } = if execution.reuse && dataset.results().is_on() {
        kept_results::aggregate(dataset, &plan.counting_rows(), &row_groups, execution)?
    } else {
        aggregate_checked(dataset, plan, &AggregationMemo::new(plan), &row_groups, execution)?
    };
    let statistics = RunStatistics {
        row_groups: row_groups.len(),
        rows: row_groups.rows(),
        kept_rows: partial.rows,
        groups: partial.len(),
        aggregation: start.elapsed(),
        merging,
        ..RunStatistics::default()
    };
    Ok((partial, share, statistics))
}

/// The partial result of a plan over all rows that it was to be aggregated from.
struct CheckedResult {
    partial: PartialResult,
    /// The memory of the partial result, counted towards the query's reservation.
    share: MemoryLease,
    /// The time that merging took: the sum over all merges.
    merging: Duration,
}

/// Aggregates row groups in the current thread pool, and checks that all of them were read.
fn aggregate_checked(
    dataset: &Dataset,
    plan: &Plan,
    memo: &AggregationMemo,
    row_groups: &SelectedRowGroups<'_>,
    execution: &Execution,
) -> Result<CheckedResult, Error> {
    let WorkerResult { covered, share, merging } = aggregate_in_pool(dataset, plan, memo, row_groups, execution)?;
    Ok(CheckedResult { partial: covered.checked(row_groups)?, share, merging })
}

/// The partial result of one thread, or of several whose results were merged.
struct WorkerResult {
    covered: CoveredResult,
    /// The memory of the partial result, counted towards the query's reservation.
    share: MemoryLease,
    /// The time that merging took: the sum over all merges.
    merging: Duration,
}

impl WorkerResult {
    /// Returns the result of a thread that has read row groups with `rows` rows.
    fn new(result: PartialResult, row_groups: RowGroupSet, rows: u64, share: MemoryLease) -> Self {
        let control = ControlTotal::new(row_groups, rows);
        Self { covered: CoveredResult { result, control }, share, merging: Duration::ZERO }
    }
}

/// Returns what all row groups of a query share.
fn query_context<'a>(
    dataset: &'a Dataset,
    plan: &'a Plan,
    memo: &'a AggregationMemo,
    execution: &Execution,
) -> Result<QueryContext<'a>, Error> {
    let last_event = needed_last_event(dataset, plan, execution)?;
    Ok(QueryContext::new(plan, dataset.accounts(), &memo.increments, last_event))
}

/// Returns the last day of the events of the accounts of a plan, if it depends on that day and they have events.
fn needed_last_event(dataset: &Dataset, plan: &Plan, execution: &Execution) -> Result<Option<Day>, Error> {
    if !plan.layout.has(Measure::OpenLeads) {
        return Ok(None);
    }
    last_event_day(dataset, &plan.accounts, &execution.interrupt)
}

/// Aggregates row groups in the current thread pool, and merges what its threads have aggregated.
fn aggregate_in_pool(
    dataset: &Dataset,
    plan: &Plan,
    memo: &AggregationMemo,
    row_groups: &SelectedRowGroups<'_>,
    execution: &Execution,
) -> Result<WorkerResult, Error> {
    let _span = tracing::debug_span!("scan", row_groups = row_groups.len(), rows = row_groups.rows()).entered();
    row_groups.read_footers(&execution.interrupt)?;
    let context = query_context(dataset, plan, memo, execution)?;
    let next = NextRowGroup { rows: row_groups.rows(), ..NextRowGroup::default() };
    let is_remote = row_groups.get(0).is_some_and(|(_, row_group)| row_group.is_remote());
    let ahead = ReadAhead::new(is_remote, |at| row_groups.get(at).map(|(_, row_group)| row_group.read_ahead(plan)));
    let aggregate = || {
        let aggregator = EventAggregator::new(&context, memo);
        aggregate(&context, aggregator, execution, row_groups, &next, &ahead)
    };
    let work = |_| {
        // If one thread fails, the others need not read any more row groups.
        let stop = |_: &Error| next.taken.store(row_groups.len(), Ordering::Relaxed);
        aggregate().inspect_err(stop)
    };
    let threads = rayon::current_num_threads().min(row_groups.len()).max(1);
    let workers = (0..threads).into_par_iter().with_max_len(1);
    let merged = workers.map(work).try_reduce_with(|one, other| merge(one, other, execution));
    merged.unwrap_or_else(aggregate)
}

/// How far a query is. Its threads share this.
#[derive(Debug, Default)]
struct NextRowGroup {
    /// The number of row groups taken so far: first those of events, then those of spend.
    taken: AtomicUsize,
    /// The rows of the row groups that were read so far.
    read_rows: AtomicU64,
    /// The rows of all row groups.
    rows: u64,
}

/// Aggregates row group after row group, until `next` is beyond the last. Each thread takes one at a time, because row
/// groups take different times.
fn aggregate(
    context: &QueryContext<'_>,
    mut aggregator: EventAggregator<'_>,
    execution: &Execution,
    row_groups: &SelectedRowGroups<'_>,
    next: &NextRowGroup,
    ahead: &ReadAhead<impl Fn(usize) -> Option<StartedReads>>,
) -> Result<WorkerResult, Error> {
    let plan = context.plan;
    let mut share = MemoryLease::new(execution.memory.clone());
    let (mut covered, mut rows) = (RowGroupSet::default(), 0);
    loop {
        execution.interrupt.check()?;
        let at = next.taken.fetch_add(1, Ordering::Relaxed);
        let Some((number, row_group)) = row_groups.get(at) else {
            return Ok(WorkerResult::new(aggregator.into_partial(), covered, rows, share));
        };
        covered.push(number);
        rows += row_group.rows();
        match row_group {
            AnyRowGroup::Events(row_group) => {
                let columns = row_group.read_until(&plan.projection, ahead.take(at), &execution.interrupt)?;
                if plan.cohort.is_some() {
                    row_group.check_last_day(&columns)?;
                }
                aggregator.add(&columns, &mut share, &execution.interrupt)?;
                finish::check_rows(aggregator.partial.len(), execution.max_rows)?;
            }
            AnyRowGroup::Spend(row_group) => {
                let columns = row_group.read_until(&plan.spend_projection, ahead.take(at), &execution.interrupt)?;
                let mut of_row_group = share.more(0)?;
                let spend = aggregate_spend(context, &columns, &mut of_row_group, &execution.interrupt)?;
                share.raise(|| aggregator.partial.bytes_while_adding_spend(&spend))?;
                aggregator.partial.add_spend(spend, &execution.interrupt)?;
            }
        }
        share.set(|| aggregator.bytes())?;
        execution.report(&next.read_rows, row_group.rows(), next.rows);
    }
}

/// Merges what two threads have aggregated.
fn merge(mut one: WorkerResult, other: WorkerResult, execution: &Execution) -> Result<WorkerResult, Error> {
    let start = Instant::now();
    let growing = |covered: &CoveredResult| covered.result.bytes_while_growing();
    one.share.set(|| growing(&one.covered).max(growing(&other.covered)))?;
    one.covered.merge(other.covered, &execution.interrupt)?;
    drop(other.share);
    one.share.set(|| one.covered.result.bytes())?;
    one.merging += other.merging + start.elapsed();
    finish::check_rows(one.covered.result.len(), execution.max_rows)?;
    Ok(one)
}

/// Turns the merged result of all row groups into the result table.
fn finish_checked(
    plan: &Plan,
    partial: PartialResult,
    mut share: MemoryLease,
    execution: &Execution,
) -> Result<ResultTable, Error> {
    let _span = tracing::debug_span!("finish", groups = partial.len()).entered();
    execution.interrupt.check()?;
    share.set(|| partial.bytes() + finish::bytes(plan, &partial))?;
    let table = finish::finish(plan, partial, execution.max_rows, &execution.interrupt)?;
    Ok(table.counted(share)?)
}
