//! The manifest files in a dataset's folder, or below its URL: listed, read and published.
//!
//! A manifest file is the JSON of a [`Manifest`] with one more member at its end: `sha256`, the checksum of the file's
//! bytes without that member. A change of any byte is therefore detected. The entries of the files of events and spend
//! are in lists, which are files of their own and are read with the manifest.

pub use super::error::ManifestError;

use super::commit::Commit;
use super::deletion_vector::read_vectors;
use super::error::Unpublished;
use super::file_list::read_lists;
use super::manifest::{MAX_BYTES, Manifest, SCHEMA_VERSION, hex};
use super::plain_file::{NotOpened, open_plain};
use super::remote::{ReadFault, RemoteFolder, location_of, without_credentials};
use crate::files::Files;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of a manifest in the staging folder, before it is published.
const STAGED: &str = "manifest.json";

/// The text before and after the checksum at the end of a manifest.
const SEAL: (&str, &str) = (",\n  \"sha256\": \"", "\"\n}\n");

/// The end of the JSON of a manifest before it is sealed.
const UNSEALED_END: &str = "\n}";

/// Returns the name of the manifest file of a version.
#[must_use]
pub fn file_name(version: u64) -> String {
    format!("manifest-{version:08}.json")
}

/// Lists the versions whose manifests are in a dataset's folder, ascending; none if there is no such folder.
///
/// # Errors
/// The folder, or the folder that the URL means, cannot be listed.
pub fn versions(dir: &Path) -> Result<Vec<u64>, ManifestError> {
    let failed = |source| ManifestError::Io { action: "list", path: without_credentials(dir), source };
    let names = match RemoteFolder::of(dir).map_err(failed)? {
        Some(remote) => remote.names().map_err(failed)?,
        None => names(dir).map_err(failed)?,
    };
    let mut versions: Vec<u64> = names.iter().filter_map(|name| version_of(name)).collect();
    versions.sort_unstable();
    Ok(versions)
}

/// Lists the names in a folder, except for names that are not UTF-8; none if there is no such folder.
pub(super) fn names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Returns the version whose [`file_name`] is `name`; `None` if no version has that name, for example because the
/// number in it has fewer digits.
fn version_of(name: &str) -> Option<u64> {
    let version = name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse().ok()?;
    (name == file_name(version)).then_some(version)
}

/// Reads the newest manifest of a dataset's folder; `None` if it has none, or if there is no such folder.
///
/// # Errors
/// The folder cannot be listed, or the newest manifest cannot be read.
pub fn read_latest(dir: &Path) -> Result<Option<Manifest>, ManifestError> {
    versions(dir)?.last().map(|version| read(dir, *version)).transpose()
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
    if manifest.says_the_same(open) {
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
    let path = || path.to_owned();
    let text = read_bytes(dir, version, &path())?;
    // The layout is checked first, because another one may have members that this program would report as damage.
    let layout = match serde_json::from_slice(&text) {
        Ok(LayoutVersion { schema_version }) => schema_version,
        Err(source) => return Err(ManifestError::Damaged { path: path(), source }),
    };
    if layout != SCHEMA_VERSION {
        return Err(ManifestError::UnknownLayout { path: path(), found: layout });
    }
    let Some(unsealed) = unseal(&text) else { return Err(ManifestError::Checksum { path: path() }) };
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

/// Returns when the manifest of a version was written, by the clock of the file system or of the store.
pub(super) fn written(dir: &Path, version: u64) -> Result<SystemTime, ManifestError> {
    let name = file_name(version);
    let path = || without_credentials(&location_of(dir, &name));
    let failed = |source| ManifestError::Io { action: "read", path: path(), source };
    match RemoteFolder::of(dir).map_err(failed)? {
        Some(remote) => remote.modified(&name),
        None => fs::metadata(dir.join(&name)).and_then(|metadata| metadata.modified()),
    }
    .map_err(failed)
}

/// Reads the bytes of a manifest, which must be a plain file or an object of at most [`MAX_BYTES`].
fn read_bytes(dir: &Path, version: u64, path: &Path) -> Result<Vec<u8>, ManifestError> {
    let failed = |source| ManifestError::Io { action: "read", path: path.to_owned(), source };
    if let Some(remote) = RemoteFolder::of(dir).map_err(failed)? {
        return remote.whole(&file_name(version), MAX_BYTES).map(Vec::from).map_err(|fault| match fault {
            ReadFault::Io(error) => failed(error),
            ReadFault::Length(found) => ManifestError::TooLarge { path: path.to_owned(), found },
        });
    }
    let file = open_plain(dir, &file_name(version)).map_err(|error| match error {
        NotOpened::Io(error) => failed(error),
        NotOpened::NotPlain(found) => ManifestError::NotPlain { path: path.to_owned(), found },
        NotOpened::Outside => failed(io::ErrorKind::InvalidFilename.into()),
    })?;
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_BYTES {
        return Err(ManifestError::TooLarge { path: path.to_owned(), found: length });
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// Returns the bytes of the file of a manifest: its JSON and the checksum.
fn seal(manifest: &Manifest) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    let checksum = checksum(&text);
    text.truncate(text.len() - UNSEALED_END.len());
    text.extend_from_slice(SEAL.0.as_bytes());
    text.extend_from_slice(checksum.as_bytes());
    text.extend_from_slice(SEAL.1.as_bytes());
    Ok(text)
}

/// Returns the JSON that was sealed; `None` if a byte has changed.
fn unseal(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(SEAL.1.as_bytes())?;
    let (text, found) = text.split_at_checked(text.len().checked_sub(2 * Sha256::output_size())?)?;
    let mut unsealed = text.strip_suffix(SEAL.0.as_bytes())?.to_vec();
    unsealed.extend_from_slice(UNSEALED_END.as_bytes());
    (checksum(&unsealed).as_bytes() == found).then_some(unsealed)
}

/// Returns the SHA-256 in lower-case hex.
fn checksum(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

/// Publishes a manifest: makes it the newest of its dataset's folder, atomically and durably. It never replaces
/// another.
///
/// The files that it names, lists included, must already be written and synced. The manifest is first written to the
/// folder `staging`, which must be on the same file system. The caller removes what is left there. Below a URL, the
/// manifest is created as an object if there is none of its name, and `files` and `staging` are not used.
///
/// # Errors
/// The manifest has a fault, one with this number exists, or the file system or the store reports an error. The dataset
/// is unchanged, unless [`may_be_published`](ManifestError::may_be_published) returns `true`.
pub fn publish(files: &Files, dir: &Path, staging: &Path, manifest: &Manifest) -> Result<(), ManifestError> {
    let (version, path) = (manifest.version, location_of(dir, &file_name(manifest.version)));
    if let Err(fault) = manifest.check() {
        return Err(ManifestError::Fault { path, fault });
    }
    let text = match seal(manifest) {
        Ok(text) => text,
        Err(source) => return Err(ManifestError::Damaged { path, source }),
    };
    let unpublished = |error| match error {
        Unpublished::Taken => ManifestError::Taken { dir: dir.to_owned(), version },
        Unpublished::Refused(source) => ManifestError::Io { action: "create", path: path.clone(), source },
        Unpublished::Unknown(source) => ManifestError::Uncertain { path: path.clone(), version, source },
    };
    if let Some(remote) = RemoteFolder::of(dir).map_err(|error| unpublished(error.into()))? {
        return remote.publish(&file_name(version), text).map_err(unpublished);
    }
    let staged = staging.join(STAGED);
    let written = files.create(&staged).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync()
    });
    written.map_err(|source| ManifestError::Io { action: "write", path: staged.clone(), source })?;
    link(files, &staged, &path, &text).map_err(unpublished)?;
    files.sync_folder(dir).map_err(|source| ManifestError::Unsynced { dir: dir.to_owned(), version, source })
}

/// Gives the staged manifest, whose content is `text`, its name in the folder of the dataset.
fn link(files: &Files, staged: &Path, path: &Path, text: &[u8]) -> Result<(), Unpublished> {
    let Err(error) = files.link(staged, path) else { return Ok(()) };
    match is_published(path, text) {
        // A network file system may link, lose the reply, and report that the name is taken.
        Ok(Some(true)) => return Ok(()),
        Ok(Some(false)) => return Err(Unpublished::Taken),
        Ok(None) => {}
        Err(_) => return Err(Unpublished::Unknown(error)),
    }
    // Some file systems have no hard links. On these, the check and the rename are two steps, and the writer's lock
    // excludes other writers.
    let Err(error) = files.rename(staged, path) else { return Ok(()) };
    match is_published(path, text) {
        Ok(Some(true)) => Ok(()),
        Ok(Some(false)) => Err(Unpublished::Taken),
        Ok(None) => Err(Unpublished::Refused(error)),
        Err(_) => Err(Unpublished::Unknown(error)),
    }
}

/// Returns whether the manifest at `path` has these bytes; `None` if there is none.
fn is_published(path: &Path, text: &[u8]) -> io::Result<Option<bool>> {
    match fs::read(path) {
        Ok(found) => Ok(Some(found == text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The member of a manifest that says its layout.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutVersion {
    schema_version: u32,
}

#[cfg(test)]
mod tests;
