//! Queries and answers under the budget of memory.

use super::Service;
use super::error::ServiceError;
use crate::query::EventsQuery;
use crate::{Dataset, Error, Execution, Interrupt, MemoryBudget, NoRoom, Reservation, ResultTable};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// After how many seconds it is worth asking again when there was no room.
const RETRY_AFTER_SECONDS: u32 = 5;

/// How many requests wait for room.
#[derive(Debug, Default)]
pub(super) struct MemoryQueue(AtomicUsize);

impl MemoryQueue {
    /// A place in the queue, given back when it is dropped; `None` if all `places` are taken.
    fn enter(&self, places: usize) -> Option<impl Drop> {
        struct QueueSlot<'a>(&'a AtomicUsize);
        impl Drop for QueueSlot<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let waiting = self.0.fetch_add(1, Ordering::Relaxed);
        let place = QueueSlot(&self.0);
        (waiting < places).then_some(place)
    }
}

impl Service {
    /// Answers a query. One for which there is no room is begun again, from nothing, when there is: who waits holds nothing that
    /// others wait for.
    pub(super) fn run(
        &self,
        dataset: &Dataset,
        query: &EventsQuery,
        execution: &Execution,
    ) -> Result<ResultTable, ServiceError> {
        let Some(memory) = &self.memory else {
            return dataset.run(query, execution.clone()).map_err(ServiceError::query);
        };
        let patience = execution.interrupt.within(self.limits.memory_wait);
        let mut reservation = memory.reserve(0).map_err(ServiceError::no_room)?;
        loop {
            let counted = Execution { memory: Some(Arc::new(reservation)), ..execution.clone() };
            match dataset.run(query, counted) {
                Err(Error::NoRoom(no_room)) => {
                    reservation = self.wait(memory, no_room, &patience, &execution.interrupt)?;
                }
                ran => return ran.map_err(ServiceError::query),
            }
        }
    }

    /// Reserves what was missing, as soon as there is room.
    fn wait(
        &self,
        memory: &MemoryBudget,
        missing: NoRoom,
        patience: &Interrupt,
        interrupt: &Interrupt,
    ) -> Result<Reservation, ServiceError> {
        let refused = || ServiceError::no_room(missing);
        if missing.is_too_large() || patience.check().is_err() {
            return Err(refused());
        }
        let _place = self.queue.enter(self.limits.memory_queue).ok_or_else(refused)?;
        let reserved = memory.reserve_within(missing.bytes, patience);
        interrupt.check().map_err(ServiceError::Timeout)?;
        reserved.map_err(ServiceError::no_room)
    }
}

impl ServiceError {
    /// The error where the budget has no room.
    pub(super) const fn no_room(missing: NoRoom) -> Self {
        if missing.is_too_large() {
            Self::TooMuchMemory { limit: missing.limit / 2 }
        } else {
            Self::Overloaded { retry_after_seconds: RETRY_AFTER_SECONDS }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryQueue;

    #[test]
    fn a_queue_has_so_many_places() {
        let queue = MemoryQueue::default();
        let places = [(); 3].map(|()| queue.enter(2));
        assert_eq!(places.each_ref().map(Option::is_some), [true, true, false]);
        drop(places);
        assert!(queue.enter(1).is_some() && queue.enter(0).is_none());
    }
}
