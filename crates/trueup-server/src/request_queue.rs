//! The requests that may run at the same time, and the ones that wait for their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A queue with one permit for each request that may run at the same time.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    permits: Arc<Semaphore>,
    limit: usize,
    waiting: AtomicUsize,
}

impl RequestQueue {
    /// Creates a queue of at most `limit` running requests; 0 counts as 1.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(limit)), limit, waiting: AtomicUsize::new(0) }
    }

    /// Waits for a permit. `None` would mean that the semaphore was closed, which nothing does.
    pub(crate) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Dropped even if the client leaves meanwhile.
        let _waiting = Waiting(&self.waiting);
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Returns the number of requests that run.
    pub(crate) fn running(&self) -> usize {
        self.limit - self.permits.available_permits()
    }

    /// Returns the number of requests that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns the largest number of running requests.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }
}
