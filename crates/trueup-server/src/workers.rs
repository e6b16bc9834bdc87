//! Threads for what works, rather than waits.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

type Task = Box<dyn FnOnce() + Send>;

/// A few threads that live as long as this, because an allocator keeps memory for each thread that has ever allocated much. A thread is
/// started when a job comes and all others work; among the idle threads, the one that worked last takes it.
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
    /// Threads that wait for a job, the one that worked last at the end.
    idle: Vec<Sender<Task>>,
    /// Jobs for which there was no thread; empty while any is idle.
    jobs: VecDeque<Task>,
    is_closed: bool,
}

impl Workers {
    /// At most `limit` threads of a name; none is started yet.
    pub(crate) fn new(name: &'static str, limit: usize) -> Self {
        Self { name, limit: limit.max(1), shared: Arc::default() }
    }

    /// Has a job done: what it gives comes from the channel, which is closed without if the job panics. A job that nobody waits for any
    /// more is not begun.
    ///
    /// # Errors
    /// There is no thread for it, and none can be started.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<oneshot::Receiver<T>> {
        let (give, given) = oneshot::channel();
        let mut job: Task = Box::new(move || {
            if !give.is_closed() {
                // Whoever waits may go away meanwhile.
                drop(give.send(job()));
            }
        });
        let mut state = self.shared.state();
        while let Some(thread) = state.idle.pop() {
            match thread.send(job) {
                Ok(()) => return Ok(given),
                Err(unsent) => job = unsent.0,
            }
        }
        if state.threads < self.limit {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name(self.name.to_owned()).spawn(move || shared.work(job))?;
            state.threads += 1;
        } else {
            state.jobs.push_back(job);
        }
        Ok(given)
    }

    /// Whether nothing is being done.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.shared.state();
        state.idle.len() == state.threads
    }
}

impl Drop for Workers {
    /// Threads that are idle end, others when their job has ended.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.idle.clear();
        state.jobs.clear();
    }
}

impl TaskQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, mut job: Task) {
        loop {
            // The panic hook tells of a panic; whoever waits sees that nothing is given.
            drop(catch_unwind(AssertUnwindSafe(job)));
            let mut state = self.state();
            if state.is_closed {
                return;
            }
            job = match state.jobs.pop_front() {
                Some(job) => job,
                None => {
                    let (send, jobs) = channel();
                    state.idle.push(send);
                    drop(state);
                    // The other end is dropped when there are no more jobs.
                    let Ok(job) = jobs.recv() else { return };
                    job
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::time::{Duration, Instant};

    fn idle(workers: &Workers) {
        let begun = Instant::now();
        while !workers.is_idle() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn jobs_one_after_the_other_need_one_thread() {
        let workers = Workers::new("test", 4);
        let threads: HashSet<_> = (0..20)
            .map(|_| {
                let thread = workers.begin(|| thread::current().id()).unwrap().blocking_recv().unwrap();
                idle(&workers);
                thread
            })
            .collect();
        assert_eq!(threads.len(), 1);
    }

    #[test]
    fn so_many_jobs_are_done_at_once_and_the_others_later() {
        let workers = Workers::new("test", 2);
        let both = Arc::new(Barrier::new(2));
        let jobs: Vec<_> = (0..10)
            .map(|job| {
                let both = Arc::clone(&both);
                workers.begin(move || {
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
    fn a_panic_ends_its_job_alone() {
        let workers = Workers::new("test", 1);
        let failed = workers.begin(|| panic!("a fault, made for this test")).unwrap();
        let after = workers.begin(|| 1).unwrap();
        assert!(failed.blocking_recv().is_err());
        assert_eq!(after.blocking_recv(), Ok(1));
    }

    #[test]
    fn what_nobody_waits_for_is_not_begun() {
        let workers = Workers::new("test", 1);
        let (hold, held) = channel::<()>();
        let first = workers.begin(move || held.recv().is_err()).unwrap();
        let (did, done) = channel();
        drop(workers.begin(move || did.send(())).unwrap());
        drop(hold);
        assert_eq!(first.blocking_recv(), Ok(true));
        idle(&workers);
        assert!(done.recv().is_err());
    }
}
