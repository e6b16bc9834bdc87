//! The event files that the dataset already has: which accounts they hold, and their rows as event batches.

use super::dictionaries::DictionaryBuilders;
use super::encode::{encode, plain_texts};
use super::event_batch::{EventBatch, column};
use super::zone_changes::ZoneChanges;
use crate::IngestError;
use crate::buffered_chunks::BufferedChunks;
use crate::error::{ErrorContext, ErrorKind};
use crate::live_rows::{Superseded, only_left};
use crate::monitor::Monitor;
use crate::parts::PartOfAccounts;
use crate::read::TableReader;
use crate::source::{ParquetBytes, ParquetFile, ReadLimits, RowLocations};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use hashbrown::HashSet;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::Length;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trueup_core::dataset::CheckedFile;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, CUSTOMER_COLUMN, DATE, DATE_SOURCE_COLUMN, DATE_TIME};
use trueup_parquet::{catch_panics, check_chunk_ranges};

/// Returns the accounts that have events in some files of a dataset.
pub(crate) fn accounts_with_events(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
) -> Result<BTreeSet<String>, IngestError> {
    let sets: Vec<BTreeSet<String>> =
        files.par_iter().map(|file| accounts(dir, file, superseded)).collect::<Result<_, _>>()?;
    Ok(sets.into_iter().flatten().collect())
}

/// Divides files into the files that hold an event of a wanted account, and the others.
pub(crate) fn files_with(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
    is_wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Result<(Vec<DataFile>, Vec<DataFile>), IngestError> {
    let has_wanted: Vec<bool> = files
        .par_iter()
        .map(|file| Ok(accounts(dir, file, superseded)?.iter().any(|account| is_wanted(account))))
        .collect::<Result<_, IngestError>>()?;
    let (with, without): (Vec<_>, Vec<_>) =
        files.iter().cloned().zip(has_wanted).partition(|(_, has_wanted)| *has_wanted);
    let files = |part: Vec<(DataFile, bool)>| part.into_iter().map(|(file, _)| file).collect();
    Ok((files(with), files(without)))
}

/// Returns the accounts of the rows that are left in an event file. Reads the column of accounts only in row groups
/// that have superseded rows, or whose statistics do not prove that they have a single account.
fn accounts(dir: &Path, stored: &DataFile, superseded: &Superseded) -> Result<BTreeSet<String>, IngestError> {
    let vector = superseded.get(&stored.path);
    let has_superseded = |group| vector.is_some_and(|vector| vector.left_ranges(&stored.row_groups, group).is_some());
    let columns = StoredColumns::open(dir, stored)?;
    let column = columns.positions(&[ACCOUNT]).next();
    let mut accounts = BTreeSet::new();
    let mut mixed = Vec::new();
    for (at, group) in columns.metadata.metadata().row_groups().iter().enumerate() {
        match column.and_then(|column| only_value(group, column)) {
            Some(account) if !has_superseded(at) => drop(accounts.insert(account)),
            _ => mixed.push(at),
        }
    }
    columns.read(&[ACCOUNT], &mixed, superseded, &mut |left| {
        let mut last = None;
        for account in left.columns().iter().filter_map(|column| column.as_string_opt::<i32>()).flatten().flatten() {
            if last != Some(account) {
                accounts.insert(account.to_owned());
                last = Some(account);
            }
        }
    })?;
    Ok(accounts)
}

/// Bytes of memory that a row of [`distinct_rows`] takes besides its texts, and about those of a text.
const DISTINCT_BYTES: usize = 64;

/// Returns the distinct rows that the events of some files have in some columns, which are texts. An empty text is no
/// value, and a file that does not have a column has no values in it. `charge` is called with the bytes of memory that
/// further rows take.
pub(crate) fn distinct_rows(
    dir: &Path,
    (files, superseded): (&[DataFile], &Superseded),
    columns: &[&str],
    charge: &dyn Fn(usize) -> Result<(), IngestError>,
) -> Result<BTreeSet<Vec<Option<String>>>, IngestError> {
    let of_file = |file: &DataFile| {
        let stored = StoredColumns::open(dir, file)?;
        let row_groups: Vec<usize> = (0..stored.metadata.metadata().num_row_groups()).collect();
        let (mut rows, mut read): (HashSet<Vec<Option<String>>>, _) = (HashSet::new(), Ok(()));
        stored.read(columns, &row_groups, superseded, &mut |batch| {
            let texts = columns.iter().map(|name| batch.column_by_name(name).map(|column| plain_texts(name, column)));
            match texts.map(Option::transpose).collect::<Result<Vec<_>, ArrowError>>() {
                Ok(texts) => {
                    for row in 0..batch.num_rows() {
                        let text = |texts: &Option<StringArray>| {
                            let text = texts.as_ref().filter(|texts| texts.is_valid(row))?.value(row);
                            (!text.is_empty()).then(|| text.to_owned())
                        };
                        rows.insert(texts.iter().map(text).collect());
                    }
                }
                Err(error) => read = Err(error),
            }
        })?;
        read.doing("join stored events")?;
        Ok(rows)
    };
    let mut all = BTreeSet::new();
    for files in files.chunks(rayon::current_num_threads()) {
        let found: Vec<HashSet<Vec<Option<String>>>> =
            files.par_iter().map(of_file).collect::<Result<_, IngestError>>()?;
        for row in found.into_iter().flatten() {
            let texts: usize = row.iter().flatten().map(|text| text.len() + DISTINCT_BYTES).sum();
            if all.insert(row) {
                charge(texts + DISTINCT_BYTES)?;
            }
        }
    }
    Ok(all)
}

/// Returns the accounts of which events in some files get another day.
pub(super) fn moved_accounts(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
    changes: &ZoneChanges,
    monitor: &Monitor,
) -> Result<BTreeSet<String>, IngestError> {
    let of_file = |file: &DataFile| {
        let concerned = file.row_groups.iter().enumerate().filter(|(_, row_group)| changes.concern(row_group));
        let concerned: Vec<usize> = concerned.map(|(at, _)| at).collect();
        let (mut moved, mut read) = (BTreeSet::new(), Ok(()));
        if concerned.is_empty() {
            return Ok(moved);
        }
        let columns = StoredColumns::open(dir, file)?;
        // One row group after another, because a file of many takes much memory.
        for row_group in concerned {
            monitor.check()?;
            let names = [ACCOUNT, DATE, DATE_TIME, DATE_SOURCE_COLUMN];
            columns.read(&names, &[row_group], superseded, &mut |batch| {
                let mut insert = |account: &str| {
                    if !moved.contains(account) {
                        moved.insert(account.to_owned());
                    }
                };
                if read.is_ok() {
                    read = changes.days(&batch, &mut insert).map(drop);
                }
            })?;
        }
        read.map(|()| moved)
    };
    let sets: Vec<BTreeSet<String>> = files.par_iter().map(of_file).collect::<Result<_, IngestError>>()?;
    Ok(sets.into_iter().flatten().collect())
}

/// A stored file of which some columns are read.
struct StoredColumns<'a> {
    stored: &'a DataFile,
    path: PathBuf,
    file: CheckedFile,
    metadata: ArrowReaderMetadata,
}

impl<'a> StoredColumns<'a> {
    /// Opens a file, and reads its footer.
    fn open(dir: &Path, stored: &'a DataFile) -> Result<Self, IngestError> {
        let path = dir.join(&stored.path);
        let file = CheckedFile::open(dir, stored).of_dataset(&path)?;
        let open = || {
            let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default())?;
            check_chunk_ranges(metadata.metadata(), file.len())?;
            Ok(metadata)
        };
        let metadata = catch_panics(open).of_dataset(&path)?;
        Ok(Self { stored, path, file, metadata })
    }

    /// Returns the positions of columns, of the ones that the file has.
    fn positions<'n>(&'n self, names: &'n [&str]) -> impl Iterator<Item = usize> + Clone + 'n {
        let columns = self.metadata.parquet_schema().columns().iter().enumerate();
        columns.filter(|(_, column)| names.contains(&column.name())).map(|(at, _)| at)
    }

    /// Reads columns of some row groups, of the ones that the file has, and passes the rows on that are left.
    fn read(
        &self,
        names: &[&str],
        row_groups: &[usize],
        superseded: &Superseded,
        take: &mut dyn FnMut(RecordBatch),
    ) -> Result<(), IngestError> {
        if row_groups.is_empty() {
            return Ok(());
        }
        let metadata = &self.metadata;
        let mask = ProjectionMask::leaves(metadata.parquet_schema(), self.positions(names));
        let chunk = |group: usize, column| metadata.metadata().row_group(group).column(column).byte_range();
        let positions = self.positions(names);
        let ranges = row_groups.iter().flat_map(|group| positions.clone().map(move |column| chunk(*group, column)));
        let chunks = BufferedChunks::read(self.file.clone(), ranges).of_dataset(&self.path)?;
        let read = || {
            for group in row_groups {
                let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone());
                let mut first = 0;
                for batch in builder.with_projection(mask.clone()).with_row_groups(vec![*group]).build()? {
                    let batch = batch?;
                    let from = (self.stored, *group, first);
                    first += batch.num_rows();
                    take(only_left(batch, from, superseded)?);
                }
            }
            Ok(())
        };
        catch_panics(read).of_dataset(&self.path)
    }
}

/// Returns the value that all rows of a row group have in a column, if the statistics prove that there is one.
fn only_value(group: &RowGroupMetaData, column: usize) -> Option<String> {
    let statistics = group.column(column).statistics()?;
    let exact = statistics.min_is_exact() && statistics.max_is_exact();
    let (min, max) = (statistics.min_bytes_opt()?, statistics.max_bytes_opt()?);
    if exact && min == max { String::from_utf8(min.to_vec()).ok() } else { None }
}

/// Reads the rows that are left in an event file, in their order, as event batches; with a part, only the rows of the
/// part's accounts.
pub(super) fn read(
    dir: &Path,
    (stored, superseded): (&DataFile, &Superseded),
    reader: &TableReader<'_>,
    zone_changes: &ZoneChanges,
    dictionaries: &DictionaryBuilders,
    part: Option<&PartOfAccounts<'_>>,
    take: &mut dyn FnMut(EventBatch) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let path = dir.join(&stored.path);
    let file = CheckedFile::open(dir, stored).of_dataset(&path)?;
    let damaged = |fault| ErrorKind::Stored { path: path.clone(), source: Box::new(fault) };
    let parquet = ParquetFile::open(ParquetBytes::Stored(file), reader.limits).map_err(damaged)?;
    let mut parquet = parquet.reader(&|_| true);
    loop {
        let chunks = parquet.next_chunks(ReadLimits::chunks()).map_err(damaged)?;
        if chunks.is_empty() {
            return Ok(());
        }
        reader.monitor.check()?;
        let encoded: Vec<_> = chunks
            .into_par_iter()
            .map(|chunk| {
                reader.monitor.add(0, chunk.bytes());
                let decoded = chunk.decode().map_err(damaged)?.into_iter();
                let encoded = decoded.map(|decoded| {
                    let read = match decoded.locations {
                        RowLocations::Rows { row_group, first, .. } => {
                            only_left(decoded.batch, (stored, row_group, first), superseded)
                                .doing("read stored events")?
                        }
                        _ => decoded.batch,
                    };
                    reader.monitor.add(read.num_rows(), 0);
                    encode_stored(read, zone_changes, dictionaries, part)
                });
                encoded.collect::<Result<Vec<_>, IngestError>>()
            })
            .collect();
        for batches in encoded {
            batches?.into_iter().try_for_each(&mut *take)?;
        }
    }
}

/// Encodes rows of an event file, without the column that numbers the customers.
pub(super) fn encode_stored(
    batch: RecordBatch,
    zone_changes: &ZoneChanges,
    dictionaries: &DictionaryBuilders,
    part: Option<&PartOfAccounts<'_>>,
) -> Result<EventBatch, IngestError> {
    let batch = match part {
        Some(part) => only_of_part(batch, part).doing("read stored events")?,
        None => batch,
    };
    let batch = zone_changes.apply(batch)?;
    let kept = batch.schema_ref().fields().iter().enumerate().filter(|(_, field)| field.name() != CUSTOMER_COLUMN);
    let kept: Vec<usize> = kept.map(|(at, _)| at).collect();
    batch.project(&kept).and_then(|batch| encode(&batch, dictionaries)).doing("read stored events")
}

/// Returns the rows whose accounts are in a part.
fn only_of_part(batch: RecordBatch, part: &PartOfAccounts<'_>) -> Result<RecordBatch, ArrowError> {
    let accounts = plain_texts(ACCOUNT, column(&batch, ACCOUNT)?)?;
    let mut last: Option<(&str, bool)> = None;
    let mut is_kept = |account| match last {
        Some((same, has)) if same == account => has,
        _ => last.insert((account, part.has(account))).1,
    };
    let kept: Vec<bool> = (0..accounts.len()).map(|row| is_kept(accounts.value(row))).collect();
    if kept.iter().all(|kept| *kept) { Ok(batch) } else { filter_record_batch(&batch, &kept.into()) }
}
