//! Reading ahead from object stores: while row groups are decoded and aggregated, the columns of the next ones are on
//! their way.

use super::checked_file::StartedReads;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most row groups that are read ahead of the last one that was taken.
const ROW_GROUPS: usize = 16;

/// The bytes of row groups that have not been taken, in the whole process, beyond which no more are read ahead.
const BYTES: u64 = 64 << 20;

/// The bytes of all [`CountedBytes`].
static BYTES_AHEAD: AtomicU64 = AtomicU64::new(0);

/// Reads row groups ahead of the threads that take them. Dropping it cancels what is still on its way.
pub(crate) struct ReadAhead<F> {
    /// Starts to read the row group at a place; `None` beyond the last.
    start: F,
    /// `None` if the dataset is not in a store.
    started: Option<Mutex<Started>>,
}

/// The row groups that have not been taken.
#[derive(Default)]
struct Started {
    /// The place of the next row group to read ahead.
    next: usize,
    /// What is being read ahead, by the place of its row group.
    readings: HashMap<usize, (StartedReads, CountedBytes)>,
}

impl<F: Fn(usize) -> Option<StartedReads>> ReadAhead<F> {
    pub(crate) fn new(is_remote: bool, start: F) -> Self {
        Self { start, started: is_remote.then(Mutex::default) }
    }

    /// Takes what has been read of the row group at a place before it was needed, and starts to read the next ones.
    /// Each place is taken at most once.
    pub(crate) fn take(&self, at: usize) -> StartedReads {
        let Some(started) = &self.started else { return StartedReads::default() };
        // The code that holds the lock cannot panic.
        let mut started = started.lock().unwrap_or_else(PoisonError::into_inner);
        // The places before this one have been given to other threads.
        started.next = started.next.max(at);
        while started.next <= at.saturating_add(ROW_GROUPS) && BYTES_AHEAD.load(Ordering::Relaxed) < BYTES {
            let Some(reading) = (self.start)(started.next) else { break };
            let (place, bytes) = (started.next, CountedBytes::new(reading.bytes()));
            started.readings.insert(place, (reading, bytes));
            started.next += 1;
        }
        started.readings.remove(&at).map(|(reading, _)| reading).unwrap_or_default()
    }
}

/// A number of bytes, which counts in [`BYTES_AHEAD`] until it is dropped.
struct CountedBytes(u64);

impl CountedBytes {
    fn new(bytes: u64) -> Self {
        BYTES_AHEAD.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        BYTES_AHEAD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of 40 places are started when the places `taken` are taken.
    fn started(is_remote: bool, taken: &[usize]) -> Vec<usize> {
        let started = Mutex::new(Vec::new());
        let ahead = ReadAhead::new(is_remote, |at| {
            started.lock().unwrap().push(at);
            (at < 40).then(StartedReads::default)
        });
        taken.iter().for_each(|at| drop(ahead.take(*at)));
        drop(ahead);
        started.into_inner().unwrap()
    }

    #[test]
    fn each_place_is_started_once_and_a_bounded_number_ahead() {
        assert_eq!(started(true, &[0]), (0..=16).collect::<Vec<_>>());
        assert_eq!(started(true, &[0, 1, 2]), (0..=18).collect::<Vec<_>>());
        // Threads take places in any order.
        assert_eq!(started(true, &[1, 0, 3, 2]), (1..=19).collect::<Vec<_>>());
        assert_eq!(started(true, &[20, 39]), [(20..=36).collect(), vec![39, 40]].concat());
        assert_eq!(started(false, &[0, 1, 2]), [0; 0]);
    }
}
