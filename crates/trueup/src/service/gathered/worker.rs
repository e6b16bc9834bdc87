//! Work in the background, one task at a time.

use crate::Interrupt;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Something to do, until it is done or interrupted.
pub(super) type BackgroundTask = Box<dyn FnOnce(&Interrupt) + Send>;

/// One thread at most, which is there while there is something to do. When this is dropped, what is being done is interrupted and
/// what is still to be done is not.
#[derive(Default)]
pub(in crate::service) struct Worker(Arc<WorkerState>);

#[derive(Default)]
struct WorkerState {
    queue: Mutex<PendingTasks>,
    stop: Interrupt,
}

#[derive(Default)]
struct PendingTasks {
    tasks: VecDeque<BackgroundTask>,
    /// Whether there is a thread, which looks here again before it ends.
    is_working: bool,
}

impl Worker {
    /// Has the task done after those that were begun before.
    ///
    /// # Errors
    /// There is no thread for it; the task is dropped.
    pub(super) fn begin(&self, task: BackgroundTask) -> io::Result<()> {
        let mut queue = self.0.queue();
        if !queue.is_working {
            let shared = Arc::clone(&self.0);
            thread::Builder::new().name("trueup-benchmarks".to_owned()).spawn(move || shared.work())?;
            queue.is_working = true;
        }
        queue.tasks.push_back(task);
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.queue().tasks.clear();
    }
}

impl WorkerState {
    fn queue(&self) -> MutexGuard<'_, PendingTasks> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<BackgroundTask> {
        let mut queue = self.queue();
        let task = queue.tasks.pop_front();
        queue.is_working = task.is_some();
        task
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            // Tasks see to their failures themselves; should one panic nevertheless, which the panic hook tells, the others are done.
            drop(catch_unwind(AssertUnwindSafe(|| task(&self.stop))));
        }
    }
}
