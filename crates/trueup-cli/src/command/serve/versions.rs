//! Later versions of the dataset, while the service runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use trueup::service::Service;
use trueup_core::Dataset;
use trueup_core::dataset::store;

/// Looks for later versions until it is dropped.
pub(super) struct Watch {
    _stop: Sender<()>,
}

/// Looks every so often whether the folder of the dataset holds another version than the service answers from, and lets it answer from
/// that. A version that cannot be opened is logged once, and tried again.
pub(super) fn watch(service: Arc<Service>, folder: PathBuf, every: Duration) -> io::Result<Watch> {
    let (stop, stopped) = mpsc::channel();
    thread::Builder::new().name("trueup-versions".to_owned()).spawn(move || {
        let mut told = None;
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            match refresh(&service, &folder) {
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

/// Lets the service answer from the latest version, whose number is given if that is another than before.
fn refresh(service: &Service, folder: &PathBuf) -> Result<Option<u64>, String> {
    let version = |dataset: &Dataset| dataset.manifest().map(|manifest| manifest.version);
    let latest = store::versions(folder).map_err(|error| error.to_string())?.last().copied();
    if latest == version(&service.dataset()) {
        return Ok(None);
    }
    let dataset = Arc::new(Dataset::open(folder).map_err(|error| error.to_string())?);
    let opened = version(&dataset);
    service.replace_dataset(dataset);
    Ok(opened)
}
