//! Where the demo lives, and whether it is there already.

use crate::exit::Failure;
use std::path::{Path, PathBuf};
use trueup_core::dataset::store;
use trueup_demo::Settings;

/// The folder of the demo unless one is named: in cargo's target folder if the program lies in it, which keeps the source tree
/// clean, else in the current folder. Other settings than the usual have a folder of their own.
pub(super) fn default(settings: &Settings) -> PathBuf {
    let name = if *settings == Settings::demo() {
        "trueup-demo".to_owned()
    } else {
        format!("trueup-demo-{}-{}-{}", settings.events, settings.accounts, settings.seed)
    };
    match target_folder() {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    }
}

/// The target folder that the program was built in, seen from the current folder if it lies below.
fn target_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?.parent()?;
    // Cargo marks its target folders so.
    if !folder.join("CACHEDIR.TAG").is_file() {
        return None;
    }
    let current = std::env::current_dir().ok();
    let below = current.as_deref().and_then(|current| folder.strip_prefix(current).ok());
    Some(below.unwrap_or(folder).to_owned())
}

/// The name of the file that the events of these settings are ingested from, by which the manifest tells one demo from another.
pub(super) fn events_file(settings: &Settings) -> String {
    let Settings { seed, accounts, events, .. } = settings;
    format!("demo-{}-{events}-{accounts}-{seed}.parquet", env!("CARGO_PKG_VERSION"))
}

/// Whether the folder holds the demo of these settings; an error if it holds anything else.
pub(super) fn holds(dir: &Path, settings: &Settings) -> Result<bool, Failure> {
    let empty = match dir.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Failure::path(dir, &error)),
    };
    if empty {
        return Ok(false);
    }
    let manifest = store::read_latest(dir).map_err(Failure::request)?;
    let first = manifest.as_ref().and_then(|manifest| manifest.batches.first());
    let events = first.and_then(|batch| batch.tables.get("events"));
    if events.is_some_and(|table| table.inputs == [events_file(settings)]) {
        return Ok(true);
    }
    let path = dir.display();
    Err(Failure::request(format!("`{path}` holds something else than this demo; name another folder, or delete it")))
}
