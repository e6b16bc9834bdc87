//! How a query is executed.

use crate::{Interrupt, Reservation};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a query is executed. Options decide whether and how fast a query is answered; none changes a byte of the answer.
///
/// ```
/// use std::time::Duration;
/// use trueup_core::{Execution, Interrupt};
///
/// let interrupt = Interrupt::after(Duration::from_secs(10));
/// let execution = Execution { max_rows: Some(100_000), interrupt, ..Execution::default() };
/// assert!(execution.pruning);
/// ```
#[derive(Clone, Debug)]
pub struct Execution {
    /// The number of threads; `None` shares the threads of the process, and uses fewer where there is little to do.
    pub threads: Option<NonZeroUsize>,
    /// Whether row groups that statistics rule out are left unread.
    pub pruning: bool,
    /// The largest number of rows that the answer may have before conditions on metrics; `None` sets no limit. A query
    /// with more rows ends with [`QueryError::TooManyRows`](crate::QueryError::TooManyRows) as soon as it has found
    /// them.
    pub max_rows: Option<usize>,
    /// Ends the query early, at a deadline or when it is canceled; the default never does.
    pub interrupt: Interrupt,
    /// Counts the memory of the query, and that of its answer until it is dropped; `None` counts nothing. A query that
    /// does not fit ends with [`Error::NoRoom`](crate::Error::NoRoom).
    pub memory: Option<Arc<Reservation>>,
}

impl Default for Execution {
    fn default() -> Self {
        Self { threads: None, pruning: true, max_rows: None, interrupt: Interrupt::default(), memory: None }
    }
}
