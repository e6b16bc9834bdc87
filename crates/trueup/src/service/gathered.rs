//! The figures of benchmarks that a dataset was found to have.

mod gathering;
mod worker;

#[cfg(test)]
mod tests;

pub use gathering::BenchmarkJobError;
pub(super) use gathering::Outcome;
pub(super) use worker::Worker;

use super::builder::FailureHook;
use super::snapshot::Snapshot;
use super::{ServiceError, Upstream};
use crate::Interrupt;
use crate::benchmarks::{BenchmarkData, BenchmarkPeriod, Month};
use crate::query::DateRange;
use gathering::BenchmarkJob;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many parts of months are kept: a day has two, the current month and the one before up to the same day; around midnight
/// requests of two days meet.
const PARTS: usize = 4;

/// The figures of one dataset, gathered or being gathered.
#[derive(Default)]
pub(super) struct BenchmarkCache {
    kept: Mutex<Kept>,
    begun: AtomicU64,
}

#[derive(Default)]
struct Kept {
    /// Of whole months, for good: no more than the dataset has months, for others are not gathered.
    months: HashMap<Month, Arc<BenchmarkJob>>,
    /// Of parts of months, the newest last: never more than [`PARTS`].
    parts: VecDeque<(DateRange, Arc<BenchmarkJob>)>,
}

/// How a request waits.
pub(super) struct WaitLimit<'a> {
    pub(super) wait: Duration,
    pub(super) interrupt: &'a Interrupt,
}

impl BenchmarkCache {
    /// How many times figures were gathered, or began to be.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gathering of these days, and whether the caller is the one to begin it.
    fn find(&self, period: BenchmarkPeriod) -> (Arc<BenchmarkJob>, bool) {
        let mut kept = self.kept();
        let known = if period.is_whole() {
            kept.months.get(&period.month)
        } else {
            kept.parts.iter().find(|(range, _)| *range == period.range).map(|(_, gathering)| gathering)
        };
        if let Some(known) = known {
            return (Arc::clone(known), false);
        }
        let gathering = Arc::<BenchmarkJob>::default();
        if period.is_whole() {
            kept.months.insert(period.month, Arc::clone(&gathering));
        } else {
            kept.parts.push_back((period.range, Arc::clone(&gathering)));
            if kept.parts.len() > PARTS {
                kept.parts.pop_front();
            }
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        (gathering, true)
    }

    /// A gathering that failed is not kept: whoever asks from now on begins another.
    fn forget(&self, failed: &Arc<BenchmarkJob>) {
        let mut kept = self.kept();
        kept.months.retain(|_, gathering| !Arc::ptr_eq(gathering, failed));
        kept.parts.retain(|(_, gathering)| !Arc::ptr_eq(gathering, failed));
    }

    fn fail(&self, gathering: &Arc<BenchmarkJob>, error: BenchmarkJobError, log: &FailureHook) {
        let error = Arc::new(error);
        self.forget(gathering);
        let is_told = gathering.finish(Err(Arc::clone(&error)));
        // Requests that are refused for it tell the log themselves.
        if !is_told {
            log(&ServiceError::Upstream(Upstream::Benchmarks(error)));
        }
    }
}

impl Snapshot {
    /// The figures of these days, or why there are none; `None` if they are not there when the patience ends. They are gathered once
    /// for all who ask, and go on being gathered when nobody waits.
    pub(super) fn figures(
        self: &Arc<Self>,
        period: BenchmarkPeriod,
        worker: &Worker,
        log: &FailureHook,
        patience: &WaitLimit<'_>,
    ) -> Option<Outcome> {
        let (gathering, is_new) = self.benchmarks.find(period);
        if is_new {
            self.begin(&gathering, worker, log, move |snapshot, interrupt| {
                BenchmarkData::gather(&snapshot.dataset, period.range, &snapshot.execution(interrupt)?)
            });
            // Whoever may not wait is not answered by luck either.
            if patience.wait.is_zero() {
                return None;
            }
        }
        gathering.wait(patience)
    }

    /// Has the figures gathered in the background.
    fn begin(
        self: &Arc<Self>,
        gathering: &Arc<BenchmarkJob>,
        worker: &Worker,
        log: &FailureHook,
        gather: impl FnOnce(&Self, &Interrupt) -> Result<BenchmarkData, crate::Error> + Send + 'static,
    ) {
        // A dataset that was replaced is let go once no request sees it: then nobody waits either.
        let (snapshot, of, told) = (Arc::downgrade(self), Arc::clone(gathering), Arc::clone(log));
        let task = move |interrupt: &Interrupt| {
            let Some(snapshot) = snapshot.upgrade() else { return };
            match gathering::attempt(|| gather(&snapshot, interrupt)) {
                Ok(figures) => {
                    of.finish(Ok(Arc::new(figures)));
                }
                Err(error) => snapshot.benchmarks.fail(&of, error, &told),
            }
        };
        if let Err(error) = worker.begin(Box::new(task)) {
            self.benchmarks.fail(gathering, BenchmarkJobError::NoThread(error), log);
        }
    }
}
