//! A dataset, and all that is kept about it.

use super::filled::Filled;
use super::gathered::Gathered;
use crate::Dataset;
use crate::query::DateRange;
use std::sync::Arc;

/// What one request sees from start to end. Whatever is found out about a dataset is kept beside it, and goes with it.
pub(super) struct Snapshot {
    pub(super) dataset: Arc<Dataset>,
    /// The days that the dataset has rows of.
    pub(super) days: Option<DateRange>,
    pub(super) filled: Filled,
    pub(super) gathered: Gathered,
}

impl Snapshot {
    pub(super) fn new(dataset: Arc<Dataset>) -> Arc<Self> {
        let days = dataset.date_range();
        Arc::new(Self { dataset, days, filled: Filled::default(), gathered: Gathered::default() })
    }

    /// Whether the dataset may have rows of these days.
    pub(super) fn meets(&self, range: DateRange) -> bool {
        self.days.is_some_and(|days| days.start <= range.end && range.start <= days.end)
    }
}
