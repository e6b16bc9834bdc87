//! Later versions of the dataset, while the service runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};
use trueup::service::Service;
use trueup_core::Dataset;
use trueup_core::dataset::store::{self, StoreError};

/// Looks for later versions until it is dropped.
pub(super) struct Watch {
    _stop: Sender<()>,
}

/// A version, and when its manifest was written: a dataset that is made anew begins with the same numbers.
type Stamp = (u64, Option<SystemTime>);

/// Looks every so often whether the folder of the dataset holds another version than the service answers from, and lets it answer from
/// that, holding columns of up to `memory` bytes. A version that cannot be opened is logged once, and tried again.
pub(super) fn watch(service: Arc<Service>, folder: PathBuf, memory: usize, every: Duration) -> io::Result<Watch> {
    let (stop, stopped) = mpsc::channel();
    thread::Builder::new().name("trueup-versions".to_owned()).spawn(move || {
        let mut told = None;
        let mut current = None;
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            match refresh(&service, &folder, memory, &mut current) {
                Ok(None) => told = None,
                Ok(Some(version)) => {
                    told = None;
                    tracing::info!(version, "a later version of the dataset is answered from");
                }
                Err(cause) if told.as_ref() == Some(&cause) => {}
                Err(cause) => {
                    tracing::error!(
                        cause,
                        "the latest version of the dataset cannot be opened; the one before is kept"
                    );
                    told = Some(cause);
                }
            }
        }
    })?;
    Ok(Watch { _stop: stop })
}

/// Lets the service answer from the latest version, whose number is given if that is not what was `current`.
fn refresh(
    service: &Service,
    folder: &Path,
    memory: usize,
    current: &mut Option<Stamp>,
) -> Result<Option<u64>, String> {
    let version = |dataset: &Dataset| dataset.manifest().map(|manifest| manifest.version);
    let latest = latest(folder).map_err(|error| error.to_string())?;
    // At first only the version is known that the service began with.
    let is_current = match current {
        Some(_) => latest == *current,
        None => latest.map(|(version, _)| version) == version(&service.dataset()),
    };
    if is_current {
        *current = latest;
        return Ok(None);
    }
    let dataset = Dataset::open(folder).map_err(|error| error.to_string())?;
    let dataset = Arc::new(dataset.with_column_budget(memory));
    let opened = version(&dataset);
    service.replace_dataset(dataset);
    *current = latest;
    Ok(opened)
}

fn latest(folder: &Path) -> Result<Option<Stamp>, StoreError> {
    let Some(version) = store::versions(folder)?.last().copied() else { return Ok(None) };
    // Where a file system keeps no times, the number alone has to tell.
    let written = folder.join(store::file_name(version)).metadata().and_then(|manifest| manifest.modified()).ok();
    Ok(Some((version, written)))
}
