//! Targets: a later target replaces the one with the same account, month, metric and values.

use crate::accounts::{read_whole, write_whole};
use crate::error::ErrorContext;
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::report::protocols_of;
use crate::table::Table;
use crate::version::VersionFiles;
use crate::{IngestError, Input};
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{ControlTotals, TableProtocol, read_targets};
use trueup_core::definitions::Definitions;
use trueup_core::dictionary;
use trueup_core::model::{TARGET_COLUMNS, TargetKey, Targets};

/// Bytes that a target takes apart from its texts.
const TARGET_BYTES: usize = 192;

/// Adds the targets of some inputs to the stored targets. Returns all targets files of the next version: one file with
/// all targets, or the stored files if the inputs have no sound row or if faulty rows make the ingest fail.
pub(crate) fn ingest(
    inputs: &[&Input],
    stored: &[DataFile],
    dir: &Path,
    definitions: &Definitions,
    version: &mut VersionFiles,
    reader: &mut TableReader<'_>,
) -> Result<(Vec<DataFile>, TableProtocol), IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    let mut targets = Targets::default();
    // There is at most one file.
    if let Some(file) = stored.first() {
        targets = read_targets(dir, file).of_dataset(&dir.join(&file.path))?;
    }
    reader.monitor.begin(Phase::ReadingTargets, Some(inputs.iter().map(|input| input.size()).sum()));
    let is_metric = |name: &str| dictionary::metric(name).is_some() || definitions.metric(name).is_some();
    let limit = reader.limits.table_bytes();
    let mut replaced = 0;
    for (input, protocol) in inputs.iter().zip(&mut protocol.inputs) {
        read_whole(input, (Table::Targets, Some(&TARGET_COLUMNS)), reader, protocol, &mut |batch| {
            let read = targets.read(batch, is_metric)?;
            replaced += read.replaced;
            Ok((read.rows.len(), read.faults, check_size(&targets, limit)))
        })?;
    }
    protocol.replaced_others = ControlTotals::of_rows(replaced);
    if protocol.taken().rows == 0 || reader.is_refusing() {
        return Ok((stored.to_vec(), protocol));
    }
    let batch = targets.to_batch().doing("put targets together")?;
    Ok((write_whole(batch, Table::Targets, version)?, protocol))
}

/// Checks that all targets together take at most `limit` bytes.
fn check_size(targets: &Targets, limit: usize) -> Result<(), IngestError> {
    let texts = |key: &TargetKey| {
        key.account.len() + key.metric.len() + key.dimensions.iter().map(String::len).sum::<usize>() + TARGET_BYTES
    };
    let bytes = targets.iter().map(|(key, _)| texts(key)).sum();
    IngestError::check_size("targets", bytes, limit)
}
