//! One budget of memory for all that is held at once: columns, running queries, answers.

#[cfg(test)]
mod tests;

use crate::Interrupt;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How often a wait for room looks whether its request has been ended.
const STEP: Duration = Duration::from_millis(20);

/// The bytes that columns, running queries and their answers may take together. Clones share them.
///
/// Columns are held as long as nothing else needs their place. A query may take half of what other queries and answers leave, so answers
/// that nobody takes never keep out a query that needs little. What is held is known after each row group that a thread has read: the
/// budget counts neither the columns of the row groups that are being read nor what a query gathers of them.
///
/// ```
/// use trueup_core::MemoryBudget;
///
/// let budget = MemoryBudget::new(1 << 20);
/// let first = budget.reserve(400 << 10)?;
/// assert!(budget.reserve(400 << 10).is_err());
/// drop(first);
/// assert_eq!(budget.held(), 0);
/// # Ok::<(), trueup_core::NoRoom>(())
/// ```
#[derive(Clone)]
pub struct MemoryBudget(Arc<Shared>);

struct Shared {
    limit: usize,
    state: Mutex<State>,
    /// Something was given back.
    changed: Condvar,
    /// What holds columns.
    caches: Mutex<Vec<Weak<dyn Evict>>>,
}

#[derive(Debug, Default)]
struct State {
    /// By queries and answers.
    reserved: usize,
    columns: usize,
    /// The most that all took together.
    peak: usize,
}

/// What can give its memory to others.
pub(crate) trait Evict: Send + Sync {
    /// Drops at least `bytes`, if it holds them.
    fn evict(&self, bytes: usize);
}

/// The budget has no room for what a query or an answer would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of memory are needed at least, and of {limit} bytes for all queries one may take {}", limit / 2)]
pub struct NoRoom {
    /// Bytes that the query would have taken, as far as it had come.
    pub bytes: usize,
    /// Bytes of the budget.
    pub limit: usize,
}

impl NoRoom {
    /// Whether there would be no room either if nothing else was held.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        self.bytes > self.limit / 2
    }
}

impl MemoryBudget {
    /// Returns a budget of `bytes`.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Shared {
            limit: bytes,
            state: Mutex::default(),
            changed: Condvar::new(),
            caches: Mutex::default(),
        }))
    }

    /// Bytes of the budget.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// Bytes that are held now.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.0.state();
        state.reserved + state.columns
    }

    /// The most bytes that were held at once.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.0.state().peak
    }

    /// Reserves bytes for a query or an answer; 0 is always possible.
    ///
    /// # Errors
    /// There is no room now.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, NoRoom> {
        self.take(0, bytes)?;
        Ok(Reservation { budget: self.clone(), bytes: Mutex::new(Bytes { used: 0, held: bytes }) })
    }

    /// Reserves bytes as soon as there is room for them, until `patience` ends.
    ///
    /// # Errors
    /// There was no room until then, or never would be.
    pub fn reserve_within(&self, bytes: usize, patience: &Interrupt) -> Result<Reservation, NoRoom> {
        loop {
            match self.reserve(bytes) {
                Err(no_room) if no_room.is_too_large() || patience.check().is_err() => return Err(no_room),
                // What is given back before this waits is seen a step later.
                Err(_) => drop(self.0.changed.wait_timeout(self.0.state(), STEP)),
                reserved => return reserved,
            }
        }
    }

    /// Takes bytes for one who holds some.
    fn take(&self, held: usize, more: usize) -> Result<(), NoRoom> {
        let limit = self.0.limit;
        loop {
            let mut state = self.0.state();
            let (bytes, others) = (held.saturating_add(more), state.reserved - held);
            if more > 0 && others.saturating_add(bytes.saturating_mul(2)) > limit {
                return Err(NoRoom { bytes, limit });
            }
            let reserved = state.reserved + more;
            let missing = (reserved + state.columns).saturating_sub(limit);
            if missing == 0 || more == 0 {
                state.reserved = reserved;
                state.peak = state.peak.max(reserved + state.columns);
                return Ok(());
            }
            let columns = state.columns;
            drop(state);
            self.evict(missing);
            if self.0.state().columns >= columns {
                return Err(NoRoom { bytes, limit });
            }
        }
    }

    fn give_back(&self, bytes: usize) {
        self.0.state().reserved -= bytes;
        self.0.changed.notify_all();
    }

    /// Has columns dropped. They are not locked while the state is: whoever holds columns counts them while it is locked.
    fn evict(&self, bytes: usize) {
        let caches: Vec<_> = {
            let mut caches = self.0.caches.lock().unwrap_or_else(PoisonError::into_inner);
            caches.retain(|cache| cache.strong_count() > 0);
            caches.iter().filter_map(Weak::upgrade).collect()
        };
        let before = self.0.state().columns;
        for cache in caches {
            let dropped = before.saturating_sub(self.0.state().columns);
            cache.evict(bytes.saturating_sub(dropped));
        }
    }

    /// Has columns dropped from here, too, when there is no room.
    pub(crate) fn watch(&self, cache: Weak<dyn Evict>) {
        self.0.caches.lock().unwrap_or_else(PoisonError::into_inner).push(cache);
    }

    /// Counts columns that one holds; false, and nothing, if there is no room.
    pub(crate) fn count_columns(&self, before: usize, after: usize) -> bool {
        let mut state = self.0.state();
        let columns = state.columns - before + after;
        let fits = after <= before || state.reserved + columns <= self.0.limit;
        if fits {
            state.columns = columns;
            state.peak = state.peak.max(state.reserved + columns);
        }
        fits
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that may panic happens while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBudget").field("limit", &self.limit()).field("state", &*self.0.state()).finish()
    }
}

/// Bytes of a [`MemoryBudget`] for one query and its answer, given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: Mutex<Bytes>,
}

#[derive(Debug)]
struct Bytes {
    used: usize,
    /// Never less than what is used.
    held: usize,
}

impl Reservation {
    /// Bytes that are reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locked().held
    }

    /// Uses more, of what is reserved first.
    fn grow(&self, more: usize) -> Result<(), NoRoom> {
        let mut bytes = self.locked();
        let used = bytes.used.saturating_add(more);
        if used > bytes.held {
            self.budget.take(bytes.held, used - bytes.held)?;
            bytes.held = used;
        }
        bytes.used = used;
        Ok(())
    }

    /// Uses less; what is not used stays reserved until it is [settled](Self::settle).
    fn shrink(&self, less: usize) {
        self.locked().used -= less;
    }

    /// Gives back what is not used.
    fn settle(&self) {
        let mut bytes = self.locked();
        let spare = bytes.held - bytes.used;
        bytes.held = bytes.used;
        drop(bytes);
        if spare > 0 {
            self.budget.give_back(spare);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let held = self.locked().held;
        if held > 0 {
            self.budget.give_back(held);
        }
    }
}

/// What one part of a query uses of its reservation, if it has one; dropped, it uses nothing.
#[derive(Debug)]
pub(crate) struct Share {
    reservation: Option<Arc<Reservation>>,
    bytes: usize,
}

impl Share {
    pub(crate) const fn new(reservation: Option<Arc<Reservation>>) -> Self {
        Self { reservation, bytes: 0 }
    }

    /// Uses as many bytes as `bytes` says, which is not asked where nothing is counted.
    pub(crate) fn set(&mut self, bytes: impl FnOnce() -> usize) -> Result<(), NoRoom> {
        if let Some(reservation) = &self.reservation {
            let bytes = bytes();
            if bytes > self.bytes {
                reservation.grow(bytes - self.bytes)?;
            } else {
                reservation.shrink(self.bytes - bytes);
            }
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Gives back what the query has reserved and does not use.
    pub(crate) fn settle(&self) {
        if let Some(reservation) = &self.reservation {
            reservation.settle();
        }
    }

    /// Uses more for as long as this is held.
    pub(crate) fn more(&self, bytes: usize) -> Result<Self, NoRoom> {
        let mut more = Self::new(self.reservation.clone());
        more.set(|| bytes)?;
        Ok(more)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(reservation) = &self.reservation {
            reservation.shrink(self.bytes);
        }
    }
}
