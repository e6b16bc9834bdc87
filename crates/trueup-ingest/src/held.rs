//! Tables that are held in memory as a whole: the rows of later inputs replace stored rows with the same keys.

use crate::error::{ErrorContext, FileFault};
use crate::monitor::Phase;
use crate::parquet_file::ParquetFileWriter;
use crate::read::TableReader;
use crate::report::{IgnoredColumn, protocols_of};
use crate::row_check::check_rows;
use crate::source::{ColumnNames, InputReader, check_fit};
use crate::table::Table;
use crate::version::VersionFiles;
use crate::{IngestError, Input};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::{ACCOUNTS, DataFile, Manifest, RowGroupEntry};
use trueup_core::dataset::{ControlTotals, InputProtocol, TableProtocol, read_held};
use trueup_core::model::{Accounts, CellFault, HeldTable, TableFault};

/// Reads the accounts that the dataset holds.
pub(crate) fn stored_accounts(manifest: Option<&Manifest>, dir: &Path) -> Result<Accounts, IngestError> {
    stored(manifest.and_then(|manifest| manifest.named(ACCOUNTS)), dir)
}

/// Reads the rows of a table that the dataset holds.
pub(crate) fn stored<T: HeldTable>(file: Option<&DataFile>, dir: &Path) -> Result<T, IngestError> {
    let read = file.map(|file| read_held(dir, file).of_dataset(&dir.join(&file.path)));
    Ok(read.transpose()?.unwrap_or_default())
}

/// Adds the rows of some inputs to the stored `rows`. Returns a new file of all rows, or `None` if the inputs have no
/// sound row or if faulty rows make the ingest fail. Reads on one thread, in the order of the inputs, because rows
/// replace one another.
pub(crate) fn ingest<T: HeldTable>(
    table: Table,
    inputs: &[&Input],
    rows: &mut T,
    is_metric: &dyn Fn(&str) -> bool,
    version: &mut VersionFiles,
    reader: &mut TableReader<'_>,
) -> Result<(Option<DataFile>, TableProtocol), IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    reader.monitor.begin(Phase::Reading(table.name()), Some(inputs.iter().map(|input| input.size()).sum()));
    let limit = reader.limits.table_bytes();
    // Apart from the stored rows, because some tables refuse a key that occurs twice in the inputs.
    let mut new = T::default();
    let mut replaced = 0;
    for (input, protocol) in inputs.iter().zip(&mut protocol.inputs) {
        read_whole(input, table, reader, protocol, &mut |batch| {
            let read = new.read(batch, is_metric)?;
            replaced += read.replaced;
            Ok((read.rows, read.faults, check_size(table, &new, limit)))
        })?;
    }
    protocol.replaced_others = ControlTotals::of_rows(replaced + rows.merge(new));
    check_size(table, &*rows, limit)?;
    if protocol.taken().rows == 0 || reader.is_refusing() {
        return Ok((None, protocol));
    }
    let properties = WriterProperties::builder()
        .set_created_by(crate::CREATED_BY.to_owned())
        .set_compression(Compression::LZ4_RAW)
        .build();
    let batch = rows.to_batch().doing("put a table together")?;
    let mut file = ParquetFileWriter::begin(version.create(table, 0)?, batch.schema_ref(), properties)?;
    file.write(&[batch])?;
    // Its entry needs neither columns nor row groups.
    let file = DataFile { columns: Arc::default(), row_groups: Arc::default(), ..file.finish()? };
    Ok((Some(file), protocol))
}

/// Checks that all rows together take at most `limit` bytes.
fn check_size(table: Table, rows: &impl HeldTable, limit: usize) -> Result<(), IngestError> {
    IngestError::check_size(table.name(), rows.bytes(), limit)
}

/// Returns what there is of the accounts that a row group may have.
pub(crate) fn in_row_group<'a, T>(
    by_account: &'a BTreeMap<String, T>,
    row_group: &RowGroupEntry,
) -> impl Iterator<Item = (&'a String, &'a T)> {
    by_account.range::<str, _>(match &row_group.accounts {
        // A range whose ends are in the wrong order would panic; it has no account.
        Some((first, last)) if first > last => (Bound::Excluded(&**last), Bound::Included(&**last)),
        Some((first, last)) => (Bound::Included(&**first), Bound::Included(&**last)),
        None => (Bound::Unbounded, Bound::Unbounded),
    })
}

/// What became of the rows of a batch: the number of accepted ones, the faults of the others, and whether there is
/// still enough memory for all accepted ones.
pub(crate) type ReadRows = (usize, Vec<CellFault>, Result<(), IngestError>);

/// Reads an input of a table batch by batch, on one thread.
pub(crate) fn read_whole(
    input: &Input,
    table: Table,
    reader: &mut TableReader<'_>,
    protocol: &mut InputProtocol,
    read: &mut dyn FnMut(&RecordBatch) -> Result<ReadRows, TableFault>,
) -> Result<(), IngestError> {
    let limits = reader.limits;
    let mut names = ColumnNames::default();
    let mut source = InputReader::open(reader.files, input, limits)?;
    if let Some(schema) = source.schema() {
        if table.columns().is_some() {
            check_fit(schema, table).map_err(|fault| fault.at(&input.shown))?;
        }
        let empty = RecordBatch::new_empty(schema.clone());
        read(&empty).map_err(|fault| FileFault::from(fault).at(&input.shown))?.2?;
        reader.warn_ignored(input, &IgnoredColumn::unknown(names_of(schema), table));
    }
    while let Some(chunk) = source.next()? {
        reader.monitor.check()?;
        reader.monitor.add(0, chunk.bytes());
        for decoded in chunk.decode(table, limits).map_err(|fault| fault.at(&input.shown))? {
            let mut decoded = decoded.map_err(|fault| fault.at(&input.shown))?;
            reader.monitor.add(decoded.batch.num_rows() + decoded.malformed.len(), 0);
            let (schema, fatal) = (decoded.batch.schema(), decoded.fatal.take());
            let checked = check_rows(decoded, table, limits.max_text_bytes, |batch| {
                let (taken, faults, size) = read(batch).map_err(|fault| FileFault::from(fault).at(&input.shown))?;
                size?;
                Ok((taken, faults))
            });
            let (taken, faults) = checked?;
            protocol.taken.rows += u64::try_from(taken).unwrap_or(0);
            reader.reject_rows(input, table, faults, protocol)?;
            if let Some(fault) = fatal {
                return Err(fault.at(&input.shown));
            }
            names.add(&schema, limits).map_err(|fault| fault.at(&input.shown))?;
            reader.warn_ignored(input, &IgnoredColumn::unknown(names_of(&schema), table));
        }
    }
    // What has read the file counts them at its end.
    drop(source);
    protocol.skipped = input.skipped();
    Ok(())
}

fn names_of(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}
