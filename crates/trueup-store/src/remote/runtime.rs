//! The threads that requests to object stores run on. Callers may be threads of any kind, with a runtime of their own
//! or without one: they start a request, and wait for its result or for many at the same time.

use crate::pending::Pending;
use std::future::Future;
use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::SyncSender;
use tokio::runtime::{Builder, Handle, Runtime};

/// Requests mostly wait, so few threads serve many of them.
const THREADS: usize = 2;

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

/// Starts to make a result on these threads.
pub(super) fn start<T: Send + 'static, E: From<io::Error> + Send + 'static>(
    make: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Pending<T, E> {
    match handle() {
        Ok(handle) => Pending::start(|sender: SyncSender<Result<T, E>>| {
            let task = handle.spawn(async move {
                // Nobody receives the result if the caller no longer waits.
                let _ = sender.send(make.await);
            });
            let task = task.abort_handle();
            move || task.abort()
        }),
        Err(error) => Pending::ready(Err(error.into())),
    }
}
