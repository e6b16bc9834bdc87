//! The requests that may run at the same time, and the ones that wait for their turn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Known users above which the ones without requests are forgotten.
const MANY_USERS: usize = 4_096;

/// A queue with one permit for each request that may run at the same time. The requests of one user get three quarters
/// of the permits, and wait for each other; so one user never makes all others wait.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    permits: Arc<Semaphore>,
    limit: usize,
    waiting: AtomicUsize,
    /// The permits of each user.
    by_user: Mutex<HashMap<Option<String>, Weak<Semaphore>>>,
}

/// The permit of a request that runs.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    _of_all: OwnedSemaphorePermit,
    _of_user: OwnedSemaphorePermit,
}

impl RequestQueue {
    /// Creates a queue of at most `limit` running requests; 0 counts as 1.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            waiting: AtomicUsize::new(0),
            by_user: Mutex::default(),
        }
    }

    /// Waits for a permit for a request of a user; requests of nobody share the permits of one.
    /// `None` would mean that a semaphore was closed, which nothing does.
    pub(crate) async fn enter(&self, user: Option<String>) -> Option<RequestPermit> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Dropped even if the client leaves meanwhile.
        let _waiting = Waiting(&self.waiting);
        // Whoever waits for others of the same user must not hold a permit that other users could use.
        let _of_user = self.permits_of(user).acquire_owned().await.ok()?;
        let _of_all = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        Some(RequestPermit { _of_all, _of_user })
    }

    /// Returns the permits of a user.
    fn permits_of(&self, user: Option<String>) -> Arc<Semaphore> {
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = by_user.get(&user).and_then(Weak::upgrade) {
            return permits;
        }
        if by_user.len() >= MANY_USERS {
            by_user.retain(|_, permits| permits.strong_count() > 0);
        }
        let permits = Arc::new(Semaphore::new((self.limit / 4 * 3 + self.limit % 4).max(1)));
        by_user.insert(user, Arc::downgrade(&permits));
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
    fn try_enter(queue: &RequestQueue, user: Option<&str>) -> Option<RequestPermit> {
        match pin!(queue.enter(user.map(str::to_owned))).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_user_leaves_permits_to_others() {
        let queue = RequestQueue::new(8);
        let mut one: Vec<_> = (0..8).map_while(|_| try_enter(&queue, Some("one"))).collect();
        assert_eq!((one.len(), queue.running(), queue.waiting()), (6, 6, 0));
        assert!(try_enter(&queue, Some("one")).is_none());
        // Requests of nobody share theirs.
        let others = [try_enter(&queue, None), try_enter(&queue, Some("other"))];
        assert!(others.iter().all(Option::is_some) && try_enter(&queue, Some("other")).is_none());
        one.pop();
        assert!(try_enter(&queue, Some("one")).is_some());
    }

    #[test]
    fn a_small_queue_has_a_permit_for_each_user() {
        for (limit, of_user) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4)] {
            let queue = RequestQueue::new(limit);
            let held: Vec<_> = (0..9).map_while(|_| try_enter(&queue, None)).collect();
            assert_eq!(held.len(), of_user, "{limit}");
        }
    }

    #[test]
    fn users_without_requests_are_forgotten() {
        let queue = RequestQueue::new(4);
        for user in 0..2 * MANY_USERS {
            assert!(try_enter(&queue, Some(&user.to_string())).is_some());
        }
        assert!(queue.by_user.lock().unwrap().len() <= MANY_USERS);
    }
}
