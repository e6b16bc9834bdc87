//! Runs work of trueup from Python: without the GIL, on threads of the package, until it is done or Python has a
//! signal.

use crate::arguments::Keywords;
use crate::error::Failure;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use trueup::ingest::{Action, Command, IngestError};

/// Cancels queries, ingests and other calls from another thread.
///
/// Pass it as `interrupt=` to a call: `cancel()` makes that call raise `trueup.Cancelled`. An interrupt that was
/// canceled stays so. `KeyboardInterrupt` cancels without it.
#[pyclass(frozen, module = "trueup", from_py_object)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(trueup::Interrupt);

#[pymethods]
impl Interrupt {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Cancels every call that has this interrupt, now and later.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether `cancel()` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.check().is_err()
    }

    fn __repr__(&self) -> &'static str {
        if self.cancelled() { "<Interrupt, cancelled>" } else { "<Interrupt>" }
    }
}

/// The interrupt of one call: a signal of Python cancels that call alone.
pub(crate) struct CallInterrupt {
    /// What the work checks.
    own: trueup::Interrupt,
    /// The interrupt of the caller, which several calls may share.
    given: Option<Interrupt>,
}

impl CallInterrupt {
    /// Returns the interrupt of a call that takes at most `timeout`.
    pub(crate) fn new(given: Option<Interrupt>, timeout: Option<Duration>) -> Self {
        Self { own: timeout.map_or_else(trueup::Interrupt::default, trueup::Interrupt::after), given }
    }

    /// Returns the interrupt of a call with these keyword arguments.
    pub(crate) fn read(keywords: &Keywords<'_>) -> Result<Self, Failure> {
        Ok(Self::new(keywords.value("interrupt", "a trueup.Interrupt")?, keywords.timeout()?))
    }

    /// Returns the interrupt that the work checks.
    pub(crate) fn interrupt(&self) -> trueup::Interrupt {
        self.own.clone()
    }

    /// Cancels this call if the caller's interrupt is canceled.
    fn follow_given(&self) {
        if self.given.as_ref().is_some_and(Interrupt::cancelled) {
            self.own.cancel();
        }
    }
}

/// The time between two checks for a signal. A person does not notice it, and it costs nothing.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// What a call has come to: its result, and the exception of the signal that canceled it, if there was one. The result
/// may be a success even so, if the signal came too late.
pub(crate) struct Outcome<T> {
    pub(crate) result: T,
    pub(crate) signal: Option<PyErr>,
}

impl<T> Outcome<T> {
    /// Returns the result; the exception if a signal canceled the call.
    pub(crate) fn unless_signaled(self) -> PyResult<T> {
        self.signal.map_or(Ok(self.result), Err)
    }
}

/// Runs `work` on threads of the package, without the GIL. If Python has a signal, such as that of Ctrl-C, cancels the
/// work, waits for its end, which is near, and returns the exception of the signal.
pub(crate) fn run<T: Send, E: Send + Into<Failure>>(
    py: Python<'_>,
    call: &CallInterrupt,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure> {
    let threads = pool()?;
    run_on(&threads, py, call, work)?.unless_signaled()?.map_err(Into::into)
}

/// As [`run`], with the outcome, and on threads of its own: for work that may wait for other commands, or that reads
/// what Python makes. On the threads of the package it would keep other calls from ending, even calls that it waits
/// for.
pub(crate) fn run_apart<T: Send>(
    py: Python<'_>,
    call: &CallInterrupt,
    work: impl FnOnce() -> T + Send,
) -> PyResult<Outcome<T>> {
    let threads = start_threads()?;
    run_on(&threads, py, call, work)
}

/// Runs a command that changes a dataset, with the keyword arguments that all of them have, the last ones to be taken.
pub(crate) fn run_command<A: Action>(
    py: Python<'_>,
    keywords: Keywords<'_>,
    command: Command<A>,
) -> Result<Outcome<Result<A::Summary, IngestError>>, Failure> {
    let command = command.wait(keywords.wait()?);
    let call = CallInterrupt::read(&keywords)?;
    keywords.finish()?;
    let command = command.interrupt(call.interrupt());
    Ok(run_apart(py, &call, || command.run())?)
}

fn run_on<T: Send>(
    threads: &ThreadPool,
    py: Python<'_>,
    call: &CallInterrupt,
    work: impl FnOnce() -> T + Send,
) -> PyResult<Outcome<T>> {
    call.follow_given();
    let (sender, mut receiver) = sync_channel(1);
    let mut signal = None;
    let result = threads.in_place_scope(|scope| {
        scope.spawn(move |_| {
            // The receiver is there until the work is done.
            let _ = sender.send(work());
        });
        loop {
            let receiver = &mut receiver;
            match py.detach(move || receiver.recv_timeout(CHECK_INTERVAL)) {
                Ok(result) => return Some(result),
                // The work has panicked, and the scope continues the panic.
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            call.follow_given();
            if let Err(error) = py.check_signals() {
                call.own.cancel();
                // A second Ctrl-C has nothing left to cancel.
                signal.get_or_insert(error);
            }
        }
    });
    let result = result.ok_or_else(|| Failure::Internal("the work ended without a result".to_owned()))?;
    Ok(Outcome { result, signal })
}

/// The threads of the package, and the process that has started them.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns the threads of the package, one per core. They are not the threads that rayon shares in a process: a process
/// that is forked, as by `multiprocessing`, has the memory of its parent but none of its threads, and would wait for
/// them forever. So it gets threads of its own.
fn pool() -> Result<Arc<ThreadPool>, Failure> {
    let process = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, threads)) = pool.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Arc::clone(threads));
    }
    let threads = Arc::new(start_threads()?);
    // The threads of the parent cannot be ended here.
    std::mem::forget(pool.replace((process, Arc::clone(&threads))));
    Ok(threads)
}

/// Starts threads, one per core.
fn start_threads() -> Result<ThreadPool, Failure> {
    let threads = ThreadPoolBuilder::new().thread_name(|number| format!("trueup-{number}")).build();
    threads.map_err(|error| Failure::Internal(format!("threads could not be started: {error}")))
}
