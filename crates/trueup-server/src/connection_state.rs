//! What a connection is doing, and for how long it has waited for its caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// An answer of which nothing is taken for longer than this makes room for others, should there be none.
pub(crate) const STALLED: Duration = Duration::from_secs(2);

/// The activity of one connection. Clones share it; requests of a connection follow one another.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionState {
    shared: Arc<SharedProgress>,
}

#[derive(Debug)]
struct SharedProgress {
    state: Mutex<Progress>,
    evicted: Notify,
}

#[derive(Debug)]
struct Progress {
    stage: RequestStage,
    /// Requests that have been read, and of these the ones whose answers have been handed to the connection.
    begun: u64,
    ended: u64,
    /// The last progress: the connection, the first byte of a request, the end of its head, bytes that were taken, the end of an answer.
    /// Later bytes of a head are none, because sending one now and then costs nothing.
    progress: Instant,
    /// Whether a write waits for the caller.
    is_blocked: bool,
    /// The task that waits for the next end of an answer.
    waker: Option<Waker>,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestStage {
    /// The caller sends a request.
    Request,
    /// The caller sends the body of a request.
    Body,
    /// The service answers.
    Work,
    /// The answer is sent.
    Answer,
}

/// For how long a connection has waited for its caller; the smallest is closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EvictionRank {
    /// Whether an answer is waiting to be taken.
    is_stalled: bool,
    since: Instant,
}

impl ConnectionState {
    /// The activity of a new connection.
    pub(crate) fn new() -> Self {
        let state = Progress {
            stage: RequestStage::Request,
            begun: 0,
            ended: 0,
            progress: Instant::now(),
            is_blocked: false,
            waker: None,
        };
        Self { shared: Arc::new(SharedProgress { state: Mutex::new(state), evicted: Notify::new() }) }
    }

    /// A request has been read; it ends when the returned guard is dropped.
    pub(crate) fn begin(&self) -> InFlightGuard {
        let mut state = self.shared.state();
        state.begun += 1;
        state.enter(RequestStage::Work);
        InFlightGuard { shared: Arc::clone(&self.shared) }
    }

    /// The present request has come to a stage.
    pub(crate) fn enter(&self, stage: RequestStage) {
        self.shared.state().enter(stage);
    }

    /// The caller has sent the first byte of a request.
    pub(crate) fn progress(&self) {
        self.shared.state().progress = Instant::now();
    }

    /// Bytes were written. The time is that before the write: once they are there the caller may connect again, which comes later.
    pub(crate) fn wrote(&self, begun: Instant) {
        let mut state = self.shared.state();
        state.progress = state.progress.max(begun);
        state.is_blocked = false;
    }

    /// The caller has to take bytes before more can be written.
    pub(crate) fn block(&self) {
        self.shared.state().is_blocked = true;
    }

    /// What happens next.
    pub(crate) fn stage(&self) -> RequestStage {
        self.shared.state().stage
    }

    /// Requests so far.
    pub(crate) fn begun(&self) -> u64 {
        self.shared.state().begun
    }

    /// Whether a request has begun that has not ended.
    pub(crate) fn is_answering(&self) -> bool {
        let state = self.shared.state();
        state.begun > state.ended
    }

    /// Wakes the task when the present request ends.
    pub(crate) fn wake_at_end(&self, waker: &Waker) {
        let mut state = self.shared.state();
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// For how long the connection has waited for its caller; `None` while the service works, or the caller takes the answer.
    pub(crate) fn waiting(&self, now: Instant) -> Option<EvictionRank> {
        let state = self.shared.state();
        let waiting = EvictionRank { is_stalled: state.is_blocked, since: state.progress };
        let is_waiting = match state.stage {
            _ if state.is_blocked => now.saturating_duration_since(state.progress) >= STALLED,
            RequestStage::Request | RequestStage::Body => true,
            RequestStage::Work | RequestStage::Answer => false,
        };
        is_waiting.then_some(waiting)
    }

    /// Asks the connection to close.
    pub(crate) fn evict(&self) {
        self.shared.evicted.notify_one();
    }

    /// Is ready once the connection is asked to close.
    pub(crate) async fn evicted(&self) {
        self.shared.evicted.notified().await;
    }
}

impl SharedProgress {
    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn enter(&mut self, stage: RequestStage) {
        self.stage = stage;
        self.progress = Instant::now();
    }
}

/// A request that has not ended.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    shared: Arc<SharedProgress>,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended += 1;
        if state.ended == state.begun {
            state.enter(RequestStage::Request);
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_nobody_takes_makes_room_after_all_that_are_idle() {
        let (stalled, idle) = (ConnectionState::new(), ConnectionState::new());
        let answering = stalled.begin();
        stalled.enter(RequestStage::Answer);
        stalled.block();
        let now = Instant::now();
        assert_eq!(stalled.waiting(now), None);
        let later = now + STALLED;
        assert!(idle.waiting(now).is_some() && stalled.waiting(later) > idle.waiting(later));
        // The end of what was answered may still be on its way.
        drop(answering);
        assert_eq!(stalled.waiting(Instant::now()), None);
        stalled.wrote(Instant::now());
        assert!(stalled.waiting(Instant::now()).is_some_and(|waiting| !waiting.is_stalled));
    }
}
