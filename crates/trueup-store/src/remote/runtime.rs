//! The threads that requests to object stores run on. Callers may be threads of any kind, with a runtime of their own
//! or without one: they start a request, and wait for its result or for many at the same time.

use super::ReadFault;
use bytes::Bytes;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

/// Requests mostly wait, so few threads serve many of them.
const THREADS: usize = 2;

/// The time between two checks whether the caller still waits.
const PAUSE: Duration = Duration::from_millis(5);

/// Returns the handle of the runtime, which is started when it is first needed and runs as long as the process.
///
/// # Errors
/// The threads could not be started; or this process was forked from the one that has started them. It then has none of
/// them, and would wait forever. Threads of its own would not serve the connections that it has from its parent.
pub(super) fn handle() -> io::Result<Handle> {
    static RUNTIME: OnceLock<(u32, io::Result<Runtime>)> = OnceLock::new();
    let start = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("trueup-store").enable_all().build();
    let process = std::process::id();
    let (owner, runtime) = RUNTIME.get_or_init(|| (process, start()));
    if *owner != process {
        return Err(io::Error::other(
            "this process was forked after its parent had used an object store; start processes with the method `spawn`",
        ));
    }
    match runtime {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => Err(io::Error::new(error.kind(), format!("threads could not be started: {error}"))),
    }
}

/// A result that is being waited for. Dropping it cancels what makes it.
#[derive(Debug)]
pub struct Pending<T = Bytes, E = ReadFault> {
    result: Receiver<Result<T, E>>,
    /// `None` if the runtime could not be started.
    task: Option<AbortHandle>,
}

impl<T: Send + 'static, E: From<io::Error> + Send + 'static> Pending<T, E> {
    /// Starts to make a result.
    pub(super) fn start(make: impl Future<Output = Result<T, E>> + Send + 'static) -> Self {
        let (sender, result) = sync_channel(1);
        let task = match handle() {
            Ok(handle) => {
                let task = handle.spawn(async move {
                    // Nobody receives the result if the caller no longer waits.
                    let _ = sender.send(make.await);
                });
                Some(task.abort_handle())
            }
            Err(error) => {
                let _ = sender.send(Err(error.into()));
                None
            }
        };
        Self { result, task }
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
    pub(super) fn wait(self) -> Result<T, E> {
        self.wait_while(|| Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
    }
}

impl<T, E> Drop for Pending<T, E> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
