//! A dataset, and all that is kept about it.

use super::filled::NonEmptyFields;
use super::gathered::BenchmarkCache;
use crate::query::DateRange;
use crate::{Dataset, Execution, Interrupt, MemoryBudget, NoRoom};
use std::sync::Arc;

/// What one request sees from start to end. Whatever is found out about a dataset is kept beside it, and goes with it.
pub(super) struct Snapshot {
    pub(super) dataset: Arc<Dataset>,
    /// The days that the dataset has rows of.
    pub(super) days: Option<DateRange>,
    pub(super) non_empty_fields: NonEmptyFields,
    pub(super) benchmarks: BenchmarkCache,
    memory: Option<MemoryBudget>,
}

impl Snapshot {
    pub(super) fn new(dataset: Arc<Dataset>, memory: Option<&MemoryBudget>) -> Arc<Self> {
        if let Some(memory) = memory {
            dataset.count_columns_against(memory);
        }
        let days = dataset.date_range();
        Arc::new(Self {
            dataset,
            days,
            non_empty_fields: NonEmptyFields::default(),
            benchmarks: BenchmarkCache::default(),
            memory: memory.cloned(),
        })
    }

    /// How a query of the service's own is carried out, which does not wait for room.
    pub(super) fn execution(&self, interrupt: &Interrupt) -> Result<Execution, NoRoom> {
        let reservation = self.memory.as_ref().map(|memory| memory.reserve(0)).transpose()?;
        Ok(Execution { interrupt: interrupt.clone(), memory: reservation.map(Arc::new), ..Execution::default() })
    }

    /// Whether the dataset may have rows of these days.
    pub(super) fn meets(&self, range: DateRange) -> bool {
        self.days.is_some_and(|days| days.start <= range.end && range.start <= days.end)
    }
}
