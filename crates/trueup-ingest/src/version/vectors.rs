//! The deletion vectors of a new version: those of the version before, and what the new version supersedes.

use super::VersionFiles;
use crate::IngestError;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use trueup_core::dataset::DeletionVector;
use trueup_core::dataset::manifest::Manifest;

/// The most files of deletion vectors of a version. A version that would have more gets one file with the
/// vectors of all.
const MAX_FILES: usize = 16;

/// Adds newly superseded rows to a manifest, by the paths of their files, and writes a file with them. What concerns
/// files that the version does not have is left out.
pub(crate) fn write(
    superseded: BTreeMap<String, DeletionVector>,
    manifest: &mut Manifest,
    version: &mut VersionFiles,
) -> Result<(), IngestError> {
    let files = manifest.events.iter().chain(&manifest.spend);
    let paths: HashSet<&str> = files.map(|file| file.path.as_str()).collect();
    manifest.superseded.retain(|path, _| paths.contains(path.as_str()));
    for (path, vector) in &superseded {
        Arc::make_mut(manifest.superseded.entry(path.clone()).or_default()).merge(vector);
    }
    if manifest.superseded.is_empty() {
        manifest.deletion_vectors.clear();
    } else if !superseded.is_empty() {
        let mut vectors: Vec<(&str, &DeletionVector)> =
            superseded.iter().map(|(path, vector)| (path.as_str(), vector)).collect();
        if manifest.deletion_vectors.len() >= MAX_FILES {
            manifest.deletion_vectors.clear();
            vectors = manifest.superseded.iter().map(|(path, vector)| (path.as_str(), &**vector)).collect();
        }
        let file = version.write_vectors(&vectors)?;
        manifest.deletion_vectors.push(file);
    }
    Ok(())
}
