//! A background thread that runs one task at a time.

use crate::Interrupt;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A task that runs until it is done or interrupted.
pub(super) type BackgroundTask = Box<dyn FnOnce(&Interrupt) + Send>;

/// A queue of tasks, and at most one thread, which ends when the queue is empty.
///
/// Dropping the worker interrupts the running task and drops the others.
#[derive(Default)]
pub(in crate::service) struct Worker(Arc<WorkerState>);

#[derive(Default)]
struct WorkerState {
    pending: Mutex<PendingTasks>,
    stop: Interrupt,
}

#[derive(Default)]
struct PendingTasks {
    tasks: VecDeque<BackgroundTask>,
    /// Whether there is a thread that will look for tasks again before it ends.
    has_thread: bool,
}

impl Worker {
    /// Queues a task, and starts a thread if there is none.
    ///
    /// # Errors
    /// No thread could be started. The task is dropped.
    pub(super) fn start(&self, task: BackgroundTask) -> io::Result<()> {
        let mut pending = self.0.pending();
        if !pending.has_thread {
            let state = Arc::clone(&self.0);
            thread::Builder::new().name("trueup-benchmarks".to_owned()).spawn(move || state.work())?;
            pending.has_thread = true;
        }
        pending.tasks.push_back(task);
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.pending().tasks.clear();
    }
}

impl WorkerState {
    fn pending(&self) -> MutexGuard<'_, PendingTasks> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<BackgroundTask> {
        let mut pending = self.pending();
        let task = pending.tasks.pop_front();
        pending.has_thread = task.is_some();
        task
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            // A task handles its own failures. If it panics nevertheless, the panic hook reports it and the next task
            // runs.
            drop(catch_unwind(AssertUnwindSafe(|| task(&self.stop))));
        }
    }
}
