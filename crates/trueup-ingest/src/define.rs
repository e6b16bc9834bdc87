//! Stores the definitions of metrics and dimensions with a dataset.

use crate::CREATED_BY;
use crate::error::{ErrorKind, IngestError};
use crate::monitor::Monitor;
use crate::version::VersionBuilder;
use std::path::Path;
use trueup_core::Interrupt;
use trueup_core::dataset::{CommitOperation, read_definitions, shown, store};
use trueup_core::definitions::Definitions;
use trueup_core::files::Files;

/// Replaces the metrics and dimensions that a dataset defines, in a new version. Later ingests keep them. Definitions
/// that define nothing remove those of the dataset. The folder is locked as by an ingest; below a URL, the version is
/// committed only if no other one was meanwhile.
///
/// Returns the number of the new version, or that of the newest one if its definitions are the same already.
///
/// # Errors
/// There is no such dataset, a definition does not suit its columns, or the file system or the store refuses. The
/// dataset is unchanged, unless [`may_be_published`](IngestError::may_be_published) returns `true`.
///
/// ```no_run
/// use trueup_core::definitions::Definitions;
///
/// let definitions = Definitions::parse(&std::fs::read_to_string("definitions.toml")?)?;
/// let version = trueup_ingest::define("acme", &definitions, trueup_core::Interrupt::default())?;
/// println!("version {version}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn define(dataset: impl AsRef<Path>, definitions: &Definitions, interrupt: Interrupt) -> Result<u64, IngestError> {
    let dataset = dataset.as_ref();
    let monitor = Monitor::new(None, interrupt);
    monitor.check()?;
    // A folder without a dataset is not made one.
    if store::versions(dataset)?.is_empty() {
        return Err(ErrorKind::NoDataset(shown(dataset)).into());
    }
    let files = monitor.stoppable(Files::default());
    let (mut version, latest) = VersionBuilder::begin(&files, dataset, &monitor)?;
    let Some(mut manifest) = latest else { return Err(ErrorKind::NoDataset(shown(dataset)).into()) };
    let stored = match &manifest.definitions {
        None => Some(Definitions::default()),
        // Definitions that cannot be read are replaced.
        Some(file) => read_definitions(dataset, file).ok(),
    };
    let is_same = |stored: &Definitions| stored == definitions || stored.is_empty() && definitions.is_empty();
    if stored.as_ref().is_some_and(is_same) {
        return Ok(manifest.version);
    }
    version.write_definitions(definitions, &mut manifest).map_err(|error| monitor.explain(error))?;
    manifest.version = version.number();
    CREATED_BY.clone_into(&mut manifest.created_by);
    version.publish(&mut manifest, CommitOperation::Define, &monitor)?;
    Ok(manifest.version)
}
