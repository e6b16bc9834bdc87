//! A timer that can be stopped.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// A timer for one kind of wait. It is ready when the wait has lasted for the limit.
pub(crate) struct Timer {
    limit: Duration,
    /// The running timer; `None` while nothing is waited for.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Creates a timer that starts when it is polled first.
    pub(crate) const fn stopped(limit: Duration) -> Self {
        Self { limit, sleep: None }
    }

    /// Creates a timer that starts now.
    pub(crate) fn started(limit: Duration) -> Self {
        Self { limit, sleep: Some(Box::pin(sleep(limit))) }
    }

    /// Starts the timer unless it runs, and waits for its end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.get_or_insert_with(|| Box::pin(sleep(self.limit))).as_mut().poll(cx)
    }

    /// Stops the timer. The next poll starts it again with the whole limit.
    pub(crate) fn stop(&mut self) {
        self.sleep = None;
    }

    /// Gives a running timer the whole limit again.
    pub(crate) fn restart(&mut self) {
        if let Some(sleep) = &mut self.sleep {
            sleep.as_mut().reset(Instant::now() + self.limit);
        }
    }

    /// Returns whether the timer has started and was not stopped.
    pub(crate) const fn is_running(&self) -> bool {
        self.sleep.is_some()
    }
}
