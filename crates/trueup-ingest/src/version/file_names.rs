//! The ids of ingests in the names of what they write.

use crate::IngestError;
use crate::error::ErrorContext;
use trueup_core::dataset::manifest::hex;

/// The beginning of a record's name; the id follows.
pub(crate) const RECORD_PREFIX: &str = ".trueup-pending-";

/// Digits of an id. With 128 random bits, no two ingests share an id, and no other program writes files with such
/// names.
const ID_DIGITS: usize = 32;

/// The endings of the names of all data files that an ingest writes.
const ENDINGS: [&str; 5] = [".parquet", ".ndjson", ".ndjson.zst", ".toml", ".bin"];

/// Returns a new id.
pub(super) fn random_id() -> Result<String, IngestError> {
    let mut bytes = [0; ID_DIGITS / 2];
    getrandom::fill(&mut bytes).doing("find a random number")?;
    Ok(hex(&bytes))
}

/// Returns whether a text has the form of an id.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether the ingest with that id wrote the data file of that name.
pub(super) fn has_id(name: &str, id: &str) -> bool {
    version_and_id(name).is_some_and(|(_, found)| found == id)
}

/// Returns what the names of all data files of an ingest have in common and no others: its id, or the whole path if no
/// ingest wrote the file.
pub(crate) fn writer_of(path: &str) -> &str {
    path.rsplit('/').next().and_then(version_and_id).map_or(path, |(_, id)| id)
}

/// Returns the version and the id of the ingest that wrote the data file of that name; `None` if none did.
pub(super) fn version_and_id(name: &str) -> Option<(u64, &str)> {
    let stem = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending))?;
    let (version, rest) = stem.split_once('-')?;
    let (_, id) = rest.split_once('-')?;
    Some((version.parse().ok()?, id)).filter(|(_, id)| is_id(id))
}
