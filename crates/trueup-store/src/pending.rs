//! Results that are being waited for.

use crate::store::ReadFault;
use bytes::Bytes;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The time between two checks whether the caller still waits.
const PAUSE: Duration = Duration::from_millis(5);

/// A result that is being waited for. Dropping it cancels what makes it.
pub struct Pending<T = Bytes, E = ReadFault> {
    result: Receiver<Result<T, E>>,
    /// `None` if the result is there.
    cancel: Option<Box<dyn Fn() + Send + Sync>>,
}

impl<T, E: From<io::Error>> Pending<T, E> {
    /// Returns a result that is there.
    pub(crate) fn ready(result: Result<T, E>) -> Self {
        let (sender, receiver) = sync_channel(1);
        // The channel has room for it.
        let _ = sender.send(result);
        Self { result: receiver, cancel: None }
    }

    /// Returns the result that `make` sends later. `make` returns what cancels it.
    #[cfg_attr(not(feature = "object-store"), expect(dead_code, reason = "no store without this feature lets wait"))]
    pub(crate) fn start<C: Fn() + Send + Sync + 'static>(make: impl FnOnce(SyncSender<Result<T, E>>) -> C) -> Self {
        let (sender, result) = sync_channel(1);
        Self { result, cancel: Some(Box::new(make(sender))) }
    }

    /// Waits for the result. `check` is called all the while, and its error ends the wait.
    ///
    /// # Errors
    /// The error of `check`.
    pub fn wait_while<S>(self, check: impl Fn() -> Result<(), S>) -> Result<Result<T, E>, S> {
        loop {
            match self.result.recv_timeout(PAUSE) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => check()?,
                // Only a task that panics sends nothing.
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(io::Error::other("the request ended without a result").into()));
                }
            }
        }
    }

    /// Waits for the result.
    #[cfg_attr(not(feature = "object-store"), expect(dead_code, reason = "no store without this feature lets wait"))]
    pub(crate) fn wait(self) -> Result<T, E> {
        self.wait_while(|| Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
    }
}

impl<T, E> fmt::Debug for Pending<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<T, E> Drop for Pending<T, E> {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel();
        }
    }
}
