//! How a query is carried out, and what ends it early.

use crate::Reservation;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a query is carried out; none of it changes a byte of an answer that is given.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Threads to work with; `None` shares those of the process, and takes fewer where there is little to do.
    pub threads: Option<NonZeroUsize>,
    /// Whether parts that statistics rule out are left unread.
    pub pruning: bool,
    /// The most rows that an answer may have before conditions on metrics; a query with more is refused while it aggregates.
    pub max_rows: Option<usize>,
    /// What ends the query before it is answered.
    pub interrupt: Interrupt,
    /// Where what the query gathers is counted, and its answer as long as that is held; `None` counts nothing. A query for which there
    /// is no room ends with [`Error::NoRoom`](crate::Error::NoRoom).
    pub memory: Option<Arc<Reservation>>,
}

impl Default for Execution {
    fn default() -> Self {
        Self { threads: None, pruning: true, max_rows: None, interrupt: Interrupt::default(), memory: None }
    }
}

/// Ends queries before they are answered: at a deadline, or when told to. Clones end together.
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

/// What ended a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interruption {
    /// The deadline passed.
    #[error("the query took longer than it may")]
    Deadline,
    /// It was told to end.
    #[error("the query was canceled")]
    Canceled,
}

impl Interrupt {
    /// Ends queries that are not answered in that time from now.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self::default().within(time)
    }

    /// Ends queries when this does, and when that time has passed from now.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let deadline = Instant::now().checked_add(time).into_iter().chain(self.deadline).min();
        Self { deadline, canceled: Arc::clone(&self.canceled) }
    }

    /// Ends the queries that hold this or a clone of it.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// What ends the queries that hold this.
    pub fn check(&self) -> Result<(), Interruption> {
        if self.canceled.load(Ordering::Relaxed) {
            return Err(Interruption::Canceled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Interruption::Deadline),
            _ => Ok(()),
        }
    }
}
