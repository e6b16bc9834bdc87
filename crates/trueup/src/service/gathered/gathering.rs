//! Figures that are being gathered, and those who wait for them.

use super::WaitLimit;
use crate::Error;
use crate::benchmarks::BenchmarkData;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often those who wait look whether their request has been ended.
const STEP: Duration = Duration::from_millis(5);

/// What came of a gathering, for all who wait.
pub(in crate::service) type Outcome = Result<Arc<BenchmarkData>, Arc<BenchmarkJobError>>;

/// Why the figures of benchmarks were not gathered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkJobError {
    /// The dataset did not give them.
    #[error(transparent)]
    Query(Error),
    /// The thread that gathered them panicked.
    #[error("the gathering panicked: {0}")]
    Panicked(String),
    /// There was no thread to gather them.
    #[error("no thread could be started: {0}")]
    NoThread(io::Error),
}

/// One gathering.
#[derive(Default)]
pub(super) struct BenchmarkJob {
    state: Mutex<JobState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct JobState {
    outcome: Option<Outcome>,
    /// Requests that wait.
    pub(super) waiting: usize,
}

impl BenchmarkJob {
    pub(super) fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of it; `None` if nothing has when the patience ends.
    pub(super) fn wait(&self, patience: &WaitLimit<'_>) -> Option<Outcome> {
        let until = Instant::now().checked_add(patience.wait);
        let mut state = self.state();
        state.waiting += 1;
        while state.outcome.is_none() && patience.interrupt.check().is_ok() {
            let left = until.map_or(STEP, |until| until.saturating_duration_since(Instant::now()).min(STEP));
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.waiting -= 1;
        state.outcome.clone()
    }

    /// Tells all who wait; whether anybody does.
    pub(super) fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state();
        state.outcome = Some(outcome);
        self.changed.notify_all();
        state.waiting > 0
    }
}

/// Gathers; a panic is a failure like others, or those who wait would never be told.
pub(super) fn attempt(
    gather: impl FnOnce() -> Result<BenchmarkData, Error>,
) -> Result<BenchmarkData, BenchmarkJobError> {
    match catch_unwind(AssertUnwindSafe(gather)) {
        Ok(gathered) => gathered.map_err(BenchmarkJobError::Query),
        Err(payload) => Err(BenchmarkJobError::Panicked(words(&*payload))),
    }
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("without words").to_owned()
}
