//! Background threads of the service: one opens new versions of the dataset, one returns freed memory to the system.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use trueup::service::Service;
use trueup::{Dataset, Interrupt};
use trueup_server::RefreshReport;

/// Time between two attempts to return freed memory.
const PURGE_INTERVAL: Duration = Duration::from_secs(1);

/// A thread that repeats a task. Dropping this stops it.
pub(in crate::command) struct BackgroundThread {
    _stop: Sender<()>,
}

impl BackgroundThread {
    /// Starts a thread that runs `task` after each `interval`.
    fn start(name: &str, interval: Duration, mut task: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                task();
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

/// Starts a thread that checks after each `interval` whether the service uses the newest version of its dataset. If
/// not, the thread switches the service to that version. A version that cannot be opened is logged once, reported, and
/// tried again. `switching` gets each version first.
pub(in crate::command) fn watch_versions(
    service: Arc<Service>,
    interval: Duration,
    report: RefreshReport,
    switching: impl Fn(&Dataset) -> Result<(), String> + Send + 'static,
) -> io::Result<BackgroundThread> {
    let mut logged = None;
    BackgroundThread::start("trueup-versions", interval, move || match refresh(&service, &switching) {
        Ok(opened) => {
            report.succeeded();
            logged = None;
            if let Some(version) = opened {
                tracing::info!(version, "switched to another version of the dataset");
            }
        }
        Err(cause) => {
            report.failed();
            if logged.as_ref() != Some(&cause) {
                tracing::error!(
                    cause,
                    "the latest version of the dataset cannot be opened; still using the previous one"
                );
                logged = Some(cause);
            }
        }
    })
}

/// Switches the service to the newest version of its dataset. Returns its number, or `None` if the service already uses
/// it. What is in memory for files that both versions have stays there.
///
/// Whole manifests are compared, not version numbers: a dataset that was rebuilt starts with the same numbers, and a
/// restored copy has a lower one. Either may happen before the first check.
fn refresh(service: &Service, switching: impl Fn(&Dataset) -> Result<(), String>) -> Result<Option<u64>, String> {
    let reopened = service.dataset().reopen().map_err(|error| error.to_string())?;
    let Some(dataset) = reopened else { return Ok(None) };
    // A version whose files are not all there leaves the previous one in use.
    dataset.read_footers(&Interrupt::default()).map_err(|error| error.to_string())?;
    switching(&dataset)?;
    let opened = dataset.manifest().map(|manifest| manifest.version);
    service.replace_dataset(Arc::new(dataset));
    Ok(opened)
}

/// Starts a thread that returns freed memory to the system, even while no request arrives.
///
/// mimalloc returns memory a second after it was freed at the earliest, and only when some thread ends or has made
/// 10,000 allocations. Therefore a short thread is started every [`PURGE_INTERVAL`]; otherwise the memory of large
/// answers would stay until enough requests follow.
pub(in crate::command) fn purge_memory() -> io::Result<BackgroundThread> {
    BackgroundThread::start("trueup-purge", PURGE_INTERVAL, || {
        // The allocator notices only threads that have allocated.
        let thread = thread::Builder::new().spawn(|| drop(black_box(Box::new(0_u64))));
        // If no thread can be started now, a later attempt will succeed. The thread does not panic.
        let _ = thread.map(thread::JoinHandle::join);
    })
}
