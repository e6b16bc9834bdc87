//! Manifests in a dataset's folder: listed, read, and published one after the other.
//!
//! A manifest file is the JSON of a [`Manifest`] with one more member, which is the last: `sha256`, the checksum of the file's own bytes
//! without that member. So no byte of it can change unnoticed.

use super::manifest::{Manifest, ManifestFault, SCHEMA_VERSION};
use super::plain::{NotOpened, open_plain};
use crate::files::Files;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A manifest cannot be found, read or published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The file is no manifest.
    #[error("`{}` is no manifest of a dataset: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where its JSON fails.
        source: serde_json::Error,
    },
    /// The bytes of the manifest differ from what was written.
    #[error("`{}` is damaged: its bytes do not have the checksum at its end; restore it from a copy", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
    },
    /// The manifest says something that no writer of datasets says.
    #[error("`{}` is no manifest of a dataset: {fault}", path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// What it says.
        fault: ManifestFault,
    },
    /// The file is a symbolic link, a folder, or something else that is no plain file.
    #[error("`{}` is {found}, and a manifest is a plain file", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The file is too large to be a manifest.
    #[error("`{}` is no manifest of a dataset: it has {found} bytes, and a manifest has at most {MAX_BYTES}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
    },
    /// The manifest has a layout that this program does not know.
    #[error(
        "`{}` has layout {found}, and this program reads layout {SCHEMA_VERSION}; ingest the original files into a new dataset",
        path.display()
    )]
    UnknownLayout {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
    },
    /// The manifest's number is not that of its file.
    #[error("`{}` says that it is version {found}", path.display())]
    WrongNumber {
        /// The file.
        path: PathBuf,
        /// The number inside.
        found: u64,
    },
    /// There is a manifest of that number already: somebody else has published one.
    #[error("`{}` has a version {version} already: somebody else has written to the dataset meanwhile", dir.display())]
    Taken {
        /// The dataset's folder.
        dir: PathBuf,
        /// The number.
        version: u64,
    },
    /// The version is published, and readers see it, but it may not survive a loss of power.
    #[error(
        "version {version} is published, durability unknown: cannot sync `{}`: {source}; \
         check the disk, then run `trueup verify`",
        dir.display()
    )]
    Unsynced {
        /// The dataset's folder.
        dir: PathBuf,
        /// The number.
        version: u64,
        /// What the file system said.
        source: io::Error,
    },
    /// The file system refused to publish the version, and refuses to say whether it did so all the same.
    #[error(
        "it is unknown whether version {version} is published: cannot create `{}`: {source}; \
         check the disk, then run `trueup verify`",
        path.display()
    )]
    Uncertain {
        /// The manifest.
        path: PathBuf,
        /// The number.
        version: u64,
        /// What the file system said.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether readers may see the version that was to be published, so that nothing that it names may be removed.
    #[must_use]
    pub const fn may_be_published(&self) -> bool {
        matches!(self, Self::Unsynced { .. } | Self::Uncertain { .. })
    }
}

/// The bytes that a manifest may have: enough for a dataset of four terabytes, most of them checksums of its blocks.
const MAX_BYTES: u64 = 1 << 29;

/// The name of a manifest that is not published yet, in a folder of its writer's.
const STAGED: &str = "manifest.json";

/// What stands before the checksum at the end of a manifest, and after it.
const SEAL: (&str, &str) = (",\n  \"sha256\": \"", "\"\n}\n");

/// What the JSON of a manifest ends with before it is sealed.
const UNSEALED_END: &str = "\n}";

/// The name of the manifest file of a version.
#[must_use]
pub fn file_name(version: u64) -> String {
    format!("manifest-{version:08}.json")
}

/// The versions that a dataset's folder has manifests of, ascending; none if there is no such folder.
///
/// # Errors
/// The folder cannot be listed.
pub fn versions(dir: &Path) -> Result<Vec<u64>, StoreError> {
    let failed = |source| StoreError::Io { action: "list", path: dir.to_owned(), source };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut versions = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("manifest-")?.strip_suffix(".json"));
        // A number spelled in another way than `file_name` spells it is not one of ours.
        if let Some(version) = number.and_then(|digits| digits.parse().ok())
            && name.to_str() == Some(&file_name(version))
        {
            versions.push(version);
        }
    }
    versions.sort_unstable();
    Ok(versions)
}

/// The newest manifest of a dataset's folder; `None` if it has none, or if there is no such folder.
///
/// # Errors
/// The folder cannot be listed, or the newest manifest cannot be read.
pub fn read_latest(dir: &Path) -> Result<Option<Manifest>, StoreError> {
    versions(dir)?.last().map(|version| read(dir, *version)).transpose()
}

/// The manifest of a version.
///
/// # Errors
/// The file is absent, unreadable, damaged, or of an unknown layout.
pub fn read(dir: &Path, version: u64) -> Result<Manifest, StoreError> {
    let path = dir.join(file_name(version));
    let text = read_bytes(dir, version, &path)?;
    // The layout is looked at first: a later one may have members that this program would call damage.
    match serde_json::from_slice::<Layout>(&text) {
        Ok(Layout { schema_version }) if schema_version != SCHEMA_VERSION => {
            return Err(StoreError::UnknownLayout { path, found: schema_version });
        }
        Ok(_) => {}
        Err(source) => return Err(StoreError::Damaged { path, source }),
    }
    let Some(unsealed) = unseal(&text) else { return Err(StoreError::Checksum { path }) };
    let manifest: Manifest = match serde_json::from_slice(&unsealed) {
        Ok(manifest) => manifest,
        Err(source) => return Err(StoreError::Damaged { path, source }),
    };
    if let Err(fault) = manifest.check() {
        return Err(StoreError::Fault { path, fault });
    }
    if manifest.version != version {
        return Err(StoreError::WrongNumber { path, found: manifest.version });
    }
    Ok(manifest)
}

/// The bytes of a manifest, which is a plain file and not larger than one can be.
fn read_bytes(dir: &Path, version: u64, path: &Path) -> Result<Vec<u8>, StoreError> {
    let failed = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    let file = open_plain(dir, &file_name(version)).map_err(|error| match error {
        NotOpened::Io(error) => failed(error),
        NotOpened::NotPlain(found) => StoreError::NotPlain { path: path.to_owned(), found },
        NotOpened::Outside => failed(io::ErrorKind::InvalidFilename.into()),
    })?;
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_BYTES {
        return Err(StoreError::TooLarge { path: path.to_owned(), found: length });
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// The bytes of a manifest file.
fn seal(manifest: &Manifest) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec_pretty(manifest)?;
    let checksum = checksum(&text);
    text.truncate(text.len() - UNSEALED_END.len());
    text.extend_from_slice(SEAL.0.as_bytes());
    text.extend_from_slice(checksum.as_bytes());
    text.extend_from_slice(SEAL.1.as_bytes());
    Ok(text)
}

/// The JSON that was sealed; `None` if a byte has changed since.
fn unseal(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(SEAL.1.as_bytes())?;
    let (text, found) = text.split_at_checked(text.len().checked_sub(2 * Sha256::output_size())?)?;
    let mut unsealed = text.strip_suffix(SEAL.0.as_bytes())?.to_vec();
    unsealed.extend_from_slice(UNSEALED_END.as_bytes());
    (checksum(&unsealed).as_bytes() == found).then_some(unsealed)
}

/// The SHA-256 in lower-case hex.
fn checksum(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Publishes a manifest: makes it the newest of its dataset's folder, all at once and durably. It never replaces another.
///
/// The files that it names must have been written and synced before. It is written in the folder `staging` first, which must be on the
/// same file system; what is left there is for the caller to remove.
///
/// # Errors
/// There is a manifest of that number, or the file system refused; unless the error
/// [may be published](StoreError::may_be_published), nothing has changed then.
pub fn publish(files: &Files, dir: &Path, staging: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let (version, path) = (manifest.version, dir.join(file_name(manifest.version)));
    if let Err(fault) = manifest.check() {
        return Err(StoreError::Fault { path, fault });
    }
    let text = match seal(manifest) {
        Ok(text) => text,
        Err(source) => return Err(StoreError::Damaged { path, source }),
    };
    let staged = staging.join(STAGED);
    let written = files.create(&staged).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync()
    });
    written.map_err(|source| StoreError::Io { action: "write", path: staged.clone(), source })?;
    link(files, &staged, &path, &text).map_err(|error| match error {
        Unpublished::Taken => StoreError::Taken { dir: dir.to_owned(), version },
        Unpublished::Refused(source) => StoreError::Io { action: "create", path: path.clone(), source },
        Unpublished::Unknown(source) => StoreError::Uncertain { path: path.clone(), version, source },
    })?;
    files.sync_folder(dir).map_err(|source| StoreError::Unsynced { dir: dir.to_owned(), version, source })
}

/// Why a manifest was not published, as far as is known.
enum Unpublished {
    Taken,
    Refused(io::Error),
    Unknown(io::Error),
}

/// Gives the staged manifest, which holds `text`, its name.
fn link(files: &Files, staged: &Path, path: &Path, text: &[u8]) -> Result<(), Unpublished> {
    let Err(error) = files.link(staged, path) else { return Ok(()) };
    match published(path, text) {
        // A network file system may link, lose the answer, and report that the name is taken.
        Ok(Some(true)) => return Ok(()),
        Ok(Some(false)) => return Err(Unpublished::Taken),
        Ok(None) => {}
        Err(_) => return Err(Unpublished::Unknown(error)),
    }
    // Some file systems have no hard links. There the look and the rename are two steps; the writer's lock keeps others out.
    let Err(error) = files.rename(staged, path) else { return Ok(()) };
    match published(path, text) {
        Ok(Some(true)) => Ok(()),
        Ok(Some(false)) => Err(Unpublished::Taken),
        Ok(None) => Err(Unpublished::Refused(error)),
        Err(_) => Err(Unpublished::Unknown(error)),
    }
}

/// Whether the manifest at `path` is the one with these bytes; `None` if there is none.
fn published(path: &Path, text: &[u8]) -> io::Result<Option<bool>> {
    match fs::read(path) {
        Ok(found) => Ok(Some(found == text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layout {
    schema_version: u32,
}

#[cfg(test)]
mod tests;
