//! Other versions of the dataset, while the service runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use trueup::service::Service;
use trueup_core::Dataset;
use trueup_core::dataset::store;

/// Looks for other versions until it is dropped.
pub(super) struct VersionWatcher {
    _stop: Sender<()>,
}

/// Looks every so often whether the folder of the dataset holds another version than the service answers from, and lets it answer from
/// that, holding columns of up to `memory` bytes. A version that cannot be opened is logged once, and tried again.
pub(super) fn watch(
    service: Arc<Service>,
    folder: PathBuf,
    memory: usize,
    every: Duration,
) -> io::Result<VersionWatcher> {
    let (stop, stopped) = mpsc::channel();
    thread::Builder::new().name("trueup-versions".to_owned()).spawn(move || {
        let mut logged = None;
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            match refresh(&service, &folder, memory) {
                Ok(opened) => {
                    logged = None;
                    if let Some(version) = opened {
                        tracing::info!(version, "another version of the dataset is answered from");
                    }
                }
                Err(cause) if logged.as_ref() == Some(&cause) => {}
                Err(cause) => {
                    tracing::error!(
                        cause,
                        "the latest version of the dataset cannot be opened; the one before is kept"
                    );
                    logged = Some(cause);
                }
            }
        }
    })?;
    Ok(VersionWatcher { _stop: stop })
}

/// Lets the service answer from the newest version in the folder; returns its number if it answered from another before.
///
/// The whole manifest decides. A dataset that is rebuilt begins with the same numbers, a copy that is restored has a lower one, and
/// either may be there before the first look.
fn refresh(service: &Service, folder: &Path, memory: usize) -> Result<Option<u64>, String> {
    let latest = store::read_latest(folder).map_err(|error| error.to_string())?;
    let latest = latest.ok_or_else(|| format!("`{}` holds no dataset any more", folder.display()))?;
    if service.dataset().manifest() == Some(&latest) {
        return Ok(None);
    }
    let dataset = Dataset::open(folder).map_err(|error| error.to_string())?;
    let opened = dataset.manifest().map(|manifest| manifest.version);
    service.replace_dataset(Arc::new(dataset.with_column_budget(memory)));
    Ok(opened)
}
