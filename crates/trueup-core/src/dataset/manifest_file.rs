//! The manifest files in a dataset's folder, or below its URL: listed, read and published.
//!
//! A manifest file is the JSON of a [`Manifest`] with one more member at its end: `blake3`, the checksum of the file's
//! bytes without that member. A change of any byte is therefore detected. The entries of the files of events and spend
//! are in lists, which are files of their own and are read with the manifest.

pub use super::error::ManifestError;

use super::commit::Commit;
use super::deletion_vector::read_vectors;
use super::file_list::read_lists;
use super::manifest::{MAX_BYTES, Manifest, SCHEMA_VERSION};
use super::seal::{seal, unseal};
use super::storage::Storage;
use super::tombstone::{TOMBSTONE_BYTES, fence, holder, is_tombstone, tombstone};
use super::version_numbers::{VersionNumbers, read_newest};
use std::io;
use std::path::{Path, PathBuf};
use trueup_store::files::{FaultInjector, Files};
use trueup_store::{Publication, PublishError, ReadFault, location_of, without_credentials};

/// The name of a manifest in the staging folder, before it is published.
const STAGED: &str = "manifest.json";

/// Returns the name of the manifest file of a version.
#[must_use]
pub fn file_name(version: u64) -> String {
    format!("manifest-{version:08}.json")
}

/// Lists the versions of a dataset, ascending; none if there is no such folder. Versions that have expired are none.
///
/// # Errors
/// The folder, or the folder that the URL means, cannot be listed.
pub fn versions(dir: &Path) -> Result<Vec<u64>, ManifestError> {
    let storage = Storage::open(dir)?;
    VersionNumbers::list(&storage)?.versions(&storage)
}

/// Returns the highest number of a version that is taken, by a version or by one that has expired; 0 if none is.
///
/// # Errors
/// The folder, or the folder that the URL means, cannot be listed.
pub fn highest_number(dir: &Path) -> Result<u64, ManifestError> {
    Ok(VersionNumbers::list(&Storage::open(dir)?)?.highest())
}

/// Reads the newest manifest of a dataset's folder; `None` if it has none, or if there is no such folder.
///
/// # Errors
/// The folder cannot be listed, or the newest manifest cannot be read.
pub fn read_latest(dir: &Path) -> Result<Option<Manifest>, ManifestError> {
    Ok(read_latest_and_next(dir)?.0)
}

/// Reads the newest manifest as [`read_latest`] does, and returns the number of the version that may follow.
///
/// # Errors
/// As [`read_latest`].
pub fn read_latest_and_next(dir: &Path) -> Result<(Option<Manifest>, u64), ManifestError> {
    let (newest, highest) = read_newest(&Storage::open(dir)?, |version| read(dir, version))?;
    Ok((newest, highest.saturating_add(1)))
}

/// Reads the manifest of a version.
///
/// # Errors
/// The manifest, a list of files or a file of deletion vectors is missing, unreadable or damaged; or the manifest has
/// another layout or number, or a fault.
pub fn read(dir: &Path, version: u64) -> Result<Manifest, ManifestError> {
    let path = without_credentials(&location_of(dir, &file_name(version)));
    let manifest = read_without_lists(dir, version, &path)?;
    with_lists(dir, manifest, path)
}

/// Reads the manifest of a version; `None` if it is `open`. In this case, the lists are not read again.
pub(super) fn read_unless(dir: &Path, version: u64, open: &Manifest) -> Result<Option<Manifest>, ManifestError> {
    let path = without_credentials(&location_of(dir, &file_name(version)));
    let manifest = read_without_lists(dir, version, &path)?;
    if manifest.has_same_contents(open) {
        return Ok(None);
    }
    Ok(Some(with_lists(dir, manifest, path)?).filter(|manifest| manifest != open))
}

/// Adds to a manifest what is not in its own file.
fn with_lists(dir: &Path, mut manifest: Manifest, path: PathBuf) -> Result<Manifest, ManifestError> {
    read_lists(dir, &mut manifest)?;
    read_vectors(dir, &mut manifest)?;
    match manifest.check() {
        Ok(()) => Ok(manifest),
        Err(fault) => Err(ManifestError::Fault { path, fault }),
    }
}

/// Reads the manifest of a version, but not the lists that it names.
fn read_without_lists(dir: &Path, version: u64, path: &Path) -> Result<Manifest, ManifestError> {
    match parse(&read_bytes(dir, version, path)?, version, path) {
        // Perhaps only the answer of a store is damaged.
        Err(ManifestError::Damaged { .. } | ManifestError::Checksum { .. }) => {
            parse(&read_bytes(dir, version, path)?, version, path)
        }
        parsed => parsed,
    }
}

/// Reads the manifest of a version from the bytes of its file.
fn parse(text: &[u8], version: u64, path: &Path) -> Result<Manifest, ManifestError> {
    let path = || path.to_owned();
    // The layout is checked first, because another one may have members that this program would report as damage.
    let layout = match serde_json::from_slice(text) {
        Ok(LayoutVersion { schema_version }) => schema_version,
        Err(source) => return Err(ManifestError::Damaged { path: path(), source }),
    };
    if layout != SCHEMA_VERSION {
        return Err(ManifestError::UnknownLayout { path: path(), found: layout });
    }
    let Some(unsealed) = unseal(text) else { return Err(ManifestError::Checksum { path: path() }) };
    let manifest: Manifest = match serde_json::from_slice(&unsealed) {
        Ok(manifest) => manifest,
        Err(source) => return Err(ManifestError::Damaged { path: path(), source }),
    };
    // Before any of its files is read.
    if let Err(fault) = manifest.check_files() {
        return Err(ManifestError::Fault { path: path(), fault });
    }
    if manifest.version != version {
        return Err(ManifestError::WrongNumber { path: path(), found: manifest.version });
    }
    Ok(manifest)
}

/// Returns what the manifest of a version says of its commit.
///
/// # Errors
/// The manifest is missing, unreadable or damaged.
pub(super) fn commit(dir: &Path, version: u64) -> Result<Commit, ManifestError> {
    let path = without_credentials(&location_of(dir, &file_name(version)));
    Ok(read_without_lists(dir, version, &path)?.commit)
}

/// Checks that the manifest of a version is still there, without reading it.
pub(super) fn check_exists(dir: &Path, version: u64) -> Result<(), ManifestError> {
    let (name, storage) = (file_name(version), Storage::open(dir)?);
    match storage.length(&name) {
        Ok(TOMBSTONE_BYTES) => Err(ManifestError::Expired { path: storage.path(&name), version }),
        Ok(_) => Ok(()),
        Err(error) => Err(storage.failed("read", &name, error)),
    }
}

/// Reads the bytes of a manifest, which must be a plain file or an object of at most [`MAX_BYTES`].
fn read_bytes(dir: &Path, version: u64, path: &Path) -> Result<Vec<u8>, ManifestError> {
    let (path, storage) = (path.to_owned(), Storage::open(dir)?);
    match storage.read(&file_name(version), MAX_BYTES) {
        Ok(bytes) if is_tombstone(&bytes) => Err(ManifestError::Expired { path, version }),
        Ok(bytes) => Ok(bytes),
        Err(ReadFault::Io(source)) => Err(ManifestError::Io { action: "read", path, source }),
        Err(ReadFault::Length(found)) => Err(ManifestError::TooLarge { path, found }),
        Err(ReadFault::NotPlain(found)) => Err(ManifestError::NotPlain { path, found }),
    }
}

/// Returns whether a number is taken although no version ever had it, because a writer gave its publication up.
pub(super) fn is_fence(dir: &Path, version: u64) -> Result<bool, ManifestError> {
    let found = Storage::open(dir)?.read(&file_name(version), MAX_BYTES);
    Ok(found.is_ok_and(|found| found == fence()))
}

/// Publishes a manifest: makes it the newest of its dataset's folder, atomically and durably. It never replaces
/// another, and never gets a number that was taken before.
///
/// The files that it names, lists included, must already be written and synced. The manifest is first written to the
/// folder `staging`, which must be on the same file system. The caller removes what is left there. Below a URL, the
/// manifest is created as an object if there is none of its name, and `files` and `staging` are not used.
///
/// # Errors
/// The manifest has a fault, its number is taken, or the file system or the store reports an error. The dataset is
/// unchanged, and stays so, unless [`may_be_published`](ManifestError::may_be_published) returns `true`.
pub fn publish(files: &Files, dir: &Path, staging: &Path, manifest: &Manifest) -> Result<(), ManifestError> {
    let (version, path) = (manifest.version, location_of(dir, &file_name(manifest.version)));
    if let Err(fault) = manifest.check() {
        return Err(ManifestError::Fault { path, fault });
    }
    let text = match serde_json::to_vec_pretty(manifest) {
        Ok(json) => seal(json),
        Err(source) => return Err(ManifestError::Damaged { path, source }),
    };
    // What no reader could read is not published.
    let limit = files.max_manifest_bytes().unwrap_or(MAX_BYTES);
    if text.len() as u64 > limit {
        return Err(ManifestError::Oversized { path, size: text.len() as u64, limit });
    }
    if !parse(&text, version, &path)?.has_same_contents(manifest) {
        return Err(ManifestError::Checksum { path });
    }
    let unpublished = |error| match error {
        PublishError::Conflict => ManifestError::Conflict { dir: dir.to_owned(), version },
        PublishError::Failed(source) => ManifestError::Io { action: "create", path: path.clone(), source },
        PublishError::Indeterminate(source) => ManifestError::Indeterminate { path: path.clone(), version, source },
    };
    let storage = Storage::with_files(dir, files)?;
    let publication = Publication { bytes: text.clone().into(), fence: fence().into(), holder };
    let (published, is_only) = storage.publish(&file_name(version), &staging.join(STAGED), publication);
    confirm(&storage, version, &text, published, is_only).map_err(unpublished)?;
    storage.sync().map_err(|error| match error {
        ManifestError::Io { source, .. } => ManifestError::Unsynced { dir: dir.to_owned(), version, source },
        error => error,
    })
}

/// Checks what a publication found against the floor. Behind the floor, names say nothing any more of who had a number:
/// whatever has the name may have got it after the floor was raised. `is_only` says that the outcome is that of the
/// only request: if it failed, nothing was published.
fn confirm(
    storage: &Storage<'_>,
    version: u64,
    text: &[u8],
    published: Result<(), PublishError>,
    is_only: bool,
) -> Result<(), PublishError> {
    match published {
        Err(error) if is_only || matches!(error, PublishError::Indeterminate(_)) => return Err(error),
        _ => {}
    }
    // The floor is raised before a name below it is removed. So if the name was free again, the floor is seen now.
    if version > VersionNumbers::list(storage).map_err(indeterminate)?.floor() {
        return published;
    }
    match storage.read(&file_name(version), MAX_BYTES) {
        Ok(found) if found == tombstone(text) => Ok(()),
        // The manifest may be there because the name was free again. Or the version was published, a later one names
        // its files, and it has expired since, all before the floor was read: the name says nothing of it.
        Ok(_) | Err(_) => {
            let text = "the answer came so late that the version may have expired since";
            Err(PublishError::Indeterminate(io::Error::other(text)))
        }
    }
}

fn indeterminate(error: ManifestError) -> PublishError {
    PublishError::Indeterminate(match error {
        ManifestError::Io { source, .. } => source,
        error => io::Error::other(error),
    })
}

/// The member of a manifest that says its layout.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutVersion {
    schema_version: u32,
}

#[cfg(test)]
mod tests;
