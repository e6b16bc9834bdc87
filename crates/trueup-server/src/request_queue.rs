//! The requests that may run at the same time, and the ones that wait for their turn.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Known keys above which the ones without requests are forgotten.
const MANY_KEYS: usize = 4_096;

/// A queue with one permit for each request that may run at the same time. The requests with one key get three quarters
/// of the permits, and wait for each other; so one key never makes all others wait.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    permits: Arc<Semaphore>,
    limit: usize,
    waiting: AtomicUsize,
    /// The permits of each key, by its hash.
    by_key: Mutex<HashMap<u64, Weak<Semaphore>>>,
    hasher: RandomState,
}

/// The permit of a request that runs.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    _of_all: OwnedSemaphorePermit,
    _of_key: OwnedSemaphorePermit,
}

impl RequestQueue {
    /// Creates a queue of at most `limit` running requests; 0 counts as 1.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            waiting: AtomicUsize::new(0),
            by_key: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Waits for a permit for a request with a key, as it was sent; requests without a key share the permits of one.
    /// `None` would mean that a semaphore was closed, which nothing does.
    pub(crate) async fn enter(&self, key: Option<&str>) -> Option<RequestPermit> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Dropped even if the client leaves meanwhile.
        let _waiting = Waiting(&self.waiting);
        // Whoever waits for others with the same key must not hold a permit that other keys could use.
        let _of_key = self.permits_of(key.map(str::trim)).acquire_owned().await.ok()?;
        let _of_all = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        Some(RequestPermit { _of_all, _of_key })
    }

    /// Returns the permits of a key.
    fn permits_of(&self, key: Option<&str>) -> Arc<Semaphore> {
        let hash = self.hasher.hash_one(key);
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = by_key.get(&hash).and_then(Weak::upgrade) {
            return permits;
        }
        if by_key.len() >= MANY_KEYS {
            by_key.retain(|_, permits| permits.strong_count() > 0);
        }
        let permits = Arc::new(Semaphore::new((self.limit / 4 * 3 + self.limit % 4).max(1)));
        by_key.insert(hash, Arc::downgrade(&permits));
        permits
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// Returns a permit if there is one now.
    fn try_enter(queue: &RequestQueue, key: Option<&str>) -> Option<RequestPermit> {
        match pin!(queue.enter(key)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_key_leaves_permits_to_others() {
        let queue = RequestQueue::new(8);
        let mut one: Vec<_> = (0..8).map_while(|_| try_enter(&queue, Some("one"))).collect();
        assert_eq!((one.len(), queue.running(), queue.waiting()), (6, 6, 0));
        // White space does not make another key, and requests without a key share theirs.
        assert!(try_enter(&queue, Some(" one ")).is_none());
        let others = [try_enter(&queue, None), try_enter(&queue, Some("other"))];
        assert!(others.iter().all(Option::is_some) && try_enter(&queue, Some("other")).is_none());
        one.pop();
        assert!(try_enter(&queue, Some("one")).is_some());
    }

    #[test]
    fn a_small_queue_has_a_permit_for_each_key() {
        for (limit, of_key) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4)] {
            let queue = RequestQueue::new(limit);
            let held: Vec<_> = (0..9).map_while(|_| try_enter(&queue, None)).collect();
            assert_eq!(held.len(), of_key, "{limit}");
        }
    }

    #[test]
    fn keys_without_requests_are_forgotten() {
        let queue = RequestQueue::new(4);
        for key in 0..2 * MANY_KEYS {
            assert!(try_enter(&queue, Some(&key.to_string())).is_some());
        }
        assert!(queue.by_key.lock().unwrap().len() <= MANY_KEYS);
    }
}
