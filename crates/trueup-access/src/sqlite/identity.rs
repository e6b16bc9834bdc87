//! Which file a path names.

use crate::error::{Error, StorageError};
use std::fs::Metadata;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A regular file, whatever its name and its contents are. The number alone would not do: it is given to another file once the first
/// is removed and nobody has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    number: u64,
    created: Option<SystemTime>,
}

impl FileIdentity {
    /// The file at `path`, if it is one. Nothing is opened, so that a pipe does not block.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let metadata = path.metadata().map_err(|source| StorageError::new(path, source))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        Ok(Self::from(&metadata))
    }

    /// As a record of it is written. The device is left out: its number may be another after the machine was restarted.
    pub(super) fn record(&self) -> String {
        let created = self.created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{} {}", self.number, created.unwrap_or_default().as_nanos())
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (device, number) = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let (device, number) = (0, 0);
        Self { device, number, created: metadata.created().ok() }
    }
}
