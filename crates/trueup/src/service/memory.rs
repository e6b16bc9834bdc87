//! Runs queries within a memory budget, which users share.

use super::limits::Limits;
use crate::{Error, Execution, Interrupt, MemoryBudget, NoRoom, Reservation};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory that queries and answers share, and the queue of requests that wait for it.
#[derive(Default)]
pub(super) struct QueryMemory {
    /// If there is no budget, nothing is counted and nothing is refused.
    budget: Option<MemoryBudget>,
    queue: MemoryQueue,
}

/// The memory as a user's requests see it, who has a share of the budget and of the queue.
pub(super) struct UserMemory<'a> {
    budget: Option<MemoryBudget>,
    queue: &'a MemoryQueue,
    /// `None` for a program that asks the service itself, which has no share but all of it.
    user: Option<&'a str>,
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
        self.queue.places().waiting
    }

    /// Returns the memory for the requests of a user.
    pub(super) fn for_user<'a>(&'a self, user: &'a str) -> UserMemory<'a> {
        let budget = self.budget.as_ref().map(|budget| budget.for_user(user));
        UserMemory { budget, queue: &self.queue, user: Some(user) }
    }

    /// Returns the memory for a program that calls the service without a user.
    pub(super) fn for_program(&self) -> UserMemory<'_> {
        UserMemory { budget: self.budget.clone(), queue: &self.queue, user: None }
    }
}

impl UserMemory<'_> {
    /// Reserves memory without a wait; `None` if nothing is counted.
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
                    let _place = self.queue.enter(limits.memory_queue, self.user).ok_or(missing)?;
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

/// The requests that wait for memory.
#[derive(Debug, Default)]
struct MemoryQueue(Mutex<QueuePlaces>);

#[derive(Debug, Default)]
struct QueuePlaces {
    waiting: usize,
    /// How many of them each user has; only users who wait are listed.
    by_user: HashMap<String, usize>,
}

impl MemoryQueue {
    /// Takes a place of the queue, which is given back on drop. Returns `None` if all `places` are taken, or if the
    /// user has half of them already.
    fn enter<'a>(&'a self, places: usize, user: Option<&'a str>) -> Option<impl Drop + use<'a>> {
        struct QueuePlace<'a> {
            queue: &'a MemoryQueue,
            user: Option<&'a str>,
        }
        impl Drop for QueuePlace<'_> {
            fn drop(&mut self) {
                let mut taken = self.queue.places();
                taken.waiting -= 1;
                if let Some(user) = self.user
                    && let Some(of_user) = taken.by_user.get_mut(user)
                {
                    *of_user -= 1;
                    if *of_user == 0 {
                        taken.by_user.remove(user);
                    }
                }
            }
        }
        let mut taken = self.places();
        let of_user = user.and_then(|user| taken.by_user.get(user).copied()).unwrap_or(0);
        if taken.waiting >= places || of_user >= places.div_ceil(2) {
            return None;
        }
        taken.waiting += 1;
        if let Some(user) = user {
            taken.by_user.insert(user.to_owned(), of_user + 1);
        }
        Some(QueuePlace { queue: self, user })
    }

    fn places(&self) -> MutexGuard<'_, QueuePlaces> {
        // The code that holds the lock cannot panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryQueue;

    #[test]
    fn a_queue_admits_at_most_its_number_of_requests() {
        let queue = MemoryQueue::default();
        let places = [(); 3].map(|()| queue.enter(2, None));
        assert_eq!(places.each_ref().map(Option::is_some), [true, true, false]);
        drop(places);
        assert!(queue.enter(1, None).is_some() && queue.enter(0, None).is_none());
    }

    #[test]
    fn a_user_has_at_most_half_of_a_queue() {
        let queue = MemoryQueue::default();
        let places = ["anna", "anna", "anna", "ben", "ben"].map(|user| queue.enter(4, Some(user)));
        assert_eq!(places.each_ref().map(Option::is_some), [true, true, false, true, true]);
        drop(places);
        let taken = queue.places();
        assert_eq!((taken.waiting, taken.by_user.len()), (0, 0));
        drop(taken);
        assert!(queue.enter(1, Some("anna")).is_some());
    }
}
