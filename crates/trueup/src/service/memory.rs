//! Runs queries within a memory budget.

use super::limits::Limits;
use crate::{Error, Execution, Interrupt, MemoryBudget, NoRoom, Reservation};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory that queries and answers share, and the queue of requests that wait for it.
#[derive(Default)]
pub(super) struct QueryMemory {
    /// If there is no budget, nothing is counted and nothing is refused.
    budget: Option<MemoryBudget>,
    queue: MemoryQueue,
}

impl QueryMemory {
    pub(super) fn new(budget: MemoryBudget) -> Self {
        Self { budget: Some(budget), queue: MemoryQueue::default() }
    }

    pub(super) const fn budget(&self) -> Option<&MemoryBudget> {
        self.budget.as_ref()
    }

    /// Returns the number of requests that wait for memory.
    pub(super) fn waiting(&self) -> usize {
        self.queue.0.load(Ordering::Relaxed)
    }

    /// Reserves memory without a wait.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Option<Reservation>, NoRoom> {
        self.budget.as_ref().map(|budget| budget.reserve(bytes)).transpose()
    }

    /// Runs a query of a caller. `run` executes it, and may be called several times.
    ///
    /// A query for which there is no room gives back what it holds and starts again when there is room. So no request
    /// holds memory while it waits.
    ///
    /// # Errors
    /// As `run`; [`Error::NoRoom`] if the query needs more than one query may take, if there is no room within
    /// [`Limits::memory_wait`], or if the queue is full.
    pub(super) fn run<T>(
        &self,
        execution: &Execution,
        limits: &Limits,
        run: impl Fn(Execution) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(budget) = &self.budget else {
            return run(execution.clone());
        };
        let mut reservation = budget.reserve(0)?;
        let mut wait_limit = None;
        loop {
            let counted = Execution { memory: Some(Arc::new(reservation)), ..execution.clone() };
            match run(counted) {
                Err(Error::NoRoom(missing)) => {
                    let wait_limit = wait_limit.get_or_insert_with(|| execution.interrupt.within(limits.memory_wait));
                    if missing.is_too_large() || wait_limit.check().is_err() {
                        return Err(missing.into());
                    }
                    let _slot = self.queue.enter(limits.memory_queue).ok_or(missing)?;
                    let reserved = budget.reserve_within(missing.bytes, wait_limit);
                    execution.interrupt.check()?;
                    reservation = reserved?;
                }
                result => return result,
            }
        }
    }
}

/// Returns the options of a query that the service runs for itself, which never waits for memory.
pub(super) fn internal_execution(memory: Option<&MemoryBudget>, interrupt: &Interrupt) -> Result<Execution, NoRoom> {
    let reservation = memory.map(|memory| memory.reserve(0)).transpose()?;
    Ok(Execution { interrupt: interrupt.clone(), memory: reservation.map(Arc::new), ..Execution::default() })
}

/// The number of requests that wait for memory.
#[derive(Debug, Default)]
struct MemoryQueue(AtomicUsize);

impl MemoryQueue {
    /// Takes a slot of the queue, which is given back on drop. Returns `None` if all `slots` are taken.
    fn enter(&self, slots: usize) -> Option<impl Drop> {
        struct QueueSlot<'a>(&'a AtomicUsize);
        impl Drop for QueueSlot<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let waiting = self.0.fetch_add(1, Ordering::Relaxed);
        let slot = QueueSlot(&self.0);
        (waiting < slots).then_some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryQueue;

    #[test]
    fn a_queue_admits_at_most_its_number_of_slots() {
        let queue = MemoryQueue::default();
        let slots = [(); 3].map(|()| queue.enter(2));
        assert_eq!(slots.each_ref().map(Option::is_some), [true, true, false]);
        drop(slots);
        assert!(queue.enter(1).is_some() && queue.enter(0).is_none());
    }
}
