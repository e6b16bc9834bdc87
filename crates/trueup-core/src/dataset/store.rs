//! Manifests in a dataset's folder: found, read, and committed one after the other.

use super::manifest::{Manifest, SCHEMA_VERSION};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the name of a manifest begins with that is not committed yet; one that is left over was never committed.
pub const DRAFT: &str = ".manifest-";

/// A manifest cannot be found, read or committed.
#[derive(Debug, thiserror::Error)]
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
    /// The manifest has a layout that this program does not know.
    #[error("`{}` has layout {found}, and this program reads layout {SCHEMA_VERSION}", path.display())]
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
    /// There is a manifest of that number already: somebody else has committed.
    #[error("version {version} of `{}` is there already: somebody else has written to the dataset meanwhile", dir.display())]
    Taken {
        /// The dataset's folder.
        dir: PathBuf,
        /// The number.
        version: u64,
    },
}

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
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(source) => return Err(StoreError::Io { action: "read", path, source }),
    };
    // The layout is looked at first: a later one may have fields that this program would call damage.
    match serde_json::from_slice::<Layout>(&text) {
        Ok(Layout { schema_version }) if schema_version != SCHEMA_VERSION => {
            return Err(StoreError::UnknownLayout { path, found: schema_version });
        }
        Ok(_) => {}
        Err(source) => return Err(StoreError::Damaged { path, source }),
    }
    let manifest: Manifest = match serde_json::from_slice(&text) {
        Ok(manifest) => manifest,
        Err(source) => return Err(StoreError::Damaged { path, source }),
    };
    if manifest.version != version {
        return Err(StoreError::WrongNumber { path, found: manifest.version });
    }
    Ok(manifest)
}

/// Makes a manifest the newest of its dataset's folder, all at once and durably; it never replaces another.
///
/// The files that it names must have been written and synced before.
///
/// # Errors
/// There is a manifest of that number, or the file system refused; then nothing has changed.
pub fn commit(dir: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let path = dir.join(file_name(manifest.version));
    let text = match serde_json::to_vec_pretty(manifest) {
        Ok(mut text) => {
            text.push(b'\n');
            text
        }
        Err(source) => return Err(StoreError::Damaged { path, source }),
    };
    let draft = Draft::write(dir, manifest.version, &text)?;
    match fs::hard_link(&draft.path, &path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(taken(dir, manifest.version)),
        // Some file systems know no hard links; there the check and the rename are two steps, guarded by the writer's lock.
        Err(_) if path.exists() => return Err(taken(dir, manifest.version)),
        Err(_) => {
            fs::rename(&draft.path, &path).map_err(|source| StoreError::Io { action: "create", path, source })?;
        }
    }
    drop(draft);
    sync_folder(dir)
}

/// Makes the names of a folder durable, where the platform has a way to say so.
///
/// # Errors
/// The folder cannot be synced.
pub fn sync_folder(dir: &Path) -> Result<(), StoreError> {
    let synced = if cfg!(unix) { File::open(dir).and_then(|folder| folder.sync_all()) } else { Ok(()) };
    synced.map_err(|source| StoreError::Io { action: "sync", path: dir.to_owned(), source })
}

fn taken(dir: &Path, version: u64) -> StoreError {
    StoreError::Taken { dir: dir.to_owned(), version }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layout {
    schema_version: u32,
}

/// A manifest under a name that no reader looks at; removed when dropped.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn write(dir: &Path, version: u64, text: &[u8]) -> Result<Self, StoreError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".{}.{}-{count}", file_name(version), std::process::id()));
        let draft = Self { path };
        let written = File::create(&draft.path).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        });
        match written {
            Ok(()) => Ok(draft),
            Err(source) => Err(StoreError::Io { action: "write", path: draft.path.clone(), source }),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It may be gone already: renamed into place, or never made. A draft left behind is never read.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
