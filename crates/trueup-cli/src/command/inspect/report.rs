//! What `trueup inspect` and `trueup verify` print as JSON. `docs/command-line.md` documents the keys.

use crate::exit::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use trueup::versions::{Batch, DataFile, Manifest, Verification};
use trueup::{Dataset, Day};

/// The contents of a dataset.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents<'a> {
    version: Option<u64>,
    layout: Option<u32>,
    created_by: Option<&'a str>,
    /// The release of the time zone database that computed days.
    tzdata: Option<&'a str>,
    tables: BTreeMap<&'static str, TableSize>,
    event_row_groups: usize,
    accounts: Vec<AccountEntry<'a>>,
    start: Option<Day>,
    end: Option<Day>,
    columns: Vec<&'a str>,
    /// The mapping that later ingests use, in TOML.
    mapping: Option<String>,
    ingests: Vec<Ingested<'a>>,
}

/// The size of a table.
#[derive(Serialize)]
pub(super) struct TableSize {
    /// The rows that are not superseded.
    pub(super) rows: u64,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

#[derive(Serialize)]
struct AccountEntry<'a> {
    key: String,
    /// `None` for an account that the account table does not have.
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct Ingested<'a> {
    version: u64,
    tables: BTreeMap<&'a str, IngestedTable<'a>>,
}

#[derive(Serialize)]
struct IngestedTable<'a> {
    rows: u64,
    rejected: u64,
    inputs: Vec<&'a str>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(dataset: &'a Dataset, mapping: Option<String>, batches: &'a [Batch]) -> Result<Self, Failure> {
        let manifest = dataset.manifest();
        let keys = dataset.account_keys().map_err(trueup::Error::from)?;
        let account = |key: String| {
            let name = dataset.accounts().get(&key).map(|account| account.name.as_str());
            AccountEntry { key, name }
        };
        let range = dataset.date_range();
        Ok(Self {
            version: manifest.map(|manifest| manifest.version),
            layout: manifest.map(|manifest| manifest.schema_version),
            created_by: manifest.map(|manifest| manifest.created_by.as_str()),
            tzdata: manifest.map(|manifest| manifest.tzdata.as_str()),
            tables: manifest.map(sizes).unwrap_or_default(),
            event_row_groups: dataset.event_row_groups(),
            accounts: keys.into_iter().map(account).collect(),
            start: range.map(|range| range.start),
            end: range.map(|range| range.end),
            columns: dataset.columns().iter().map(String::as_str).collect(),
            mapping,
            ingests: batches.iter().map(ingested).collect(),
        })
    }
}

impl TableSize {
    /// Returns the size of some files of a version.
    pub(super) fn of(manifest: &Manifest, files: &[DataFile]) -> Self {
        let superseded = |file: &DataFile| manifest.superseded.get(&file.path).map_or(0, |vector| vector.rows());
        Self {
            rows: files.iter().map(|file| file.rows.saturating_sub(superseded(file))).sum(),
            files: files.len(),
            bytes: files.iter().map(|file| file.size).sum(),
        }
    }
}

fn sizes(manifest: &Manifest) -> BTreeMap<&'static str, TableSize> {
    manifest.tables().into_iter().map(|(table, files)| (table, TableSize::of(manifest, files))).collect()
}

fn ingested(batch: &Batch) -> Ingested<'_> {
    let tables = batch.protocol.iter().map(|(name, table)| {
        let rows = IngestedTable { rows: table.taken().rows, rejected: table.rejected().rows, inputs: table.names() };
        (name.as_str(), rows)
    });
    Ingested { version: batch.version, tables: tables.collect() }
}

/// The result of a check of a dataset and its directory.
#[derive(Serialize)]
pub(super) struct CheckedDataset<'a> {
    whole: bool,
    version: u64,
    files: usize,
    bytes: u64,
    faults: &'a [String],
    directory: Option<CheckedDirectory>,
}

#[derive(Serialize)]
struct CheckedDirectory {
    path: String,
    faults: Vec<String>,
}

impl<'a> CheckedDataset<'a> {
    /// Returns the result of both checks. `faults_of_directory` lists what is wrong with the directory at `path`; both
    /// are `None` if there is no directory.
    pub(super) fn new(found: &'a Verification, path: Option<&Path>, faults_of_directory: Option<Vec<String>>) -> Self {
        let checked = path.zip(faults_of_directory);
        let directory = checked.map(|(path, faults)| CheckedDirectory { path: path.display().to_string(), faults });
        Self {
            whole: found.faults.is_empty() && directory.as_ref().is_none_or(|directory| directory.faults.is_empty()),
            version: found.version,
            files: found.files,
            bytes: found.bytes,
            faults: &found.faults,
            directory,
        }
    }
}
