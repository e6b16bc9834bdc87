//! Whether every file of a dataset is what its manifest says.

use super::file::open_file;
use super::manifest::DataFile;
use super::{Dataset, store};
use crate::error::{DatasetError, Error};
use crate::plan::Projection;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// What a check of a dataset's files found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// The manifest's number.
    pub version: u64,
    /// Files checked.
    pub files: usize,
    /// Bytes read.
    pub bytes: u64,
    /// What is wrong, each with its file; empty if nothing is.
    pub faults: Vec<String>,
}

impl Verification {
    /// Checks the newest state in a folder, or the one numbered `version`: sizes, checksums, row counts and the order of rows.
    ///
    /// # Errors
    /// There is no manifest to check against.
    pub fn of(folder: impl AsRef<Path>, version: Option<u64>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let missing = || DatasetError::Missing { path: folder.to_owned(), version };
        let manifest = match version {
            Some(version) => store::read(folder, version)?,
            None => store::read_latest(folder)?.ok_or_else(missing)?,
        };
        let mut found = Self { version: manifest.version, ..Self::default() };
        let tables = [&manifest.events, &manifest.spend, &manifest.accounts, &manifest.insights];
        for file in tables.into_iter().flatten() {
            found.check_bytes(folder, file);
        }
        if found.faults.is_empty() {
            found.check_rows(folder, manifest.version);
        }
        Ok(found)
    }

    fn check_bytes(&mut self, folder: &Path, file: &DataFile) {
        self.files += 1;
        match checksum(&folder.join(&file.path)) {
            Err(error) => self.faults.push(error.to_string()),
            Ok((size, _)) if size != file.size => {
                self.faults.push(format!("`{}` has {size} bytes, but the manifest says {}", file.path, file.size));
            }
            Ok((_, sha256)) if sha256 != file.sha256 => {
                self.faults.push(format!("`{}` has another checksum than the manifest says", file.path));
            }
            Ok((size, _)) => self.bytes += size,
        }
    }

    fn check_rows(&mut self, folder: &Path, version: u64) {
        let dataset = match Dataset::open_version(folder, version) {
            Ok(dataset) => dataset,
            Err(error) => return self.faults.push(error.to_string()),
        };
        let texts = dataset.columns.clone();
        let projection = Projection { texts, totals: true, date_times: true };
        let events = dataset.events.iter().filter_map(|part| part.read(&projection).err());
        let spend = dataset.spend.iter().filter_map(|part| part.read().err());
        self.faults.extend(events.chain(spend).map(|error| error.to_string()));
        let promised = |files: &[DataFile]| files.iter().map(|file| file.rows).sum::<u64>();
        let Some(manifest) = &dataset.manifest else { return };
        let counts = [
            ("events", dataset.event_rows(), promised(&manifest.events)),
            ("spend", dataset.spend_rows(), promised(&manifest.spend)),
        ];
        for (table, found, promised) in counts {
            if found != promised {
                self.faults.push(format!("{table} have {found} rows, but the manifest says {promised}"));
            }
        }
    }
}

/// Size and SHA-256 of a file, the latter in lower-case hex.
fn checksum(path: &Path) -> Result<(u64, String), DatasetError> {
    let failed = |source| DatasetError::Io { path: path.to_owned(), source };
    let mut file = open_file(path)?;
    let mut digest = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        size += read as u64;
    }
    Ok((size, digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}
