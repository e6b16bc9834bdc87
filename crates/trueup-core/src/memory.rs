//! One memory budget for decoded columns, running queries, and their answers.

#[cfg(test)]
mod tests;

use crate::Interrupt;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How often a waiting request checks whether its interrupt has fired.
const WAIT_STEP: Duration = Duration::from_millis(20);

/// The bytes that decoded columns, running queries and their answers may take together. Clones share one budget.
///
/// Columns stay in memory until something else needs their place. A query may take half of what other queries and
/// answers leave, so that answers that are not fetched never keep out a small query. A query counts what it may collect
/// from a batch of events before it does. The budget counts neither columns while they are decoded nor dropped columns
/// that a query still reads.
///
/// The reservations of one [user](Self::for_user) together may take half of what everyone else leaves, so that answers
/// that one user does not fetch never keep out another user.
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
pub struct MemoryBudget {
    shared: Arc<Shared>,
    /// The user whose share the reservations count against; `None` for the process itself.
    user: Option<Arc<str>>,
}

/// What the clones of a budget share.
struct Shared {
    limit: usize,
    state: Mutex<State>,
    /// Signals that bytes were given back.
    changed: Condvar,
    /// The caches whose columns, or other contents, count.
    caches: Mutex<Vec<Weak<dyn Evict>>>,
}

#[derive(Default)]
struct State {
    /// Bytes of queries and answers.
    reserved: usize,
    /// The part of `reserved` that each user has; only users with bytes are listed.
    by_user: HashMap<Arc<str>, usize>,
    /// Bytes of decoded columns, and of what other caches hold.
    columns: usize,
    /// The most bytes that columns, queries and answers ever took together.
    peak: usize,
}

/// A cache that can give up its memory, such as that of decoded columns or of gathered months of benchmarks.
pub trait Evict: Send + Sync {
    /// Drops at least `bytes`, if the cache holds that many. Returns the bytes that it dropped.
    fn evict(&self, bytes: usize) -> usize;
}

/// The error that the budget has no room for a query or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Bytes that the query or the answer would have taken up to the point where it failed.
    pub bytes: usize,
    /// The bytes of the budget.
    pub limit: usize,
}

impl NoRoom {
    /// Returns whether there would be no room even if nothing else was held.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        self.bytes > self.limit / 2
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, limit } = self;
        write!(f, "the query needs at least {bytes} bytes of memory, ")?;
        if self.is_too_large() {
            write!(f, "and one may take {}; reduce the fields, the accounts or the range", limit / 2)
        } else {
            write!(f, "but other queries and answers leave too few of the {limit} bytes; try again when they are done")
        }
    }
}

impl std::error::Error for NoRoom {}

impl MemoryBudget {
    /// Returns a budget of `bytes`.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let shared =
            Shared { limit: bytes, state: Mutex::default(), changed: Condvar::new(), caches: Mutex::default() };
        Self { shared: Arc::new(shared), user: None }
    }

    /// Returns the same budget for the requests of one user: what they reserve counts against the user's share.
    ///
    /// ```
    /// use trueup_core::MemoryBudget;
    ///
    /// let budget = MemoryBudget::new(1 << 20);
    /// let anna = budget.for_user("anna");
    /// let _unread = [anna.reserve(300 << 10)?, anna.reserve(200 << 10)?];
    /// assert!(anna.reserve(100 << 10).is_err());
    /// assert!(budget.for_user("ben").reserve(100 << 10).is_ok());
    /// # Ok::<(), trueup_core::NoRoom>(())
    /// ```
    #[must_use]
    pub fn for_user(&self, user: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), user: Some(user.into()) }
    }

    /// Returns the bytes of the budget.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.shared.limit
    }

    /// Returns whether both are clones of one budget.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns the bytes that are held now.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.shared.state();
        state.reserved + state.columns
    }

    /// Returns the most bytes that were ever held at the same time.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.shared.state().peak
    }

    /// Reserves bytes for a query or an answer; reserving 0 bytes always succeeds.
    ///
    /// # Errors
    /// There is no room now.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, NoRoom> {
        self.take(0, bytes)?;
        Ok(Reservation { budget: self.clone(), bytes: Mutex::new(ReservedBytes { used: 0, held: bytes }) })
    }

    /// Reserves bytes as soon as there is room for them. Waits for room until `patience` fires.
    ///
    /// # Errors
    /// There was no room before `patience` fired, or there could be none even if nothing else was held.
    pub fn reserve_within(&self, bytes: usize, patience: &Interrupt) -> Result<Reservation, NoRoom> {
        loop {
            match self.reserve(bytes) {
                Err(no_room) if no_room.is_too_large() || patience.check().is_err() => return Err(no_room),
                // If bytes are given back just before the wait begins, the next step finds them.
                Err(_) => drop(self.shared.changed.wait_timeout(self.shared.state(), WAIT_STEP)),
                reserved => return reserved,
            }
        }
    }

    /// Takes `more` bytes for a holder that has taken `held` bytes before. The holder may then have half of what the
    /// others leave, and so may its user. Drops columns if there is no room otherwise.
    fn take(&self, held: usize, more: usize) -> Result<(), NoRoom> {
        let limit = self.shared.limit;
        loop {
            let mut state = self.shared.state();
            let (bytes, others) = (held.saturating_add(more), state.reserved - held);
            let is_refused = more > 0
                && (others.saturating_add(bytes.saturating_mul(2)) > limit
                    || !state.has_share(&self.user, more, limit));
            if is_refused {
                return Err(NoRoom { bytes, limit });
            }
            let reserved = state.reserved + more;
            let missing = (reserved + state.columns).saturating_sub(limit);
            if missing == 0 || more == 0 {
                state.reserved = reserved;
                state.count_user(&self.user, |bytes| bytes + more);
                state.peak = state.peak.max(reserved + state.columns);
                return Ok(());
            }
            let columns = state.columns;
            drop(state);
            // Other threads may add and drop columns meanwhile.
            if self.evict(missing) == 0 && self.shared.state().columns == columns {
                return Err(NoRoom { bytes, limit });
            }
        }
    }

    /// Gives back reserved bytes.
    fn give_back(&self, bytes: usize) {
        let mut state = self.shared.state();
        state.reserved -= bytes;
        state.count_user(&self.user, |held| held - bytes);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Makes caches drop columns, and returns the bytes that they dropped. The state must not be locked meanwhile,
    /// because a cache counts its columns while it is itself locked.
    fn evict(&self, bytes: usize) -> usize {
        let caches: Vec<_> = {
            let mut caches = self.shared.caches.lock().unwrap_or_else(PoisonError::into_inner);
            caches.retain(|cache| cache.strong_count() > 0);
            caches.iter().filter_map(Weak::upgrade).collect()
        };
        caches.iter().fold(0, |dropped, cache| dropped + cache.evict(bytes.saturating_sub(dropped)))
    }

    /// Adds a cache that drops columns, or what it holds in place of columns, when there is no room.
    pub fn watch(&self, cache: Weak<dyn Evict>) {
        self.shared.caches.lock().unwrap_or_else(PoisonError::into_inner).push(cache);
    }

    /// Changes the counted bytes of a [watched](Self::watch) cache from `before` to `after`. Returns `false`, and
    /// changes nothing, if there is no room.
    pub fn count_columns(&self, before: usize, after: usize) -> bool {
        let mut state = self.shared.state();
        let columns = state.columns - before + after;
        let fits = after <= before || state.reserved + columns <= self.shared.limit;
        if fits {
            state.columns = columns;
            state.peak = state.peak.max(state.reserved + columns);
        }
        fits
    }
}

impl State {
    /// Returns whether `more` bytes of a user are within half of what all others leave of the budget.
    fn has_share(&self, user: &Option<Arc<str>>, more: usize, limit: usize) -> bool {
        let Some(user) = user else { return true };
        let held = self.by_user.get(user).copied().unwrap_or(0);
        let others = self.reserved - held;
        others.saturating_add(held.saturating_add(more).saturating_mul(2)) <= limit
    }

    /// Changes the bytes of a user.
    fn count_user(&mut self, user: &Option<Arc<str>>, change: impl FnOnce(usize) -> usize) {
        let Some(user) = user else { return };
        let held = change(self.by_user.get(user).copied().unwrap_or(0));
        if held == 0 {
            self.by_user.remove(user);
        } else {
            self.by_user.insert(Arc::clone(user), held);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The code that holds the lock cannot panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Users are not shown, because a log may have this text.
        let (held, peak) = (self.held(), self.peak());
        f.debug_struct("MemoryBudget").field("limit", &self.limit()).field("held", &held).field("peak", &peak).finish()
    }
}

/// Bytes of a [`MemoryBudget`] for a query and its answer, given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: Mutex<ReservedBytes>,
}

/// The bytes of a reservation.
#[derive(Debug)]
struct ReservedBytes {
    /// The bytes that the shares of the reservation use.
    used: usize,
    /// The bytes that the reservation takes from the budget: at least `used`.
    held: usize,
}

impl Reservation {
    /// Returns the bytes that are reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locked().held
    }

    /// Changes the number of reserved bytes.
    ///
    /// # Errors
    /// There is no room now for as many; the reservation is then what it was.
    pub fn resize(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let held = self.bytes();
        if bytes > held {
            self.budget.take(held, bytes - held)?;
        } else {
            self.budget.give_back(held - bytes);
        }
        self.locked().held = bytes;
        Ok(())
    }

    /// Uses `more` bytes. Takes bytes from the budget only if the reserved bytes are not enough.
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

    /// Uses `less` fewer bytes. They stay reserved until [`settle`](Self::settle).
    fn shrink(&self, less: usize) {
        self.locked().used -= less;
    }

    /// Gives back the bytes that are not used.
    fn settle(&self) {
        let mut bytes = self.locked();
        let spare = bytes.held - bytes.used;
        bytes.held = bytes.used;
        drop(bytes);
        if spare > 0 {
            self.budget.give_back(spare);
        }
    }

    fn locked(&self) -> MutexGuard<'_, ReservedBytes> {
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

/// Returns the bytes that a list with `len` entries, and room for `capacity`, may take while `more` entries of `entry`
/// bytes are added: if it grows, the old and the new list are held at the same time.
pub(crate) const fn list_bytes_while_adding(len: usize, capacity: usize, more: usize, entry: usize) -> usize {
    let needed = len + more;
    if needed <= capacity {
        return capacity * entry;
    }
    let grown = if needed < 2 * capacity { 2 * capacity } else { needed };
    (capacity + grown) * entry
}

/// Returns the bytes that a column of `values` may take while `more` values are added.
pub(crate) fn column_bytes_while_adding<T>(values: &Vec<T>, more: usize) -> usize {
    list_bytes_while_adding(values.len(), values.capacity(), more, size_of::<T>())
}

/// Returns the bytes that a hash table with `len` entries, room for `capacity`, and `bytes` bytes may take while `more`
/// entries of `entry` bytes are added.
pub(crate) fn table_bytes_while_adding(len: usize, capacity: usize, bytes: usize, more: usize, entry: usize) -> usize {
    // A table that has grown is at least seven sixteenths full, and holds a byte more for each place.
    let grown = if len + more > capacity { (len + more).max(capacity + 1) * (entry + 1) * 16 / 7 } else { 0 };
    bytes + grown
}

/// The bytes that one thread of a query, or its answer, uses of the query's reservation, given up on drop. Nothing is
/// counted for a query without a reservation.
#[derive(Debug)]
pub(crate) struct MemoryLease {
    reservation: Option<Arc<Reservation>>,
    bytes: usize,
}

impl MemoryLease {
    pub(crate) const fn new(reservation: Option<Arc<Reservation>>) -> Self {
        Self { reservation, bytes: 0 }
    }

    /// Sets the bytes in use. `bytes` is not called if nothing is counted.
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

    /// Raises the bytes in use to at least `bytes`, which is not called if nothing is counted. Takes no lock if as many
    /// are in use.
    pub(crate) fn raise(&mut self, bytes: impl FnOnce() -> usize) -> Result<(), NoRoom> {
        if let Some(reservation) = &self.reservation {
            let bytes = bytes();
            if bytes > self.bytes {
                reservation.grow(bytes - self.bytes)?;
                self.bytes = bytes;
            }
        }
        Ok(())
    }

    /// Gives back the bytes that the query has reserved and does not use.
    pub(crate) fn settle(&self) {
        if let Some(reservation) = &self.reservation {
            reservation.settle();
        }
    }

    /// Uses more bytes until the returned share is dropped.
    pub(crate) fn more(&self, bytes: usize) -> Result<Self, NoRoom> {
        let mut more = Self::new(self.reservation.clone());
        more.set(|| bytes)?;
        Ok(more)
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        if let Some(reservation) = &self.reservation {
            reservation.shrink(self.bytes);
        }
    }
}
