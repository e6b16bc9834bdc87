//! One after the other, for a limited time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A lock that is waited for until a deadline, so that nobody waits for all who came before.
#[derive(Default)]
pub(super) struct Turn {
    is_taken: Mutex<bool>,
    given_back: Condvar,
}

/// Gives the turn back when dropped.
pub(super) struct Taken<'a>(&'a Turn);

impl Turn {
    /// `None` if others had the turn until the deadline.
    pub(super) fn take(&self, deadline: Instant) -> Option<Taken<'_>> {
        let mut is_taken = self.state();
        while *is_taken {
            let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            is_taken = self.given_back.wait_timeout(is_taken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_taken = true;
        Some(Taken(self))
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.state() = false;
        self.0.given_back.notify_one();
    }
}
