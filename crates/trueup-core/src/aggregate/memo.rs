//! What the threads of a query have derived from its plan, kept for its other splits in this process.

use super::count::Histogram;
use super::facts::{IncrementTable, StateFacts, facts_of_state, row_facts};
use super::segment::SegmentCache;
use crate::plan::{MeasureLayout, Plan};
use crate::scan::EventFlags;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What rows add to the counters of a query.
#[derive(Debug)]
pub(crate) struct Increments {
    pub(super) layout: MeasureLayout,
    /// What a row adds, by the flags of its event; without what depends on its grade, and without open leads.
    pub(super) of_rows: IncrementTable,
    /// What a state row adds in addition, by its facts; without what depends on its status.
    pub(super) of_states: IncrementTable,
}

impl Increments {
    fn new(layout: &MeasureLayout) -> Self {
        let row_facts = (0..=u8::MAX).map(|bits| row_facts(EventFlags::new(bits)));
        Self {
            of_rows: IncrementTable::from_facts(layout, row_facts),
            of_states: IncrementTable::from_facts(layout, (0..=StateFacts::MAX).map(facts_of_state)),
            layout: layout.clone(),
        }
    }
}

/// What is derived from a plan alone, whichever row groups are read: what rows add, and the classes of the segments
/// seen so far. Whole queries drop it at their end. The splits of a query share it, because to classify the histories
/// again would cost each of them about as much as a row group.
///
/// The memory of the classes is not counted towards a query, because it is bounded whatever the size of the data.
#[derive(Debug)]
pub(crate) struct AggregationMemo {
    pub(super) increments: Arc<Increments>,
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
