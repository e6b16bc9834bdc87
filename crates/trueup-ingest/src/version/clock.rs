//! What time it is by the clock of the store or of the file system. The clock of this machine decides over no file: it
//! may differ from those of other machines by any time.

use std::time::{Duration, Instant, SystemTime};

/// The time that the store or the file system gave to a file of the writer, and when that was.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorageClock {
    written: SystemTime,
    read: Instant,
}

impl StorageClock {
    /// Takes the time of a file that was just written.
    pub(super) fn new(written: SystemTime) -> Self {
        Self { written, read: Instant::now() }
    }

    /// Returns the time. If the machine has slept since the file was written, it is too early, so that what would be
    /// due waits for the next writer.
    pub(super) fn now(self) -> SystemTime {
        self.written.checked_add(self.read.elapsed()).unwrap_or(self.written)
    }

    /// Returns how long ago something was written; zero if it is not.
    pub(super) fn age(self, written: SystemTime) -> Duration {
        self.now().duration_since(written).unwrap_or_default()
    }
}
