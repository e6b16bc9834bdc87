//! Event files that the dataset holds already.

use crate::IngestError;
use crate::error::{AtPath, Doing, Kind, OfDataset};
use crate::read::Reading;
use crate::source::Parquet;
use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use hashbrown::HashSet;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::{CUSTOMER_COLUMN, DataFile};
use trueup_core::model::{ACCOUNT, stored_event_schema};

/// The accounts that have events in some files of a dataset.
pub(crate) fn accounts_with_events(files: &[DataFile], dir: &Path) -> Result<BTreeSet<String>, IngestError> {
    let sets: Vec<BTreeSet<String>> =
        files.par_iter().map(|file| accounts(&dir.join(&file.path))).collect::<Result<_, _>>()?;
    Ok(sets.into_iter().flatten().collect())
}

/// The files that hold one of the accounts, and the others.
pub(crate) fn files_with(
    files: &[DataFile],
    dir: &Path,
    wanted: &HashSet<String>,
) -> Result<(Vec<DataFile>, Vec<DataFile>), IngestError> {
    let held: Vec<bool> = files
        .par_iter()
        .map(|file| Ok(accounts(&dir.join(&file.path))?.iter().any(|account| wanted.contains(account))))
        .collect::<Result<_, IngestError>>()?;
    let (with, without): (Vec<_>, Vec<_>) = files.iter().cloned().zip(held).partition(|(_, held)| *held);
    let files = |part: Vec<(DataFile, bool)>| part.into_iter().map(|(file, _)| file).collect();
    Ok((files(with), files(without)))
}

/// The accounts of an event file: from the statistics of row groups of a single account, else from the column.
fn accounts(path: &Path) -> Result<BTreeSet<String>, IngestError> {
    let file = File::open(path).at("open", path)?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).of_dataset(path)?;
    let column = builder.parquet_schema().columns().iter().position(|column| column.name() == ACCOUNT);
    let mut accounts = BTreeSet::new();
    let mut mixed = Vec::new();
    for (at, group) in builder.metadata().row_groups().iter().enumerate() {
        match column.and_then(|column| only_value(group, column)) {
            Some(account) => drop(accounts.insert(account)),
            None => mixed.push(at),
        }
    }
    if mixed.is_empty() {
        return Ok(accounts);
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), [ACCOUNT]);
    let reader = builder.with_projection(mask).with_row_groups(mixed).build().of_dataset(path)?;
    for batch in reader {
        let batch = batch.of_dataset(path)?;
        let mut last = None;
        for account in batch.columns().iter().filter_map(|column| column.as_string_opt::<i32>()).flatten().flatten() {
            if last != Some(account) {
                accounts.insert(account.to_owned());
                last = Some(account);
            }
        }
    }
    Ok(accounts)
}

/// The value of a column that has the same one all over a row group, if the statistics say so for sure.
fn only_value(group: &RowGroupMetaData, column: usize) -> Option<String> {
    let statistics = group.column(column).statistics()?;
    let exact = statistics.min_is_exact() && statistics.max_is_exact();
    let (min, max) = (statistics.min_bytes_opt()?, statistics.max_bytes_opt()?);
    if exact && min == max { String::from_utf8(min.to_vec()).ok() } else { None }
}

/// Reads an event file's rows back into their stored form.
pub(super) fn read(
    path: &Path,
    reading: &Reading<'_>,
    take: &mut dyn FnMut(RecordBatch) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let file = File::open(path).at("open", path)?;
    let stored = |fault| Kind::Stored { path: path.to_owned(), source: Box::new(fault) };
    let mut parquet = Parquet::open(file, path, reading.chunking).map_err(stored)?;
    loop {
        let mut parts = Vec::new();
        while parts.len() < rayon::current_num_threads() * 2
            && let Some(part) = parquet.next().map_err(stored)?
        {
            parts.push(part);
        }
        if parts.is_empty() {
            return Ok(());
        }
        let decoded: Vec<_> = parts
            .into_par_iter()
            .map(|part| {
                reading.progress.advance(part.bytes());
                part.decode(Table::Events)
            })
            .collect();
        for pieces in decoded {
            for piece in pieces.map_err(stored)? {
                take(restore(&piece.batch)?)?;
            }
        }
    }
}

/// The stored form of a file's rows: without the numbers of customers, and with totals of full width.
fn restore(batch: &RecordBatch) -> Result<RecordBatch, IngestError> {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    let schema = stored_event_schema(names.filter(|name| !is_leading(name)));
    let columns = schema.fields().iter().map(|field| {
        let column = batch.column_by_name(field.name()).ok_or_else(|| missing(field.name()))?;
        match field.data_type() {
            DataType::Decimal128(precision, scale) if column.data_type() != field.data_type() => {
                let column = column.as_primitive_opt::<Decimal128Type>().ok_or_else(|| missing(field.name()))?;
                Ok(Arc::new(column.clone().with_precision_and_scale(*precision, *scale)?) as ArrayRef)
            }
            _ => Ok(column.clone()),
        }
    });
    let columns: Result<Vec<ArrayRef>, arrow_schema::ArrowError> = columns.collect();
    columns.and_then(|columns| RecordBatch::try_new(schema, columns)).doing("read stored events")
}

fn missing(column: &str) -> arrow_schema::ArrowError {
    arrow_schema::ArrowError::SchemaError(format!("a stored event file has no sound column `{column}`"))
}

/// Whether a column of an event file is none of the dimensions that follow the leading columns.
fn is_leading(name: &str) -> bool {
    name == CUSTOMER_COLUMN || stored_event_schema([]).column_with_name(name).is_some()
}
