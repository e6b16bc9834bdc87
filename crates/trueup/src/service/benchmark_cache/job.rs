//! One computation of benchmark data, and the requests that wait for it.

use super::super::error::BenchmarkJobError;
use crate::benchmarks::BenchmarkData;
use crate::{Error, Interrupt};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting request checks whether it was interrupted.
const INTERRUPT_CHECK_PERIOD: Duration = Duration::from_millis(5);

/// What a job ends with.
pub(super) type Outcome = Result<Arc<BenchmarkData>, Arc<BenchmarkJobError>>;

/// How long a request waits.
pub(in crate::service) struct WaitLimit<'a> {
    pub(in crate::service) wait: Duration,
    /// Ends the wait early.
    pub(in crate::service) interrupt: &'a Interrupt,
}

/// One computation.
#[derive(Default)]
pub(super) struct BenchmarkJob {
    state: Mutex<JobState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct JobState {
    outcome: Option<Outcome>,
    /// The number of requests that wait.
    pub(super) waiting: usize,
}

impl BenchmarkJob {
    pub(super) fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the outcome. Returns `None` if there is none within the limit.
    pub(super) fn wait(&self, limit: &WaitLimit<'_>) -> Option<Outcome> {
        let until = Instant::now().checked_add(limit.wait);
        let mut state = self.state();
        state.waiting += 1;
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

    /// Sets the outcome and wakes the requests that wait. Returns whether any does.
    pub(super) fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state();
        state.outcome = Some(outcome);
        self.changed.notify_all();
        state.waiting > 0
    }
}

/// Runs `compute`. A panic becomes an error, because otherwise the requests that wait would never get an outcome.
pub(super) fn attempt(
    compute: impl FnOnce() -> Result<BenchmarkData, Error>,
) -> Result<BenchmarkData, BenchmarkJobError> {
    match catch_unwind(AssertUnwindSafe(compute)) {
        Ok(result) => result.map_err(BenchmarkJobError::Query),
        Err(payload) => Err(BenchmarkJobError::Panicked(panic_text(&*payload))),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("without a message").to_owned()
}
