//! What ingests leave that were killed: their records, and data files that no version names.

use super::file_names::{RECORD_PREFIX, is_id, version_and_id};
use super::version_files::{VersionFiles, remove_record};
use super::{FOLDERS, at_location};
use crate::IngestError;
use crate::error::ErrorContext;
use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;
use trueup_core::dataset::{Store, expiry};

/// Removes what is left in a dataset's folder by ingests other than the one that has `own`. Because it has the lock, no
/// other one is running.
pub(super) fn remove_from_folder(store: &dyn Store, own: &VersionFiles, now: SystemTime) -> Result<(), IngestError> {
    let record = |id: &str| own.dir.join(format!("{RECORD_PREFIX}{id}"));
    let mut killed = Vec::new();
    for entry in at_location("list", &own.dir, "", store.list("", &[]))? {
        let id = entry.name.strip_prefix(RECORD_PREFIX).filter(|id| is_id(id) && *id != own.id);
        // What another program has made under such a name stays.
        killed.extend(id.filter(|id| record(id).is_dir() && !record(id).is_symlink()).map(str::to_owned));
    }
    if killed.is_empty() {
        return Ok(());
    }
    // A manifest that cannot be read may name any file, so nothing may be removed.
    let Ok(needed) = expiry::needed_files(&own.dir, now) else { return Ok(()) };
    // Whoever had a number cannot publish any more, so that none is too high.
    remove_files(store, &own.dir, &killed, &needed, u64::MAX)?;
    for id in killed {
        let path = record(&id);
        remove_record(&own.files, &path).at("remove", &path)?;
    }
    Ok(())
}

/// Removes the data files of killed ingests, except for `needed` ones. Returns the ids of the ingests whose files may
/// be published yet, because not all numbers up to theirs are `taken`; these files stay.
pub(super) fn remove_files(
    store: &dyn Store,
    dataset: &Path,
    killed: &[String],
    needed: &HashSet<String>,
    taken: u64,
) -> Result<HashSet<String>, IngestError> {
    let mut pending = HashSet::new();
    for folder in FOLDERS {
        for entry in at_location("list", dataset, folder, store.list(folder, &[]))? {
            let name = format!("{folder}/{}", entry.name);
            let Some((version, id)) = version_and_id(&entry.name) else { continue };
            if needed.contains(&name) || !killed.iter().any(|killed| killed == id) {
                continue;
            }
            if version > taken {
                pending.insert(id.to_owned());
            } else {
                at_location("remove", dataset, &name, store.remove(&name))?;
            }
        }
    }
    Ok(pending)
}
