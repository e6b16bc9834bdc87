//! Accounts: an account of a later ingest replaces the stored account with the same key.

use crate::error::{ErrorContext, FileFault};
use crate::events::{ZoneChange, ZoneChanges};
use crate::monitor::Phase;
use crate::parquet_file::ParquetFileWriter;
use crate::read::TableReader;
use crate::report::{IgnoredColumn, protocols_of};
use crate::row_check::check_rows;
use crate::source::{ColumnNames, InputReader, check_fit};
use crate::table::Table;
use crate::version::VersionFiles;
use crate::{IngestError, Input, events};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::{DataFile, Manifest, RowGroupEntry};
use trueup_core::dataset::{InputProtocol, TableProtocol, read_accounts};
use trueup_core::model::{ACCOUNT_COLUMNS, Account, Accounts, CellFault, TableFault};

/// Reads the accounts that the dataset holds.
pub(crate) fn stored(manifest: Option<&Manifest>, dir: &Path) -> Result<Accounts, IngestError> {
    let mut accounts = Accounts::default();
    for file in manifest.map_or(&[][..], |manifest| &manifest.accounts) {
        accounts.merge(read_accounts(dir, file).of_dataset(&dir.join(&file.path))?);
    }
    Ok(accounts)
}

/// Reads the accounts of the inputs on one thread, in their order, because a key that occurs twice breaks a rule.
pub(crate) fn read(inputs: &[&Input], reader: &mut TableReader<'_>) -> Result<(Accounts, TableProtocol), IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    let mut accounts = Accounts::default();
    reader.monitor.begin(Phase::ReadingAccounts, Some(inputs.iter().map(|input| input.size()).sum()));
    for (input, protocol) in inputs.iter().zip(&mut protocol.inputs) {
        read_input(input, reader, &mut accounts, protocol)?;
    }
    Ok((accounts, protocol))
}

fn read_input(
    input: &Input,
    reader: &mut TableReader<'_>,
    accounts: &mut Accounts,
    protocol: &mut InputProtocol,
) -> Result<(), IngestError> {
    let limit = reader.limits.table_bytes();
    read_whole(input, (Table::Accounts, Some(&ACCOUNT_COLUMNS)), reader, protocol, &mut |batch| {
        let read = accounts.read(batch)?;
        Ok((read.rows.len(), read.faults, check_size(accounts, limit)))
    })
}

/// What became of the rows of a batch: the number of accepted ones, the faults of the others, and whether the table is
/// still small enough.
pub(crate) type ReadRows = (usize, Vec<CellFault>, Result<(), IngestError>);

/// Reads an input of a table that is held as a whole, which has these columns, batch by batch. Without `columns`, it does
/// not matter which other ones the input has.
pub(crate) fn read_whole(
    input: &Input,
    (table, columns): (Table, Option<&[&str]>),
    reader: &mut TableReader<'_>,
    protocol: &mut InputProtocol,
    read: &mut dyn FnMut(&RecordBatch) -> Result<ReadRows, TableFault>,
) -> Result<(), IngestError> {
    let limits = reader.limits;
    let mut names = ColumnNames::default();
    let mut source = InputReader::open(reader.files, input, limits)?;
    if let Some(schema) = source.schema() {
        columns.map_or(Ok(()), |_| check_fit(schema, table)).map_err(|fault| fault.at(&input.shown))?;
        let empty = RecordBatch::new_empty(schema.clone());
        read(&empty).map_err(|fault| FileFault::from(fault).at(&input.shown))?.2?;
        reader.warn_ignored(input, &ignored(schema, table, columns));
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
            reader.warn_ignored(input, &ignored(&schema, table, columns));
        }
    }
    Ok(())
}

/// Returns the columns of an input that the table does not have.
fn ignored(schema: &Schema, table: Table, columns: Option<&[&str]>) -> Vec<IgnoredColumn> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    columns.map_or_else(Vec::new, |columns| IgnoredColumn::unknown(names, table.name(), columns))
}

/// Bytes that an account takes apart from its texts.
const ACCOUNT_BYTES: usize = 256;

/// Checks that all accounts together take at most `limit` bytes.
pub(crate) fn check_size(accounts: &Accounts, limit: usize) -> Result<(), IngestError> {
    let texts =
        |account: &Account| account.key.len() + account.name.len() + account.industry.as_ref().map_or(0, String::len);
    let bytes = accounts.iter().map(|account| texts(account) + ACCOUNT_BYTES).sum();
    IngestError::check_size("accounts", bytes, limit)
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

/// Returns the accounts that have events in the dataset and get another time zone.
pub(crate) fn zone_changes(
    stored: &Accounts,
    new: &Accounts,
    manifest: Option<&Manifest>,
    dir: &Path,
) -> Result<ZoneChanges, IngestError> {
    let change = |account: &Account| ZoneChange { from: stored.time_zone(&account.key), to: account.time_zone };
    let changed = new.iter().map(|account| (account.key.clone(), change(account)));
    let mut changes: BTreeMap<_, _> = changed.filter(|(_, change)| change.from != change.to).collect();
    match manifest.filter(|_| !changes.is_empty()) {
        Some(manifest) => {
            let with_events = events::accounts_with_events(&manifest.events, &manifest.superseded, dir)?;
            changes.retain(|account, _| with_events.contains(account));
            Ok(ZoneChanges::new(changes))
        }
        None => Ok(ZoneChanges::default()),
    }
}

/// Writes all accounts of the dataset as one file.
pub(crate) fn write(accounts: &Accounts, version: &mut VersionFiles) -> Result<Vec<DataFile>, IngestError> {
    write_whole(accounts.to_batch().doing("put accounts together")?, Table::Accounts, version)
}

/// Writes the rows of a table that is read as a whole as its only file.
pub(crate) fn write_whole(
    rows: RecordBatch,
    table: Table,
    version: &mut VersionFiles,
) -> Result<Vec<DataFile>, IngestError> {
    let properties = WriterProperties::builder()
        .set_created_by(crate::CREATED_BY.to_owned())
        .set_compression(Compression::LZ4_RAW)
        .build();
    let mut file = ParquetFileWriter::begin(version.create(table, 0)?, rows.schema_ref(), properties)?;
    file.write(&[rows])?;
    // Its entry needs neither columns nor row groups.
    Ok(vec![DataFile { columns: Arc::default(), row_groups: Arc::default(), ..file.finish()? }])
}
