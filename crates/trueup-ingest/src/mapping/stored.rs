//! What the dataset holds, as a joined input: the distinct values that its events have in some columns.

use super::declaration::Join;
use super::held::{BufferedRows, MemoryUse};
use super::inputs::{InputColumn, Reading, StoredDataset};
use crate::IngestError;
use crate::error::{ErrorContext, MappingFault};
use crate::events::distinct_rows;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueup_core::dataset::manifest::hex;
use trueup_core::dataset::without_credentials;
use trueup_core::model::{
    ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, RECORD_COLUMN, SOURCE, TOTAL, TYPE, is_own_column,
};

/// The name of the records of stored events in joins.
pub(super) const RECORD: &str = "record";

/// The columns that stored events always may have, in joins.
const ALWAYS: [&str; 5] = [ACCOUNT, OPPORTUNITY_ID, EVENT_ID, SOURCE, RECORD];

/// The columns that belong to a single event, so that no join can take them.
const OF_EVENT: [&str; 4] = [TYPE, DATE, DATE_TIME, TOTAL];

/// Stored events as a joined input.
pub(super) struct StoredRows {
    pub(super) columns: Vec<InputColumn>,
    pub(super) held: BufferedRows,
    /// The checksum of the rows that a key can find.
    pub(super) checksum: String,
}

/// Reads the columns of stored events that a join needs: its keys, and what the mapping mentions by the name
/// of the join. Each combination of their values is one row, however many events have it.
pub(super) fn join(join: &Join, key: &str, reading: Reading<'_>) -> Result<StoredRows, IngestError> {
    let Some(StoredDataset { dir, manifest }) = reading.stored else {
        let reason = "only an ingest knows what the dataset holds";
        return Err(MappingFault::new(format!("{key}.stored"), reason).at(reading.mapping));
    };
    let files = manifest.map_or(&[][..], |manifest| manifest.events.as_slice());
    let dimensions: BTreeSet<&str> = files.iter().flat_map(|file| file.columns.iter()).map(String::as_str).collect();
    let is_joined = |name: &str| {
        let is_dimension = !is_own_column(name) && !OF_EVENT.contains(&name);
        // Without events, nobody knows which columns they will have.
        ALWAYS.contains(&name) || is_dimension && (files.is_empty() || dimensions.contains(name))
    };
    let prefix = format!("{}.", join.alias());
    let mentioned = reading.mentioned.iter().filter_map(|name| name.strip_prefix(&prefix));
    let names: BTreeSet<&str> = join.on.pairs().into_iter().map(|(_, there)| there).chain(mentioned).collect();
    if let Some(name) = names.iter().find(|name| !is_joined(name)) {
        let others = dimensions.iter().filter(|name| is_joined(name) && !ALWAYS.contains(name));
        let known: Vec<&str> = ALWAYS.into_iter().chain(others.copied()).collect();
        let reason = format!("a join takes only these columns of stored events: {}", known.join(", "));
        return Err(MappingFault::new(key, reason).with_value(*name).at(reading.mapping));
    }
    let columns: Vec<InputColumn> = names
        .iter()
        .map(|name| InputColumn {
            name: (*name).to_owned(),
            in_file: in_file(name).to_owned(),
            data_type: DataType::Utf8,
        })
        .collect();
    let mut in_files: Vec<&str> = names.iter().map(|name| in_file(name)).collect();
    // The source of the join is read, too, and then left out.
    in_files.extend(join.source.iter().filter(|_| !names.contains(SOURCE)).map(|_| SOURCE));
    let shown = without_credentials(dir);
    let charge = |bytes: usize| reading.memory.add(bytes, MemoryUse::JoinedFile(&shown));
    let mut rows = match manifest {
        Some(manifest) => distinct_rows(dir, (files, &manifest.superseded), &in_files, &charge)?,
        None => BTreeSet::new(),
    };
    if let (Some(source), Some(at)) = (&join.source, in_files.iter().position(|name| *name == SOURCE)) {
        let is_of_source = |row: &Vec<Option<String>>| row[at].as_deref().unwrap_or_default() == source;
        let cut = |mut row: Vec<Option<String>>| {
            row.truncate(names.len());
            row
        };
        rows = rows.into_iter().filter(is_of_source).map(cut).collect();
        in_files.truncate(names.len());
    }
    let keys = names.iter().enumerate().filter(|(_, name)| join.is_on(name));
    let keys: Vec<usize> = keys.map(|(at, _)| at).collect();
    let checksum = checksum_of(rows.iter().filter(|row| keys.iter().all(|at| row[*at].is_some())));
    let fields = in_files.iter().map(|name| Field::new(*name, DataType::Utf8, true));
    let column = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.get(at).and_then(Option::as_deref)).collect::<StringArray>())
    };
    let arrays: Vec<ArrayRef> = (0..in_files.len()).map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options).doing("join stored events")?;
    Ok(StoredRows { columns, held: BufferedRows::of_stored(batch, &shown), checksum })
}

/// Returns a checksum of rows of texts.
fn checksum_of<'a>(rows: impl Iterator<Item = &'a Vec<Option<String>>>) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in rows.flatten() {
        let text = text.as_deref().unwrap_or_default();
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hex(hasher.finalize().as_bytes())
}

/// Returns what may tell apart stored rows that have the same key.
pub(super) fn advice(join: &Join) -> String {
    let account = (!join.is_on(ACCOUNT)).then_some("`account` to `on` if accounts share such keys");
    let source = (join.source.is_none() && !join.is_on(SOURCE)).then_some("`source = \"...\"` if sources share them");
    let further: Vec<&str> = account.into_iter().chain(source).collect();
    if further.is_empty() { String::new() } else { format!("; add {}", further.join(", or ")) }
}

/// Returns the name that a column has in the files of events.
fn in_file(name: &str) -> &str {
    if name == RECORD { RECORD_COLUMN } else { name }
}
