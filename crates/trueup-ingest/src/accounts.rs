//! Accounts: by key, the later replaces the earlier.

use crate::error::{ErrorContext, ErrorKind, InputFault};
use crate::events;
use crate::faults::RowFaults;
use crate::ignored::IgnoredColumn;
use crate::parquet_file::ParquetFileWriter;
use crate::read::TableReader;
use crate::source::{ColumnNames, InputReader};
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{IngestError, Input, RowCounts, long_texts};
use arrow_schema::Schema;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::read_accounts;
use trueup_core::model::{ACCOUNT_COLUMNS, Account, Accounts, TableFault};

/// The accounts that a dataset holds.
pub(crate) fn held(manifest: Option<&Manifest>, dir: &Path) -> Result<Accounts, IngestError> {
    let mut accounts = Accounts::default();
    for file in manifest.map_or(&[][..], |manifest| &manifest.accounts) {
        accounts.merge(read_accounts(dir, file).of_dataset(&dir.join(&file.path))?);
    }
    Ok(accounts)
}

/// Reads the accounts of the inputs; one that occurs twice breaks a rule.
pub(crate) fn read(inputs: &[&Input], reader: &mut TableReader<'_>) -> Result<(Accounts, RowCounts), IngestError> {
    let mut counts = RowCounts::default();
    let mut accounts = Accounts::default();
    reader.progress.stage("reading accounts", Some(inputs.iter().map(|input| input.size()).sum()));
    let limits = reader.limits;
    for input in inputs {
        let mut names = ColumnNames::default();
        let mut source = InputReader::open(reader.files, input, limits)?;
        if let Some(schema) = source.schema() {
            let empty = arrow_array::RecordBatch::new_empty(schema.clone());
            accounts.read(&empty).map_err(|fault| wrong(fault, input))?;
            reader.warn_ignored(input, &ignored(schema));
        }
        while let Some(part) = source.next()? {
            reader.progress.advance(part.bytes());
            for piece in part.decode(Table::Accounts, limits).map_err(|fault| fault.of(&input.shown))? {
                let mut piece = piece.map_err(|fault| fault.of(&input.shown))?;
                let broken = piece.broken.take();
                let long = long_texts::find(&piece.batch, limits.max_text_bytes);
                let (sound, rows) = long_texts::leave_out(&piece.batch, &long).doing("leave rows out")?;
                let mut read = accounts.read(&sound).map_err(|fault| wrong(fault, input))?;
                read.faults.iter_mut().for_each(|fault| fault.row = rows[fault.row]);
                let schema = sound.schema();
                check_size(&accounts, limits.table_bytes())?;
                counts.taken += u64::try_from(read.rows.len()).unwrap_or(0);
                let faults = RowFaults::new(piece, long, read.faults, limits.max_text_bytes);
                reader.judge(input, faults, &mut counts)?;
                if let Some(fault) = broken {
                    return Err(fault.of(&input.shown));
                }
                names.note(&schema, limits).map_err(|fault| fault.of(&input.shown))?;
                reader.warn_ignored(input, &ignored(&schema));
            }
        }
    }
    Ok((accounts, counts))
}

/// Bytes that an account takes apart from its texts.
const ACCOUNT: usize = 256;

/// Refuses more accounts than may be held.
pub(crate) fn check_size(accounts: &Accounts, limit: usize) -> Result<(), IngestError> {
    let texts =
        |account: &Account| account.key.len() + account.name.len() + account.industry.as_ref().map_or(0, String::len);
    let bytes = accounts.iter().map(|account| texts(account) + ACCOUNT).sum();
    if bytes > limit { Err(ErrorKind::LargeTable { what: "accounts", bytes, limit }.into()) } else { Ok(()) }
}

/// The columns that accounts do not have.
fn ignored(schema: &Schema) -> Vec<IgnoredColumn> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let unknown = names.filter(|name| !ACCOUNT_COLUMNS.contains(name));
    unknown.map(|name| IgnoredColumn::unknown(name, Table::Accounts.name(), &ACCOUNT_COLUMNS)).collect()
}

fn wrong(fault: TableFault, input: &Input) -> IngestError {
    InputFault::Schema(fault.to_string()).of(&input.shown)
}

/// Refuses a new time zone for an account whose events have their dates already.
pub(crate) fn check_zones(
    held: &Accounts,
    new: &Accounts,
    manifest: Option<&Manifest>,
    dir: &Path,
) -> Result<(), IngestError> {
    let changed: Vec<_> = new.iter().filter(|account| held.time_zone(&account.key) != account.time_zone).collect();
    let Some(manifest) = manifest.filter(|_| !changed.is_empty()) else { return Ok(()) };
    let with_events = events::accounts_with_events(&manifest.events, dir)?;
    match changed.into_iter().find(|account| with_events.contains(&account.key)) {
        Some(account) => Err(ErrorKind::ZoneChanged {
            account: account.key.clone(),
            held: held.time_zone(&account.key).to_string(),
            wanted: account.time_zone.to_string(),
        }
        .into()),
        None => Ok(()),
    }
}

/// Writes all accounts of the dataset.
pub(crate) fn write(accounts: &Accounts, version: &mut VersionBuilder) -> Result<Vec<DataFile>, IngestError> {
    let batch = accounts.to_batch().doing("put accounts together")?;
    let properties = WriterProperties::builder()
        .set_created_by(crate::CREATED_BY.to_owned())
        .set_compression(Compression::LZ4_RAW)
        .build();
    let mut file = ParquetFileWriter::begin(version.create(Table::Accounts, 0)?, batch.schema_ref(), properties)?;
    file.write(&[batch])?;
    Ok(vec![file.finish()?])
}
