//! Which stored customers an ingest touches: their whole histories are written again, together with the new rows, and
//! everything else stays where it is.
//!
//! A stored customer is touched if the new rows have its id, or an event id of it, or if its account gets another time
//! zone. The lists of files and the `key_index` of each file say which row groups may have such customers. Of these row
//! groups the ids are read, and then the other columns of the touched rows, which get a deletion vector. A file of
//! which more than half is superseded then is written again as a whole, and so is a file without an index.

use super::dictionaries::DictionaryBuilders;
use super::event_batch::{EventBatch, column, primitive_column, unsound_column};
use super::key_index::{self, KeySet, TRAILER_BYTES};
use super::new_keys::{KeysOfAccount, Wanted, WantedKeys};
use super::stored_files::{encode_stored, files_with};
use super::zone_changes::ZoneChanges;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, InputFault};
use crate::left_rows::{LeftCursor, Superseded};
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::source::{ParquetBytes, ParquetFile, ReadLimits, RowLocations};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type};
use arrow_array::{Array, ArrayAccessor, RecordBatch, StringArray, TypedDictionaryArray};
use arrow_schema::ArrowError;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, Days, DeletionVector};
use trueup_core::model::{ACCOUNT, CUSTOMER_COLUMN, DATE, EVENT_ID, OPPORTUNITY_ID};

/// The bytes of a footer's length and of the mark after it, at the end of a Parquet file.
const TAIL_BYTES: u64 = 8;

/// What an ingest does with the stored files.
#[derive(Default)]
pub(super) struct Touched {
    /// The files that the next version has, too.
    pub(super) kept: Vec<DataFile>,
    /// The rows of kept files that were passed on.
    pub(super) superseded: BTreeMap<String, DeletionVector>,
    /// The files of which the other rows are to be written again, too.
    pub(super) rewritten: Vec<DataFile>,
    /// The rows of these files that are superseded or were passed on.
    pub(super) passed: Superseded,
}

/// The stored files of a dataset, and how they are read.
pub(super) struct StoredFiles<'a> {
    pub(super) files: &'a [DataFile],
    pub(super) superseded: &'a Superseded,
    pub(super) dir: &'a Path,
    pub(super) zone_changes: &'a ZoneChanges,
    pub(super) dictionaries: &'a DictionaryBuilders,
    pub(super) reader: &'a TableReader<'a>,
}

/// Where a file may have touched customers.
enum Places {
    Nowhere,
    /// In these row groups, each with what it may have.
    RowGroups(CheckedFile, Vec<(usize, Wanted)>),
    /// The file has no index, and has accounts of which something is wanted.
    Unknown,
}

/// What a row group has of touched customers.
struct TouchedRowGroup {
    number: usize,
    /// Their rows, counted within the row group: ascending, and neither empty nor adjacent.
    rows: Vec<Range<usize>>,
    batches: Vec<EventBatch>,
    /// The days of the rows that the row group has left.
    left_days: Days,
}

impl StoredFiles<'_> {
    /// Passes the rows of touched customers on, in the order of the files, and says what becomes of the files.
    pub(super) fn pass_touched(
        &self,
        wanted: &WantedKeys,
        pass: &mut dyn FnMut(EventBatch) -> Result<(), IngestError>,
    ) -> Result<Touched, IngestError> {
        let monitor = self.reader.monitor;
        let places: Vec<Places> =
            self.files.par_iter().map(|file| self.places(file, wanted)).collect::<Result<_, _>>()?;
        let files: Vec<(&DataFile, Places)> = self.files.iter().zip(places).collect();
        monitor.begin(Phase::ReadingStoredEvents, Some(files.iter().map(|(file, places)| places.bytes(file)).sum()));
        let mut touched = Touched::default();
        // The footers of these files are in memory at the same time.
        for files in files.chunks(rayon::current_num_threads()) {
            let opened: Vec<Option<ParquetFile>> =
                files.par_iter().map(|(file, places)| self.open(file, places)).collect::<Result<_, _>>()?;
            let mut vectors = vec![DeletionVector::default(); files.len()];
            let row_groups = files.iter().zip(&opened).enumerate().flat_map(|(at, ((_, places), parquet))| {
                let row_groups = match places {
                    Places::RowGroups(_, row_groups) => row_groups.as_slice(),
                    _ => &[],
                };
                row_groups.iter().zip(parquet.iter().cycle()).map(move |(row_group, parquet)| (at, *row_group, parquet))
            });
            let row_groups: Vec<_> = row_groups.collect();
            for row_groups in row_groups.chunks(ReadLimits::chunks()) {
                monitor.check()?;
                let read = row_groups.par_iter().map(|(at, row_group, parquet)| {
                    let stored = StoredFile { stored: files[*at].0, of: self, wanted };
                    stored.read(parquet, *row_group).map(|read| (*at, read))
                });
                for (at, read) in read.collect::<Result<Vec<_>, _>>()? {
                    let file = files[at].0;
                    let entry = file.row_groups.get(read.number);
                    let rows = read.batches.iter().map(EventBatch::len).sum();
                    monitor.add(rows, entry.map_or(0, |entry| proportional_bytes(file, entry.rows)));
                    if read.rows.is_empty() {
                        continue;
                    }
                    read.batches.into_iter().try_for_each(&mut *pass)?;
                    let rows = read.rows.into_iter().map(|rows| rows.start as u64..rows.end as u64);
                    vectors[at].supersede(file, read.number, rows, read.left_days);
                }
            }
            for ((file, places), vector) in files.iter().zip(vectors) {
                touched.add(file, places, vector, self.superseded);
            }
        }
        Ok(touched)
    }

    /// Finds the row groups of a file that may have touched customers.
    fn places(&self, file: &DataFile, wanted: &WantedKeys) -> Result<Places, IngestError> {
        if !file.row_groups.iter().any(|entry| wanted.concerns(entry)) {
            return Ok(Places::Nowhere);
        }
        self.reader.monitor.check()?;
        let path = self.dir.join(&file.path);
        let checked = CheckedFile::open(self.dir, file).of_dataset(&path)?.until(self.reader.monitor.interrupt());
        let Some(index) = read_index(&checked, &path)? else {
            let is_wanted = |account: &str| wanted.of(account).is_some();
            let (with, _) = files_with(std::slice::from_ref(file), self.superseded, self.dir, &is_wanted)?;
            return Ok(if with.is_empty() { Places::Nowhere } else { Places::Unknown });
        };
        let sets = sets(&index, file, &path)?;
        let row_groups = file.row_groups.par_iter().zip(&sets).enumerate();
        let row_groups = row_groups.map(|(number, (entry, set))| (number, wanted.wanted_of(entry, set)));
        let row_groups: Vec<_> = row_groups.filter(|(_, wanted)| *wanted != Wanted::Nothing).collect();
        Ok(if row_groups.is_empty() { Places::Nowhere } else { Places::RowGroups(checked, row_groups) })
    }

    /// Reads the footer of a file that may have touched customers.
    fn open(&self, file: &DataFile, places: &Places) -> Result<Option<ParquetFile>, IngestError> {
        let Places::RowGroups(checked, _) = places else { return Ok(None) };
        let opened = ParquetFile::open(ParquetBytes::Stored(checked.clone()), self.reader.limits);
        let damaged = |fault| ErrorKind::Stored { path: self.dir.join(&file.path), source: Box::new(fault) };
        Ok(Some(opened.map_err(damaged)?))
    }
}

impl Places {
    /// Returns the share of the file's bytes that these row groups have, for the progress report.
    fn bytes(&self, file: &DataFile) -> u64 {
        let Self::RowGroups(_, row_groups) = self else { return 0 };
        let entries = row_groups.iter().filter_map(|(number, _)| file.row_groups.get(*number));
        entries.map(|entry| proportional_bytes(file, entry.rows)).sum()
    }
}

/// Returns the share of a file's bytes that some of its rows have.
fn proportional_bytes(file: &DataFile, rows: u64) -> u64 {
    let bytes = u128::from(rows) * u128::from(file.size) / u128::from(file.rows.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl Touched {
    /// Adds a file, of which the rows of `vector` were passed on.
    fn add(&mut self, file: &DataFile, places: &Places, vector: DeletionVector, before: &Superseded) {
        let before = before.get(&file.path);
        let superseded = before.map_or(0, |vector| vector.rows()).saturating_add(vector.rows());
        let left = file.rows.saturating_sub(superseded);
        if !matches!(places, Places::Unknown) && (vector.rows() == 0 || left.saturating_mul(2) >= file.rows) {
            self.kept.push(file.clone());
            if vector.rows() > 0 {
                self.superseded.insert(file.path.clone(), vector);
            }
            return;
        }
        self.rewritten.push(file.clone());
        let mut passed = before.map_or_else(DeletionVector::default, |vector| DeletionVector::clone(vector));
        passed.merge(&vector);
        if passed.rows() > 0 {
            self.passed.insert(file.path.clone(), Arc::new(passed));
        }
    }
}

/// A stored file whose touched customers are read.
struct StoredFile<'a> {
    stored: &'a DataFile,
    of: &'a StoredFiles<'a>,
    wanted: &'a WantedKeys,
}

impl StoredFile<'_> {
    /// Reads the rows of touched customers of a row group.
    fn read(&self, parquet: &ParquetFile, (number, wanted): (usize, Wanted)) -> Result<TouchedRowGroup, IngestError> {
        let StoredFiles { dir, zone_changes, dictionaries, .. } = self.of;
        let damaged =
            |fault| ErrorKind::Stored { path: dir.join(&self.stored.path), source: Box::<InputFault>::new(fault) };
        let parquet = parquet.holding(number).map_err(damaged)?;
        let ids = parquet.reader(&|name| match name {
            EVENT_ID => wanted == Wanted::EventIds,
            name => [ACCOUNT, OPPORTUNITY_ID, CUSTOMER_COLUMN, DATE].contains(&name),
        });
        let mut ids = ids.sharing_texts().only(vec![number]);
        let mut scan = RowGroupScan::new(self, number);
        while let Some(chunk) = ids.next().map_err(damaged)? {
            for decoded in chunk.decode().map_err(damaged)? {
                if let RowLocations::Rows { first, .. } = decoded.locations {
                    scan.add(&decoded.batch, first).doing("read stored events")?;
                }
            }
        }
        scan.end_customer();
        let RowGroupScan { touched: rows, left_days, .. } = scan;
        let mut batches = Vec::new();
        if !rows.is_empty() {
            let mut events = parquet.reader(&|_| true).only_rows(&BTreeMap::from([(number, rows.clone())]));
            while let Some(chunk) = events.next().map_err(damaged)? {
                for decoded in chunk.decode().map_err(damaged)? {
                    batches.push(encode_stored(decoded.batch, zone_changes, dictionaries, None)?);
                }
            }
        }
        Ok(TouchedRowGroup { number, rows, batches, left_days })
    }
}

/// Divides the index of a file into the sets of its row groups.
pub(super) fn sets<'i>(index: &'i [u8], file: &DataFile, path: &Path) -> Result<Vec<KeySet<'i>>, IngestError> {
    let sets = key_index::sets(index).filter(|sets| sets.len() == file.row_groups.len());
    let source = || "the index of its customers and event ids is damaged".into();
    sets.ok_or_else(|| ErrorKind::Stored { path: path.to_owned(), source: source() }.into())
}

/// Returns the sets of the index of a file; `None` if it has none, because an earlier trueup wrote it.
pub(super) fn read_index(file: &CheckedFile, path: &Path) -> Result<Option<bytes::Bytes>, IngestError> {
    let size = parquet::file::reader::Length::len(file);
    let read = |end: u64, length: u64| {
        let start = end.checked_sub(length);
        start.map(|start| file.bytes(&(start..end)).of_dataset(path)).transpose()
    };
    let Some(tail) = read(size, TAIL_BYTES)? else { return Ok(None) };
    let Some((footer, _)) = tail.split_first_chunk::<4>() else { return Ok(None) };
    let Some(end) = size.checked_sub(TAIL_BYTES + u64::from(u32::from_le_bytes(*footer))) else { return Ok(None) };
    let Some(trailer) = read(end, TRAILER_BYTES)? else { return Ok(None) };
    let Some(length) = key_index::sets_before(&trailer) else { return Ok(None) };
    read(end - TRAILER_BYTES, length)
}

/// The customers of a row group, while they are read.
struct RowGroupScan<'a> {
    wanted: &'a WantedKeys,
    /// The rows that the file has left.
    left: LeftCursor,
    customer: Option<Customer>,
    touched: Vec<Range<usize>>,
    /// The days of the rows that are left and not touched.
    left_days: Days,
}

/// The rows of a customer, as far as they are read.
struct Customer {
    number: i32,
    rows: Range<usize>,
    days: Days,
    is_touched: bool,
}

impl<'a> RowGroupScan<'a> {
    fn new(file: &StoredFile<'a>, row_group: usize) -> Self {
        let vector = file.of.superseded.get(&file.stored.path);
        let left = vector.and_then(|vector| vector.left_ranges(&file.stored.row_groups, row_group));
        Self { wanted: file.wanted, left: LeftCursor::new(left), customer: None, touched: Vec::new(), left_days: None }
    }

    /// Adds the next rows; `first` is the number of the first in the row group.
    fn add(&mut self, batch: &RecordBatch, first: usize) -> Result<(), ArrowError> {
        let (accounts, customers) = (Texts::of(batch, ACCOUNT)?, Texts::of(batch, OPPORTUNITY_ID)?);
        let event_ids = batch.column_by_name(EVENT_ID).map(|_| Texts::of(batch, EVENT_ID)).transpose()?;
        let numbers = primitive_column::<Int32Type>(batch, CUSTOMER_COLUMN)?;
        let dates = primitive_column::<Date32Type>(batch, DATE)?;
        // The row of the last customer, and what is wanted of its account.
        let mut account: Option<(usize, Option<&KeysOfAccount>)> = None;
        let mut start = 0;
        for run in numbers.values().chunk_by(|one, next| one == next) {
            let rows = start..start + run.len();
            start = rows.end;
            // Of the rows of a customer, a file has all left or none.
            if !self.left.has(first + rows.start) {
                continue;
            }
            let keys = match account {
                Some((row, keys)) if accounts.is_same(row, rows.start) => keys,
                _ => self.wanted.of(accounts.value(rows.start)),
            };
            account = Some((rows.start, keys));
            let number = run.first().copied().unwrap_or_default();
            if self.customer.as_ref().is_none_or(|customer| customer.number != number) {
                self.end_customer();
                let at = first + rows.start;
                let is_touched = keys.is_some_and(|keys| keys.wants_customer(customers.value(rows.start)));
                self.customer = Some(Customer { number, rows: at..at, days: None, is_touched });
            }
            let Some(customer) = &mut self.customer else { continue };
            customer.rows.end = first + rows.end;
            let days = dates.values()[rows.clone()].iter().map(|day| Some((*day, *day)));
            customer.days = days.fold(customer.days, either);
            if let (false, Some(keys), Some(event_ids)) = (customer.is_touched, keys, &event_ids) {
                let mut ids = rows.filter_map(|row| event_ids.get(row));
                customer.is_touched = ids.any(|id| keys.wants_event(id));
            }
        }
        Ok(())
    }

    fn end_customer(&mut self) {
        let Some(Customer { rows, days, is_touched, .. }) = self.customer.take() else { return };
        match self.touched.last_mut() {
            _ if !is_touched => self.left_days = either(self.left_days, days),
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => self.touched.push(rows),
        }
    }
}

/// Returns the days of the rows of both.
fn either(one: Days, other: Days) -> Days {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// A column of texts as it is decoded: plain, or an Arrow dictionary.
enum Texts<'a> {
    Plain(&'a StringArray),
    Coded(TypedDictionaryArray<'a, Int32Type, StringArray>),
}

impl<'a> Texts<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Result<Self, ArrowError> {
        let column = column(batch, name)?;
        let coded = || column.as_dictionary_opt::<Int32Type>()?.downcast_dict::<StringArray>();
        let texts = column.as_string_opt::<i32>().map(Self::Plain);
        texts.or_else(|| coded().map(Self::Coded)).ok_or_else(|| unsound_column(name))
    }

    /// Returns whether two rows are known to have the same text.
    fn is_same(&self, one: usize, other: usize) -> bool {
        match self {
            Self::Plain(texts) => texts.value(one) == texts.value(other),
            Self::Coded(texts) => texts.keys().value(one) == texts.keys().value(other),
        }
    }

    /// Returns the text of a row, which has one.
    fn value(&self, row: usize) -> &'a str {
        match self {
            Self::Plain(texts) => texts.value(row),
            Self::Coded(texts) => texts.value(row),
        }
    }

    /// Returns the text of a row; `None` if it has none.
    fn get(&self, row: usize) -> Option<&'a str> {
        let is_valid = match self {
            Self::Plain(texts) => texts.is_valid(row),
            Self::Coded(texts) => texts.is_valid(row),
        };
        is_valid.then(|| self.value(row))
    }
}
