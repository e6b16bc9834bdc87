//! Lists of batches: what was ingested, in files that manifests name. Only ingests of events read them, and commands
//! that show what was ingested, so that a manifest stays small however many ingests there were.
//!
//! A list never changes. It has a line of JSON for each ingest, the oldest first, and is compressed with Zstandard.

use super::checked_file::{CheckedFile, StartedReads};
use super::error::DatasetError;
use super::manifest::{DataFile, Manifest};
use super::protocol::TableProtocol;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::slice;
use zstd::stream::read::Decoder;

/// The longest line of a list: some 300,000 files of one ingest. Nothing else bounds what a few compressed bytes
/// become.
const MAX_LINE_BYTES: u64 = 128 << 20;

/// The inputs of one ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// The version that the ingest made.
    pub version: u64,
    /// For each table that the ingest had inputs for (`events`, `spend`, `accounts`, `insights`), even if these have no
    /// rows, or of which it removed rows: what became of the rows.
    pub protocol: BTreeMap<String, TableProtocol>,
    /// By what the events are recognized if they come again; `None` if the ingest had none, or was distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// The source whose stored events and spend the ingest removed before it added its own; `None` if it removed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_source: Option<String>,
}

/// The files of the events of an ingest, and all else that decides their rows, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reading {
    /// The files that have the events, sorted by checksum. Files that a mapping only joins are among the `parts`.
    pub files: Vec<ReadFile>,
    /// What decides the rows of all files: options by their names, with their values, and the checksums of what is
    /// longer than a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// The time zones of the accounts of the events, if clock times are read in the time zones of accounts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zones: BTreeMap<String, String>,
}

/// A file of events, and how it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadFile {
    /// The name, without folders.
    pub name: String,
    /// The BLAKE3, in lower-case hex, of the bytes and of the columns that the names of the file's folders give.
    pub blake3: String,
    /// The number of its events that have no `eventId`.
    pub without_id: u64,
    /// The sources of its events; the empty one is that of events without a source. `None` if there are too many to
    /// list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeSet<String>>,
    /// What decides the rows of this file: options by their names, with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
}

/// Returns the bytes of the list of some batches.
///
/// # Errors
/// A batch cannot be written as JSON, or compressed, which does not happen to any batch.
pub fn encode_batches(batches: &[Batch]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for batch in batches {
        serde_json::to_writer(&mut text, batch)?;
        text.push(b'\n');
    }
    zstd::bulk::compress(&text, 0)
}

impl Manifest {
    /// Reads what the version was made from: the batches of all its ingests, the oldest first. A store is asked for all
    /// lists at the same time.
    ///
    /// # Errors
    /// A list is missing, unreadable or damaged.
    pub fn read_batches(&self, folder: &Path) -> Result<Vec<Batch>, DatasetError> {
        let start = |list: &DataFile| -> Result<(CheckedFile, StartedReads), DatasetError> {
            let file = CheckedFile::open(folder, list)?;
            let ahead = file.read_ahead(slice::from_ref(&(0..list.size)));
            Ok((file, ahead))
        };
        let started = self.batches.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let mut batches = Vec::new();
        for (list, (file, ahead)) in self.batches.iter().zip(started) {
            batches.extend(read(list, &file, ahead)?);
        }
        Ok(batches)
    }
}

/// Reads a list of batches.
///
/// # Errors
/// The list is missing, unreadable or damaged.
pub fn read_batch_list(folder: &Path, list: &DataFile) -> Result<Vec<Batch>, DatasetError> {
    read(list, &CheckedFile::open(folder, list)?, StartedReads::default())
}

fn read(list: &DataFile, file: &CheckedFile, ahead: StartedReads) -> Result<Vec<Batch>, DatasetError> {
    let whole = 0..list.size;
    let mut batches: Vec<Batch> = Vec::new();
    for bytes in file.read_ranges(slice::from_ref(&whole), ahead) {
        let compressed = bytes?.within(&whole);
        let at = |line: usize, fault: String| {
            let line = u64::try_from(line).unwrap_or(u64::MAX);
            DatasetError::Batch { path: file.path().to_owned(), line, fault }
        };
        let mut lines = BufReader::new(Decoder::new(&*compressed).map_err(|error| at(1, error.to_string()))?);
        loop {
            let fault = |fault: String| at(batches.len() + 1, fault);
            let mut line = Vec::new();
            let length = lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if length.map_err(|error| fault(error.to_string()))? == 0 {
                break;
            }
            let batch: Batch = serde_json::from_slice(&line).map_err(|error| fault(error.to_string()))?;
            if batches.last().is_some_and(|last| last.version >= batch.version) {
                return Err(fault(format!("version {} is out of order", batch.version)));
            }
            batches.push(batch);
        }
    }
    let (found, promised) = (batches.len() as u64, list.rows);
    if found != promised {
        return Err(DatasetError::Length { path: file.path().to_owned(), unit: "batches", found, promised });
    }
    Ok(batches)
}
