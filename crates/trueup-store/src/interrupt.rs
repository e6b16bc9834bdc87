//! What ends a query or an ingest early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Ends queries before they are answered, and ingests before they are published. An interrupt fires at its deadline, or
/// when it is canceled: by [`cancel`](Self::cancel), or by the flag that it was made [`on`](Self::on). Clones share the
/// cancellation.
///
/// ```
/// use trueup_store::{Interrupt, Interruption};
///
/// let interrupt = Interrupt::default();
/// interrupt.cancel();
/// assert_eq!(interrupt.check(), Err(Interruption::Canceled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    deadline: Option<Instant>,
    canceled: Arc<AtomicBool>,
}

/// What ended a query or an ingest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interruption {
    /// The deadline passed.
    #[error("the query took longer than it may")]
    Deadline,
    /// The query or the ingest was canceled.
    #[error("the query was canceled")]
    Canceled,
}

impl Interrupt {
    /// Returns an interrupt that fires `time` from now. A time that is too long for the clock sets no deadline.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self::default().within(time)
    }

    /// Returns an interrupt that fires when this one does, and at the latest `time` from now. To cancel either is to
    /// cancel both.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let deadline = Instant::now().checked_add(time).into_iter().chain(self.deadline).min();
        Self { deadline, canceled: Arc::clone(&self.canceled) }
    }

    /// Returns an interrupt that fires when the flag is set. A signal handler can set it.
    #[must_use]
    pub const fn on(flag: Arc<AtomicBool>) -> Self {
        Self { deadline: None, canceled: flag }
    }

    /// Ends the queries and ingests that hold this interrupt, a clone of it, or an interrupt that
    /// [`within`](Self::within) made from it. If `within` made this interrupt from another, also those of the other.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Checks whether a query or an ingest may continue.
    ///
    /// # Errors
    /// The interrupt was canceled, or its deadline has passed.
    #[inline]
    pub fn check(&self) -> Result<(), Interruption> {
        if self.canceled.load(Ordering::Relaxed) {
            return Err(Interruption::Canceled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Interruption::Deadline),
            _ => Ok(()),
        }
    }

    /// Waits until no other thread holds the lock of `mutex`, or until the interrupt fires. A thread that panicked
    /// while it held the lock must have left nothing half done.
    ///
    /// # Errors
    /// The interrupt fires.
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Interruption> {
        /// The time between two attempts.
        const PAUSE: Duration = Duration::from_millis(1);

        loop {
            match mutex.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    self.check()?;
                    thread::sleep(PAUSE);
                }
            }
        }
    }
}
