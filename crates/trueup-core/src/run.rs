//! A query from plan to answer: prune, read, aggregate in parallel, join what the threads have gathered, finish.

use crate::aggregate::{EventAggregator, PartialResult, QueryContext, aggregate_spend};
use crate::dataset::{Dataset, Pruning, RowGroup};
use crate::error::{Error, QueryError};
use crate::execution::Execution;
use crate::explain::{Explanation, RunStatistics};
use crate::finish::{self, ResultTable, TableMemory};
use crate::memory::Share;
use crate::plan::Plan;
use crate::query::EventsQuery;
use crate::scan::{EventColumns, SpendColumns};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Rows that are worth a thread if they need not be decoded: fewer are aggregated before another thread is awake.
const ROWS_PER_THREAD: u64 = 1 << 16;

impl Dataset {
    /// Answers a query.
    ///
    /// # Errors
    /// The query is at fault, or a file does not read.
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

    /// Answers a query in the way that `execution` says.
    ///
    /// # Errors
    /// The query is at fault, or a file does not read.
    pub fn run(&self, query: &EventsQuery, execution: Execution) -> Result<ResultTable, Error> {
        self.execute(&Plan::new(query, self.columns())?, &execution).map(|(table, _)| table)
    }

    /// The plan of a query, without running it.
    ///
    /// # Errors
    /// The query is at fault.
    pub fn explain(&self, query: &EventsQuery) -> Result<Explanation, Error> {
        let plan = Plan::new(query, self.columns())?;
        Ok(Explanation::new(&plan, self, true))
    }

    /// The plan of a query, and what running it took.
    ///
    /// # Errors
    /// The query is at fault, or a file does not read.
    pub fn analyze(&self, query: &EventsQuery, execution: Execution) -> Result<Explanation, Error> {
        let plan = Plan::new(query, self.columns())?;
        let (_, measured) = self.execute(&plan, &execution)?;
        Ok(Explanation::new(&plan, self, execution.pruning).with_measured(measured))
    }

    fn execute(&self, plan: &Plan, execution: &Execution) -> Result<(ResultTable, RunStatistics), Error> {
        match execution.threads {
            None => self.execute_here(plan, execution),
            Some(threads) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build();
                pool.map_err(|error| Error::Threads(error.to_string()))?.install(|| self.execute_here(plan, execution))
            }
        }
    }

    fn execute_here(&self, plan: &Plan, execution: &Execution) -> Result<(ResultTable, RunStatistics), Error> {
        let begun = Instant::now();
        let context = QueryContext::new(plan, self.accounts());
        let events = kept(self.events(), plan, execution.pruning);
        let spend = if plan.needs_spend() { kept(self.spend(), plan, execution.pruning) } else { Vec::new() };
        let next = AtomicUsize::new(0);
        let worker = |_| {
            // Where one thread fails the others need not go on.
            let fail = |_: &Error| next.store(events.len() + spend.len(), Ordering::Relaxed);
            self.work(&context, execution, &events, &spend, &next).inspect_err(fail)
        };
        let rows = events.iter().map(|part| part.rows).sum::<u64>() + spend.iter().map(|part| part.rows).sum::<u64>();
        let threads = rayon::current_num_threads().min(events.len() + spend.len()).max(1);
        let is_held = || {
            let held = events.iter().all(|part| part.is_held(&plan.projection));
            held && spend.iter().all(|part| part.is_held(&plan.spend_projection))
        };
        let worth = usize::try_from(rows / ROWS_PER_THREAD).unwrap_or(usize::MAX);
        let is_quick = execution.threads.is_none() && worth < threads && is_held();
        let workers = if is_quick { worth.max(1) } else { threads };
        let join = |mut one: WorkerResult, other: WorkerResult| {
            let begun = Instant::now();
            let more = other.merged.groups.len().min(one.merged.groups.len());
            one.share.set(|| one.merged.bytes_with(more).max(other.merged.bytes_with(more)))?;
            one.merged.merge(other.merged, &execution.interrupt)?;
            drop(other.share);
            one.share.set(|| one.merged.bytes())?;
            one.joining += other.joining + begun.elapsed();
            check_rows(&one.merged, execution)?;
            Ok(one)
        };
        let gathered = (0..workers).into_par_iter().with_max_len(1).map(worker).try_reduce_with(join);
        let gathered = gathered.unwrap_or_else(|| Ok(WorkerResult::new(PartialResult::new(&context), execution)))?;
        let WorkerResult { merged, mut share, joining: merging } = gathered;
        let aggregated = begun.elapsed();
        let kept_rows = merged.rows;
        let groups = merged.groups.len();
        execution.interrupt.check()?;
        share.set(|| merged.bytes() + finish::bytes(&context, &merged))?;
        let mut table = finish::finish(&context, merged, execution.max_rows, &execution.interrupt)?;
        share.set(|| table.bytes())?;
        share.settle();
        if execution.memory.is_some() {
            table.memory = TableMemory::new(share);
        }
        let total = begun.elapsed();
        let measured = RunStatistics {
            row_groups: events.len() + spend.len(),
            rows,
            kept_rows,
            groups,
            result_rows: table.len(),
            aggregation: aggregated,
            merging,
            finishing: total.saturating_sub(aggregated),
        };
        Ok((table, measured))
    }

    /// What one thread does: it takes part after part until `next` is beyond the last.
    fn work(
        &self,
        context: &QueryContext<'_>,
        execution: &Execution,
        events: &[&RowGroup<EventColumns>],
        spend: &[&RowGroup<SpendColumns>],
        next: &AtomicUsize,
    ) -> Result<WorkerResult, Error> {
        let plan = context.plan;
        let mut aggregation = EventAggregator::new(context);
        let mut share = Share::new(execution.memory.clone());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            execution.interrupt.check()?;
            if let Some(part) = events.get(at) {
                let rows = usize::try_from(part.rows).unwrap_or(usize::MAX);
                share.set(|| aggregation.bytes_with(rows))?;
                aggregation.add(&*part.read(&plan.projection)?, &execution.interrupt)?;
                check_rows(&aggregation.merged, execution)?;
            } else if let Some(part) = spend.get(at - events.len()) {
                aggregation.merged.add_spend(&aggregate_spend(context, &*part.read(&plan.spend_projection)?));
            } else {
                return Ok(WorkerResult { merged: aggregation.merged, share, joining: Duration::ZERO });
            }
            share.set(|| aggregation.bytes_with(0))?;
        }
    }
}

/// What threads have gathered.
struct WorkerResult {
    merged: PartialResult,
    /// What it takes of a budget of memory.
    share: Share,
    /// How long it took to join it.
    joining: Duration,
}

impl WorkerResult {
    fn new(merged: PartialResult, execution: &Execution) -> Self {
        Self { merged, share: Share::new(execution.memory.clone()), joining: Duration::ZERO }
    }
}

fn check_rows(merged: &PartialResult, execution: &Execution) -> Result<(), Error> {
    match execution.max_rows {
        Some(limit) if merged.groups.len() > limit => Err(QueryError::TooManyRows { limit }.into()),
        _ => Ok(()),
    }
}

/// The parts that a query reads, in order.
pub(crate) fn kept<'a, T>(parts: &'a [RowGroup<T>], plan: &Plan, pruning: bool) -> Vec<&'a RowGroup<T>> {
    parts.iter().filter(|part| !pruning || part.bounds.prune(plan.range, &plan.accounts) == Pruning::Keep).collect()
}

/// A time in milliseconds, for people.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
