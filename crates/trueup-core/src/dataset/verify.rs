//! Whether every file of a dataset is what its manifest says.

mod events;
mod insights;
mod spend;

use super::checked::CheckedFile;
use super::file::TableFile;
use super::manifest::DataFile;
use super::open::{manifest, read_accounts};
use crate::error::{DatasetError, Error};
use std::fmt;
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
    /// What is wrong, each with its file, at most one for each file; empty if nothing is.
    pub faults: Vec<String>,
}

impl Verification {
    /// Checks the newest state in a folder, or the one numbered `version`.
    ///
    /// Of every file: its length, checksum, and number of rows. Of events: that every column decodes; that accounts, the start dates of
    /// an account's customers, and customers of one start date stand in order inside each row group, all of one
    /// [`QuarterSpan`](crate::model::QuarterSpan); that the customers of a file are numbered from 0 and their days in order; that no customer occurs
    /// twice in the dataset; and that the statistics of row groups, which let queries leave them unread, hold. The order of a customer's events of one day is not checked. Of spend: that every column decodes, and the order of
    /// calendar quarters, accounts and dates. Of accounts: that each row holds and none occurs twice. Of insights: that each line is a document, and their
    /// order.
    ///
    /// One row group is held at a time, and 16 bytes of every customer; two customers of which these are alike by chance (less
    /// likely than 1 in 10^20 even among a billion) would be reported as one.
    ///
    /// # Errors
    /// There is no manifest to check against.
    pub fn of(folder: impl AsRef<Path>, version: Option<u64>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let manifest = manifest(folder, version)?;
        let mut found = Self { version: manifest.version, ..Self::default() };
        let mut customers = events::Customers::default();
        for file in &manifest.events {
            found.check(folder, file, |file| customers.check(&TableFile::open(folder, file)?));
        }
        for file in &manifest.spend {
            found.check(folder, file, |file| spend::check(&TableFile::open(folder, file)?));
        }
        for file in &manifest.accounts {
            found.check(folder, file, |file| Ok(read_accounts(folder, file).map(drop)?));
        }
        for file in &manifest.insights {
            found.check(folder, file, |file| insights::check(folder, file));
        }
        Ok(found)
    }

    /// The bytes of a file first, and its rows only if these are the ones that were written.
    fn check(&mut self, folder: &Path, file: &DataFile, rows: impl FnOnce(&DataFile) -> Result<(), Fault>) {
        self.files += 1;
        let checked = bytes(folder, file).and_then(|()| {
            self.bytes += file.size;
            rows(file)
        });
        if let Err(Fault(fault)) = checked {
            self.faults.push(fault);
        }
    }
}

/// What is wrong with a file, which it names.
struct Fault(String);

impl Fault {
    /// At a row of a row group, both counted from 0.
    fn at(file: &TableFile, row_group: usize, row: usize, fault: impl fmt::Display) -> Self {
        Self(format!("`{}`, row group {row_group}, row {row}: {fault}", file.path().display()))
    }
}

impl From<DatasetError> for Fault {
    fn from(error: DatasetError) -> Self {
        Self(error.to_string())
    }
}

/// Compares size and SHA-256.
fn bytes(folder: &Path, promised: &DataFile) -> Result<(), Fault> {
    let file = CheckedFile::open(folder, promised)?;
    let found = file.sha256()?;
    if found == promised.sha256 {
        return Ok(());
    }
    let promised = &promised.sha256;
    Err(Fault(format!("`{}` has the checksum {found}, but the manifest says {promised}", file.path().display())))
}
