//! The versions of a dataset: when and by what each was made, and how many bytes it takes.

use super::commit::{CommitOperation, CommitTime};
use super::error::ManifestError;
use super::manifest::DataFile;
use super::manifest_file;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// A version of a dataset, as a list of versions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionSummary {
    /// The number of the version.
    pub version: u64,
    /// When it was committed, in UTC.
    pub committed: CommitTime,
    /// What made it.
    pub operation: CommitOperation,
    /// The program that made it.
    pub created_by: String,
    /// The number of its events.
    pub events: u64,
    /// The number of its rows of spend.
    pub spend: u64,
    /// The number of its files, lists of files and deletion vectors included; the manifest is not one of them.
    pub files: u64,
    /// The bytes of its files.
    pub bytes: u64,
    /// The number of its files that no other version names.
    pub own_files: u64,
    /// The bytes of the files that no other version names, which are freed after the version has expired.
    pub own_bytes: u64,
}

impl VersionSummary {
    /// Describes all versions of a dataset, in the order of their numbers; none if there is no dataset.
    ///
    /// # Errors
    /// The folder or the store cannot be listed, or a manifest or a list of files is missing, unreadable or damaged.
    pub fn of_all(dataset: impl AsRef<Path>) -> Result<Vec<Self>, ManifestError> {
        let dataset = dataset.as_ref();
        let versions = manifest_file::versions(dataset)?;
        let read = versions.into_par_iter().with_max_len(1).map(|version| ReadVersion::of(dataset, version));
        let mut read = read.collect::<Result<Vec<_>, _>>()?;
        let mut names: HashMap<&str, u64> = HashMap::new();
        for (path, _) in read.iter().flat_map(|version| &version.files) {
            *names.entry(path).or_default() += 1;
        }
        let own = |read: &ReadVersion| {
            let own = read.files.iter().filter(|(path, _)| names.get(path.as_str()) == Some(&1));
            own.fold((0, 0), |(files, bytes), (_, size)| (files + 1, bytes + size))
        };
        let own: Vec<(u64, u64)> = read.iter().map(own).collect();
        for (read, own) in read.iter_mut().zip(own) {
            (read.summary.own_files, read.summary.own_bytes) = own;
        }
        Ok(read.into_iter().map(|read| read.summary).collect())
    }
}

/// A version whose manifest was read.
struct ReadVersion {
    summary: VersionSummary,
    /// The path and the size of each file.
    files: Vec<(String, u64)>,
}

impl ReadVersion {
    fn of(dataset: &Path, version: u64) -> Result<Self, ManifestError> {
        let manifest = manifest_file::read(dataset, version)?;
        let superseded = |file: &DataFile| manifest.superseded.get(&file.path).map_or(0, |vector| vector.rows());
        let rows = |files: &[DataFile]| files.iter().map(|file| file.rows.saturating_sub(superseded(file))).sum();
        let files: Vec<(String, u64)> = manifest.files().map(|file| (file.path.clone(), file.size)).collect();
        let summary = VersionSummary {
            version,
            committed: manifest.commit.time,
            operation: manifest.commit.operation,
            events: rows(&manifest.events),
            spend: rows(&manifest.spend),
            files: files.len() as u64,
            bytes: files.iter().map(|(_, size)| size).sum(),
            own_files: 0,
            own_bytes: 0,
            created_by: manifest.created_by,
        };
        Ok(Self { summary, files })
    }
}
