//! What a connection is doing, and how long it has waited for its client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time after which a connection whose client receives nothing of its answer may be closed to make room for others.
pub(crate) const STALLED: Duration = Duration::from_secs(2);

/// The state of one connection. Clones share it. Requests of a connection follow one another.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionState {
    shared: Arc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    progress: Mutex<ConnectionProgress>,
    evicted: Notify,
}

#[derive(Debug)]
struct ConnectionProgress {
    stage: RequestStage,
    /// Number of requests that have been read.
    begun: u64,
    /// Number of requests whose answers have been handed to the connection.
    ended: u64,
    /// Time of the last progress: a new connection, the first byte of another request, the start of each stage, bytes
    /// that were sent, the end of an answer. More bytes of a head or of a body do not count, because a client can send
    /// one now and then at no cost.
    last_progress: Instant,
    /// Whether a write waits for the client.
    is_blocked: bool,
    /// The task that waits for the end of the current answer.
    waker: Option<Waker>,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestStage {
    /// The client sends a request.
    Request,
    /// The client sends the body of a request.
    Body,
    /// The service works on the answer.
    Work,
    /// The answer is sent.
    Answer,
}

/// How long a connection has waited for its client. The connection with the smallest rank is closed first: idle
/// connections before stalled ones and, within each kind, the one that has waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EvictionRank {
    /// Whether an answer waits for the client to receive it.
    is_stalled: bool,
    since: Instant,
}

impl ConnectionState {
    /// Creates the state of a new connection.
    pub(crate) fn new() -> Self {
        let progress = ConnectionProgress {
            stage: RequestStage::Request,
            begun: 0,
            ended: 0,
            last_progress: Instant::now(),
            is_blocked: false,
            waker: None,
        };
        Self { shared: Arc::new(SharedState { progress: Mutex::new(progress), evicted: Notify::new() }) }
    }

    /// Records that a request has been read. The request ends when the guard is dropped.
    pub(crate) fn begin(&self) -> InFlightGuard {
        let mut progress = self.shared.progress();
        progress.begun += 1;
        progress.enter(RequestStage::Work);
        InFlightGuard { shared: Arc::clone(&self.shared) }
    }

    /// Records that the current request has reached a stage.
    pub(crate) fn enter(&self, stage: RequestStage) {
        self.shared.progress().enter(stage);
    }

    /// Records that the client has sent the first byte of a request.
    pub(crate) fn request_started(&self) {
        self.shared.progress().last_progress = Instant::now();
    }

    /// Records that bytes were sent by a write that was called at `called`. That time counts, not the end of the write:
    /// when the bytes arrive, the client may connect again, and the new connection must count as the later one.
    pub(crate) fn wrote(&self, called: Instant) {
        let mut progress = self.shared.progress();
        progress.last_progress = progress.last_progress.max(called);
        progress.is_blocked = false;
    }

    /// Records that the client must receive bytes before more can be sent.
    pub(crate) fn block(&self) {
        self.shared.progress().is_blocked = true;
    }

    /// Returns what the connection waits for.
    pub(crate) fn stage(&self) -> RequestStage {
        self.shared.progress().stage
    }

    /// Returns the number of requests that have been read.
    pub(crate) fn requests_begun(&self) -> u64 {
        self.shared.progress().begun
    }

    /// Returns whether a request has begun and not ended.
    pub(crate) fn is_answering(&self) -> bool {
        let progress = self.shared.progress();
        progress.begun > progress.ended
    }

    /// Wakes the task of `waker` when the current request ends.
    pub(crate) fn wake_at_end(&self, waker: &Waker) {
        let mut progress = self.shared.progress();
        match &mut progress.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Returns how long the connection has waited for its client; `None` while the service works, and while the client
    /// receives the answer. A client that has received nothing for [`STALLED`] no longer counts as receiving.
    pub(crate) fn eviction_rank(&self, now: Instant) -> Option<EvictionRank> {
        let progress = self.shared.progress();
        let rank = EvictionRank { is_stalled: progress.is_blocked, since: progress.last_progress };
        let is_waiting = match progress.stage {
            _ if progress.is_blocked => now.saturating_duration_since(progress.last_progress) >= STALLED,
            RequestStage::Request | RequestStage::Body => true,
            RequestStage::Work | RequestStage::Answer => false,
        };
        is_waiting.then_some(rank)
    }

    /// Makes [`evicted`](Self::evicted) ready, after which the connection is closed.
    pub(crate) fn evict(&self) {
        self.shared.evicted.notify_one();
    }

    /// Waits until [`evict`](Self::evict) is called.
    pub(crate) async fn evicted(&self) {
        self.shared.evicted.notified().await;
    }
}

impl SharedState {
    fn progress(&self) -> MutexGuard<'_, ConnectionProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionProgress {
    fn enter(&mut self, stage: RequestStage) {
        self.stage = stage;
        self.last_progress = Instant::now();
    }
}

/// A request that has not ended. Dropping the guard ends it.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    shared: Arc<SharedState>,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut progress = self.shared.progress();
        progress.ended += 1;
        if progress.ended == progress.begun {
            progress.enter(RequestStage::Request);
        }
        let waker = progress.waker.take();
        drop(progress);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_connection_ranks_after_all_idle_ones() {
        let (stalled, idle) = (ConnectionState::new(), ConnectionState::new());
        let in_flight = stalled.begin();
        stalled.enter(RequestStage::Answer);
        stalled.block();
        let now = Instant::now();
        assert_eq!(stalled.eviction_rank(now), None);
        let later = now + STALLED;
        assert!(idle.eviction_rank(now).is_some() && stalled.eviction_rank(later) > idle.eviction_rank(later));
        // The last bytes of the answer may still be unsent.
        drop(in_flight);
        assert_eq!(stalled.eviction_rank(Instant::now()), None);
        stalled.wrote(Instant::now());
        assert!(stalled.eviction_rank(Instant::now()).is_some_and(|rank| !rank.is_stalled));
    }
}
