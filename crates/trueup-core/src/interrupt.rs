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
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::query::EventsQuery;
/// use trueup_core::{Error, Execution, Interrupt, Interruption};
///
/// let interrupt = Interrupt::default();
/// interrupt.cancel();
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// let refused = dataset.run(&query, Execution { interrupt, ..Execution::default() });
/// assert!(matches!(refused, Err(Error::Interrupted(Interruption::Canceled))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Interruption> {
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

/// The number of bytes that regular expressions are matched with between two checks of the interrupt: few, because a
/// large expression may take some 100 microseconds for each, and enough that the checks take a small part of the time
/// that small expressions take. Any other test counts as one byte.
pub(crate) const INTERRUPT_CHECK_BYTES: usize = 128;

/// Checks an interrupt once in a while, while texts are tested.
#[derive(Debug)]
pub(crate) struct InterruptChecks<'a> {
    interrupt: &'a Interrupt,
    /// The number of bytes since the last check.
    unchecked: usize,
}

impl<'a> InterruptChecks<'a> {
    pub(crate) const fn new(interrupt: &'a Interrupt) -> Self {
        Self { interrupt, unchecked: 0 }
    }

    /// Counts a match of a regular expression with a text, and checks the interrupt if it is time. The time of a match
    /// is proportional to the length of the text, and up to a thousand times that of other tests.
    #[inline]
    pub(crate) fn before_match(&mut self, text: &str) -> Result<(), Interruption> {
        self.count(text.len() + 1)
    }

    /// Counts a test that is no match of a regular expression, and checks the interrupt if it is time.
    #[inline]
    pub(crate) fn before_test(&mut self) -> Result<(), Interruption> {
        self.count(1)
    }

    #[inline]
    fn count(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.unchecked += bytes;
        if self.unchecked < INTERRUPT_CHECK_BYTES {
            return Ok(());
        }
        self.unchecked = 0;
        self.interrupt.check()
    }
}
