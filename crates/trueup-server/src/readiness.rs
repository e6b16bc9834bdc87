//! Whether a server should be sent requests: `GET /ready`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use trueup::service::Service;
use trueup::{Dataset, message_with_causes};

/// The shortest time for which a check of the dataset counts.
const CHECK_COUNTS: Duration = Duration::from_secs(1);

/// A check of the dataset also counts for this many times as long as it took, so that checks take only a small, fixed
/// share of the time of one thread, however large the dataset is and however often somebody asks.
const CHECK_SHARE: u32 = 20;

/// Why a server should not be sent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotReady {
    /// It stops.
    Draining,
    /// Files of the dataset are missing or damaged.
    Dataset,
    /// The directory of users and keys cannot be read.
    Directory,
}

impl NotReady {
    /// Returns the body of the answer. It has no cause, because anybody may ask; the cause is logged.
    pub(crate) const fn body(self) -> &'static str {
        match self {
            Self::Draining => r#"{"status":"draining"}"#,
            Self::Dataset => r#"{"status":"not-ready","cause":"dataset"}"#,
            Self::Directory => r#"{"status":"not-ready","cause":"directory"}"#,
        }
    }
}

/// What is known of a server's readiness.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    is_draining: AtomicBool,
    checked: Mutex<CheckedState>,
}

#[derive(Debug, Default)]
struct CheckedState {
    /// The last check of the dataset; `None` before the first.
    dataset: Option<DatasetCheck>,
    /// What the log says last: `None` if the server was ready.
    logged: Option<NotReady>,
}

#[derive(Debug)]
struct DatasetCheck {
    dataset: Weak<Dataset>,
    counts_until: Instant,
    /// The fault, if there is one.
    fault: Option<String>,
}

impl Readiness {
    /// Records that the server stops.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server should be sent requests. Reads files, so it must not run on a thread of the
    /// asynchronous runtime. Logs when the server becomes ready, when it becomes not ready, and when the reason why it
    /// is not ready changes.
    pub(crate) fn check(&self, service: &Service) -> Result<(), NotReady> {
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(NotReady::Draining);
        }
        let mut state = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = state.dataset_fault(&service.dataset()).map(|cause| (NotReady::Dataset, cause));
        // The name of no user: a row of the directory is looked up, and none is found.
        let fault = fault.or_else(|| {
            let error = service.directory().login("").err()?;
            Some((NotReady::Directory, message_with_causes(&error)))
        });
        let found = fault.as_ref().map(|(not_ready, _)| *not_ready);
        if found != state.logged {
            match &fault {
                Some((_, cause)) => tracing::error!(%cause, "not ready"),
                None => tracing::info!("ready again"),
            }
            state.logged = found;
        }
        found.map_or(Ok(()), Err)
    }
}

impl CheckedState {
    /// Returns what is wrong with the files of the dataset, by a check that still counts or a new one.
    fn dataset_fault(&mut self, dataset: &Arc<Dataset>) -> Option<String> {
        let begun = Instant::now();
        if let Some(last) = &self.dataset
            && last.dataset.as_ptr() == Arc::as_ptr(dataset)
            && begun < last.counts_until
        {
            return last.fault.clone();
        }
        let fault = dataset.check_files().err().map(|error| message_with_causes(&error));
        let ended = Instant::now();
        let counts = CHECK_COUNTS.max(ended.duration_since(begun).saturating_mul(CHECK_SHARE));
        self.dataset =
            Some(DatasetCheck { dataset: Arc::downgrade(dataset), counts_until: ended + counts, fault: fault.clone() });
        fault
    }
}
