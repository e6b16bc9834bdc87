//! Threads for blocking work, which must not run in the asynchronous runtime.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

type Task = Box<dyn FnOnce() + Send>;

/// A pool of a few threads. It uses as few of them as possible, because the allocator keeps memory for each thread that
/// has allocated much: a task goes to the idle thread that worked last, and a new thread starts only if none is idle,
/// up to the limit. The threads end when the pool is dropped.
pub(crate) struct Workers {
    name: &'static str,
    limit: usize,
    shared: Arc<TaskQueue>,
}

#[derive(Default)]
struct TaskQueue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    threads: usize,
    /// Idle threads, the one that worked last at the end.
    idle: Vec<Sender<Task>>,
    /// Tasks that wait for a thread; empty while a thread is idle.
    tasks: VecDeque<Task>,
    is_closed: bool,
}

impl Workers {
    /// Creates a pool of at most `limit` threads, all with the given name. Starts none yet.
    pub(crate) fn new(name: &'static str, limit: usize) -> Self {
        Self { name, limit: limit.max(1), shared: Arc::default() }
    }

    /// Runs a task and sends its result to the returned channel. The channel is closed without a result if the task
    /// panics, or if the pool is dropped before the task starts. A task whose channel has been dropped is not started.
    ///
    /// # Errors
    /// If a new thread is needed and cannot be started.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<oneshot::Receiver<T>> {
        let (sender, result) = oneshot::channel();
        let mut task: Task = Box::new(move || {
            if !sender.is_closed() {
                // The receiver may be dropped while the task runs.
                drop(sender.send(task()));
            }
        });
        let mut state = self.shared.state();
        while let Some(thread) = state.idle.pop() {
            match thread.send(task) {
                Ok(()) => return Ok(result),
                Err(unsent) => task = unsent.0,
            }
        }
        if state.threads < self.limit {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name(self.name.to_owned()).spawn(move || shared.work(task))?;
            state.threads += 1;
        } else {
            state.tasks.push_back(task);
        }
        Ok(result)
    }

    /// Returns whether no task is running.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.shared.state();
        state.idle.len() == state.threads
    }
}

impl Drop for Workers {
    /// Ends idle threads now, and the others after their tasks.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.idle.clear();
        state.tasks.clear();
    }
}

impl TaskQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks on the current thread until the pool is dropped.
    fn work(&self, mut task: Task) {
        loop {
            // The panic hook reports a panic, and the receiver of the result finds its channel closed.
            drop(catch_unwind(AssertUnwindSafe(task)));
            let mut state = self.state();
            if state.is_closed {
                return;
            }
            task = match state.tasks.pop_front() {
                Some(task) => task,
                None => {
                    let (sender, tasks) = channel();
                    state.idle.push(sender);
                    drop(state);
                    // Dropping the pool drops the sender.
                    let Ok(task) = tasks.recv() else { return };
                    task
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::time::{Duration, Instant};

    fn wait_until_idle(workers: &Workers) {
        let begun = Instant::now();
        while !workers.is_idle() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn consecutive_tasks_use_one_thread() {
        let workers = Workers::new("test", 4);
        let threads: HashSet<_> = (0..20)
            .map(|_| {
                let thread = workers.start(|| thread::current().id()).unwrap().blocking_recv().unwrap();
                wait_until_idle(&workers);
                thread
            })
            .collect();
        assert_eq!(threads.len(), 1);
    }

    #[test]
    fn tasks_beyond_the_limit_wait() {
        let workers = Workers::new("test", 2);
        let both = Arc::new(Barrier::new(2));
        let jobs: Vec<_> = (0..10)
            .map(|job| {
                let both = Arc::clone(&both);
                workers.start(move || {
                    both.wait();
                    (job, thread::current().id())
                })
            })
            .collect();
        let done: Vec<_> = jobs.into_iter().map(|job| job.unwrap().blocking_recv().unwrap()).collect();
        assert!((0..10).eq(done.iter().map(|(job, _)| *job)));
        assert_eq!(done.iter().map(|(_, thread)| *thread).collect::<HashSet<_>>().len(), 2);
    }

    #[test]
    fn a_panic_ends_only_its_task() {
        let workers = Workers::new("test", 1);
        let failed = workers.start(|| panic!("a fault, made for this test")).unwrap();
        let after = workers.start(|| 1).unwrap();
        assert!(failed.blocking_recv().is_err());
        assert_eq!(after.blocking_recv(), Ok(1));
    }

    #[test]
    fn a_task_without_a_receiver_is_not_started() {
        let workers = Workers::new("test", 1);
        let (hold, held) = channel::<()>();
        let first = workers.start(move || held.recv().is_err()).unwrap();
        let (started, starts) = channel();
        drop(workers.start(move || started.send(())).unwrap());
        drop(hold);
        assert_eq!(first.blocking_recv(), Ok(true));
        wait_until_idle(&workers);
        assert!(starts.recv().is_err());
    }
}
