//! What the threads of a query have derived from its plan, kept for its other splits in this process.

use super::count::Histogram;
use super::facts::Increments;
use super::segment::SegmentCache;
use crate::plan::Plan;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is derived from a plan alone, whichever row groups are read: what rows add, and the classes of the segments
/// seen so far. Whole queries drop it at their end. The splits of a query share it, because to classify the histories
/// again would cost each of them about as much as a row group.
///
/// The memory of the classes is not counted towards a query, because it is bounded whatever the size of the data.
#[derive(Debug)]
pub(crate) struct AggregationMemo {
    pub(crate) increments: Arc<Increments>,
    /// What no thread uses at the moment.
    idle: Mutex<Vec<SegmentMemo>>,
}

/// The classes of the segments that one thread has seen, and the distinct increments among them.
#[derive(Debug)]
pub(super) struct SegmentMemo {
    pub(super) cache: SegmentCache,
    pub(super) histogram: Histogram,
}

impl AggregationMemo {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { increments: Arc::new(Increments::new(&plan.layout)), idle: Mutex::default() }
    }

    /// Takes what another thread has [given back](Self::give_back), or something empty.
    pub(super) fn take(&self) -> SegmentMemo {
        let empty = || SegmentMemo { cache: SegmentCache::new(&self.increments), histogram: Histogram::default() };
        self.idle().pop().unwrap_or_else(empty)
    }

    pub(super) fn give_back(&self, memo: SegmentMemo) {
        self.idle().push(memo);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SegmentMemo>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
