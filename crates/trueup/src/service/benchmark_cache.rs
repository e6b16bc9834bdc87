//! The data of benchmarks: computed once per period in the background, and shared by all requests.
//!
//! [`BenchmarkCache::data`] finds or starts a [`BenchmarkJob`], the [`Worker`]'s thread runs it, and requests wait for
//! its outcome.

#[cfg(test)]
mod tests;

use super::error::{BenchmarkJobError, FailureHook, ServiceError, Upstream};
use super::memory::internal_execution;
use crate::benchmarks::{BenchmarkData, BenchmarkPeriod};
use crate::query::DateRange;
use crate::{Dataset, Error, Interrupt, MemoryBudget};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};
use trueup_core::Evict;

/// How many partial months are kept. A day has two: the current month to date, and the previous month to the same day.
/// Around midnight, requests of two days overlap.
const MAX_PARTIAL_MONTHS: usize = 4;

/// The data of benchmarks of one dataset, computed or being computed. It counts against the budget of the service, and
/// the data that was not used for the longest time is dropped when something else needs the memory.
pub(super) struct BenchmarkCache {
    dataset: Arc<Dataset>,
    memory: Option<MemoryBudget>,
    jobs: Mutex<Jobs>,
    started: AtomicU64,
}

#[derive(Default)]
struct Jobs {
    /// Whole and partial months; at most [`MAX_PARTIAL_MONTHS`] of the latter. No job is started for a month before the
    /// first row of the dataset or after its last.
    periods: HashMap<DateRange, KeptJob>,
    /// The number of jobs that were begun, and of uses, which orders the jobs by age.
    uses: u64,
}

struct KeptJob {
    job: Arc<BenchmarkJob>,
    is_whole: bool,
    /// The value of [`Jobs::uses`] when the job was begun.
    begun: u64,
    /// The value of [`Jobs::uses`] at the last use.
    last_use: u64,
    /// The bytes of its data that count against the budget.
    counted: usize,
}

/// The data of a period, for one request.
pub(super) struct UsedData {
    data: Arc<BenchmarkData>,
    /// `None` if nothing is kept.
    cache: Option<Arc<BenchmarkCache>>,
}

impl UsedData {
    /// Returns data that is not kept.
    pub(super) fn unkept(data: BenchmarkData) -> Self {
        Self { data: Arc::new(data), cache: None }
    }
}

impl Deref for UsedData {
    type Target = BenchmarkData;

    fn deref(&self) -> &BenchmarkData {
        &self.data
    }
}

impl Drop for UsedData {
    fn drop(&mut self) {
        // What the request has decided about the data is kept with it.
        if let Some(cache) = &self.cache {
            cache.count(&self.data);
        }
    }
}

impl BenchmarkCache {
    pub(super) fn new(dataset: Arc<Dataset>, memory: Option<&MemoryBudget>) -> Arc<Self> {
        let cache =
            Arc::new(Self { dataset, memory: memory.cloned(), jobs: Mutex::default(), started: AtomicU64::new(0) });
        if let Some(memory) = memory {
            let watched: Weak<Self> = Arc::downgrade(&cache);
            memory.watch(watched);
        }
        cache
    }

    /// Returns how many jobs were started.
    pub(super) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Returns the data of a period, or why there is none; `None` if it is not there within the limit.
    ///
    /// The job runs once for all requests of the period, and continues when no request waits any more.
    pub(super) fn data(
        self: &Arc<Self>,
        period: BenchmarkPeriod,
        worker: &Worker,
        on_failure: &FailureHook,
        limit: &WaitLimit<'_>,
    ) -> Option<Result<UsedData, Arc<BenchmarkJobError>>> {
        let (job, is_new) = self.find(period, limit.wait);
        if is_new {
            self.start(&job, worker, on_failure, move |cache, interrupt| {
                let execution = internal_execution(cache.memory.as_ref(), interrupt)?;
                BenchmarkData::gather(&cache.dataset, period.range, &execution)
            });
            // Without a wait, the answer must not depend on how fast the new job is.
            if limit.wait.is_zero() {
                return None;
            }
        }
        let outcome = job.wait(limit)?;
        Some(outcome.map(|data| UsedData { data, cache: Some(Arc::clone(self)) }))
    }

    /// Returns the job of a period, and whether it is new. The caller must start a new job.
    ///
    /// The request counts as waiting from here on, so that a job that fails before the wait begins is not reported
    /// twice. A request without a wait does not wait for a new job.
    fn find(&self, period: BenchmarkPeriod, wait: Duration) -> (Arc<BenchmarkJob>, bool) {
        let mut jobs = self.jobs();
        jobs.uses += 1;
        let now = jobs.uses;
        if let Some(known) = jobs.periods.get_mut(&period.range) {
            known.last_use = now;
            known.job.state().waiting += 1;
            return (Arc::clone(&known.job), false);
        }
        let job = Arc::<BenchmarkJob>::default();
        job.state().waiting = usize::from(!wait.is_zero());
        let is_whole = period.is_whole();
        let new = KeptJob { job: Arc::clone(&job), is_whole, begun: now, last_use: now, counted: 0 };
        jobs.periods.insert(period.range, new);
        let partial = || jobs.periods.iter().filter(|(_, kept)| !kept.is_whole);
        if partial().count() > MAX_PARTIAL_MONTHS {
            let oldest = partial().min_by_key(|(_, kept)| kept.begun).map(|(range, _)| *range);
            self.drop_job(&mut jobs, oldest);
        }
        self.started.fetch_add(1, Ordering::Relaxed);
        (job, true)
    }

    /// Counts the bytes of a period's data as they are now. Drops other data if there is no room, and this data if that
    /// is not enough. Returns whether this data is still kept.
    fn count(&self, data: &Arc<BenchmarkData>) -> bool {
        let mut jobs = self.jobs();
        let range = data.range();
        loop {
            let Some(kept) = jobs.periods.get_mut(&range).filter(|kept| kept.job.has(data)) else { return false };
            let Some(memory) = &self.memory else { return true };
            let bytes = data.bytes();
            if memory.count_columns(kept.counted, bytes) {
                kept.counted = bytes;
                return true;
            }
            let oldest = jobs.oldest(Some(range)).or(Some(range));
            self.drop_job(&mut jobs, oldest);
        }
    }

    fn drop_job(&self, jobs: &mut Jobs, range: Option<DateRange>) -> usize {
        let dropped = range.and_then(|range| jobs.periods.remove(&range)).map_or(0, |kept| kept.counted);
        if let Some(memory) = &self.memory {
            memory.count_columns(dropped, 0);
        }
        dropped
    }

    /// Ends a job with its data, if there is room for it.
    fn finish(&self, finished: &Arc<BenchmarkJob>, data: BenchmarkData, on_failure: &FailureHook) {
        // Columns make room for data, and are not dropped for less than that.
        let room = self.memory.as_ref().map(|memory| memory.reserve(data.bytes())).transpose();
        drop(match room {
            Ok(room) => room,
            Err(no_room) => return self.fail(finished, BenchmarkJobError::Query(no_room.into()), on_failure),
        });
        let data = Arc::new(data);
        finished.finish(Ok(Arc::clone(&data)));
        self.count(&data);
    }

    /// Runs `compute` in the background, unless the cache is dropped first: when no request sees a replaced dataset any
    /// more, no request waits for its benchmarks.
    fn start(
        self: &Arc<Self>,
        job: &Arc<BenchmarkJob>,
        worker: &Worker,
        on_failure: &FailureHook,
        compute: impl FnOnce(&Self, &Interrupt) -> Result<BenchmarkData, Error> + Send + 'static,
    ) {
        let (cache, started, hook) = (Arc::downgrade(self), Arc::clone(job), Arc::clone(on_failure));
        let task = move |interrupt: &Interrupt| {
            let Some(cache) = cache.upgrade() else { return };
            match attempt(|| compute(&cache, interrupt)) {
                Ok(data) => cache.finish(&started, data, &hook),
                Err(error) => cache.fail(&started, error, &hook),
            }
        };
        if let Err(error) = worker.start(Box::new(task)) {
            self.fail(job, BenchmarkJobError::NoThread(error), on_failure);
        }
    }

    /// Ends a job with an error and forgets it, so that the next request starts another.
    fn fail(&self, failed: &Arc<BenchmarkJob>, error: BenchmarkJobError, on_failure: &FailureHook) {
        let error = Arc::new(error);
        {
            // It has no data yet, and so nothing that counts.
            self.jobs().periods.retain(|_, kept| !Arc::ptr_eq(&kept.job, failed));
        }
        let has_waiting_request = failed.finish(Err(Arc::clone(&error)));
        // The service refuses each waiting request with this error, and calls the hook for it.
        if !has_waiting_request {
            on_failure(&ServiceError::Upstream(Upstream::Benchmarks(error)));
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evict for BenchmarkCache {
    fn evict(&self, bytes: usize) -> usize {
        let (mut jobs, mut dropped) = (self.jobs(), 0);
        while dropped < bytes {
            let Some(oldest) = jobs.oldest(None) else { break };
            dropped += self.drop_job(&mut jobs, Some(oldest));
        }
        dropped
    }
}

impl Drop for BenchmarkCache {
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = &self.memory {
            memory.count_columns(jobs.periods.values().map(|kept| kept.counted).sum(), 0);
        }
    }
}

impl Jobs {
    /// Returns the period, other than `except`, whose data counts and was not used for the longest time.
    fn oldest(&self, except: Option<DateRange>) -> Option<DateRange> {
        let counted = self.periods.iter().filter(|(range, kept)| kept.counted > 0 && Some(**range) != except);
        counted.min_by_key(|(_, kept)| kept.last_use).map(|(range, _)| *range)
    }
}

/// How often a waiting request checks whether it was interrupted.
const INTERRUPT_CHECK_PERIOD: Duration = Duration::from_millis(5);

/// The end of a job: its data, or why there is none.
type Outcome = Result<Arc<BenchmarkData>, Arc<BenchmarkJobError>>;

/// How long a request waits.
pub(super) struct WaitLimit<'a> {
    pub(super) wait: Duration,
    /// Ends the wait early.
    pub(super) interrupt: &'a Interrupt,
}

/// One computation of benchmark data, and the requests that wait for it.
#[derive(Default)]
struct BenchmarkJob {
    state: Mutex<JobState>,
    changed: Condvar,
}

#[derive(Default)]
struct JobState {
    outcome: Option<Outcome>,
    /// The number of requests that wait.
    waiting: usize,
}

impl BenchmarkJob {
    fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the job has ended with this data.
    fn has(&self, data: &Arc<BenchmarkData>) -> bool {
        matches!(&self.state().outcome, Some(Ok(found)) if Arc::ptr_eq(found, data))
    }

    /// Waits for the outcome. Returns `None` if there is none within the limit. `find` has counted the request.
    fn wait(&self, limit: &WaitLimit<'_>) -> Option<Outcome> {
        let until = Instant::now().checked_add(limit.wait);
        let mut state = self.state();
        while state.outcome.is_none() && limit.interrupt.check().is_ok() {
            let left = until.map_or(INTERRUPT_CHECK_PERIOD, |until| {
                until.saturating_duration_since(Instant::now()).min(INTERRUPT_CHECK_PERIOD)
            });
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.waiting -= 1;
        state.outcome.clone()
    }

    /// Sets the outcome and wakes the requests that wait. Returns whether a request waits.
    fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state();
        state.outcome = Some(outcome);
        self.changed.notify_all();
        state.waiting > 0
    }
}

/// Runs `compute`. A panic becomes an error, because otherwise the requests that wait would never get an outcome.
fn attempt(compute: impl FnOnce() -> Result<BenchmarkData, Error>) -> Result<BenchmarkData, BenchmarkJobError> {
    match catch_unwind(AssertUnwindSafe(compute)) {
        Ok(result) => result.map_err(BenchmarkJobError::Query),
        Err(payload) => Err(BenchmarkJobError::Panicked(panic_text(&*payload))),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("without a message").to_owned()
}

/// A task that runs until it is done or interrupted.
type BackgroundTask = Box<dyn FnOnce(&Interrupt) + Send>;

/// A queue of tasks, and at most one thread, which ends when the queue is empty.
///
/// Dropping the worker interrupts the running task and drops the others.
#[derive(Default)]
pub(super) struct Worker(Arc<WorkerState>);

#[derive(Default)]
struct WorkerState {
    pending: Mutex<PendingTasks>,
    stop: Interrupt,
}

#[derive(Default)]
struct PendingTasks {
    tasks: VecDeque<BackgroundTask>,
    /// Whether there is a thread that will look for tasks again before it ends.
    has_thread: bool,
}

impl Worker {
    /// Queues a task, and starts a thread if there is none.
    ///
    /// # Errors
    /// No thread could be started. The task is dropped.
    fn start(&self, task: BackgroundTask) -> io::Result<()> {
        let mut pending = self.0.pending();
        if !pending.has_thread {
            let state = Arc::clone(&self.0);
            thread::Builder::new().name("trueup-benchmarks".to_owned()).spawn(move || state.work())?;
            pending.has_thread = true;
        }
        pending.tasks.push_back(task);
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.pending().tasks.clear();
    }
}

impl WorkerState {
    fn pending(&self) -> MutexGuard<'_, PendingTasks> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next task; `None` ends the thread.
    fn next(&self) -> Option<BackgroundTask> {
        let mut pending = self.pending();
        let task = pending.tasks.pop_front();
        pending.has_thread = task.is_some();
        task
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            // A task handles its own failures. If it panics nevertheless, the panic hook reports it and the next task
            // runs.
            drop(catch_unwind(AssertUnwindSafe(|| task(&self.stop))));
        }
    }
}
