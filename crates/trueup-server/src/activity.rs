//! Whether a connection is being answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

/// How many requests of one connection have begun and how many have ended; they follow one another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Of who waits for the next end.
    waker: Mutex<Option<Waker>>,
}

impl Activity {
    /// A request has been read; it ends when what is returned is dropped.
    pub(crate) fn begin(&self) -> Answering {
        self.counts.begun.fetch_add(1, Ordering::Relaxed);
        Answering { counts: Arc::clone(&self.counts) }
    }

    /// Requests so far.
    pub(crate) fn begun(&self) -> u64 {
        self.counts.begun.load(Ordering::Relaxed)
    }

    /// Whether a request has begun that has not ended.
    pub(crate) fn is_answering(&self) -> bool {
        self.begun() > self.counts.ended.load(Ordering::Acquire)
    }

    /// Wakes the task when the present request ends.
    pub(crate) fn wake_at_end(&self, waker: &Waker) {
        *self.counts.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }
}

/// A request that has not ended.
#[derive(Debug)]
pub(crate) struct Answering {
    counts: Arc<Counts>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.counts.ended.fetch_add(1, Ordering::Release);
        let waker = self.counts.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
