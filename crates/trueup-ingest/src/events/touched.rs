//! Which stored customers an ingest touches: their whole histories are written again, together with the new rows, and
//! everything else stays where it is.
//!
//! A stored customer is touched if the new rows have its id, or an event id of it, or if its account gets another time
//! zone. The lists of files and the `key_index` of each file say which row groups may have such customers; of these row
//! groups the ids are read. The rows of touched customers get a deletion vector. A file of which more than half would
//! be superseded is written again as a whole, and so is a file without an index.

use super::event_batch::primitive_column;
use super::key_index::{self, KeySet, TRAILER_BYTES};
use super::new_keys::{KeysOfAccount, Wanted, WantedKeys};
use super::stored_files::files_with;
use super::zone_changes::texts;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use crate::left_rows::Superseded;
use crate::read::TableReader;
use crate::source::{ParquetBytes, ParquetReader, RowLocations};
use arrow_array::types::{Date32Type, Int32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::ArrowError;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, Days, DeletionVector};
use trueup_core::model::{ACCOUNT, CUSTOMER_COLUMN, DATE, EVENT_ID, OPPORTUNITY_ID};

/// The bytes of a footer's length and of the mark after it, at the end of a Parquet file.
const TAIL_BYTES: u64 = 8;

/// What an ingest does with the stored files.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The files that the next version has, too.
    pub(super) kept: Vec<DataFile>,
    /// The files whose rows are all written again.
    pub(super) rewritten: Vec<DataFile>,
    /// The rows of kept files that are written again.
    pub(super) rows: Vec<TouchedRows>,
}

/// The rows of a file that belong to touched customers.
#[derive(Debug)]
pub(super) struct TouchedRows {
    pub(super) file: DataFile,
    /// By row group, the rows counted within it: ascending, and neither empty nor adjacent.
    pub(super) row_groups: BTreeMap<usize, Vec<Range<usize>>>,
    /// The same rows, as the next version leaves them out.
    pub(super) vector: DeletionVector,
}

impl TouchedRows {
    /// Returns the share of the file's bytes that its touched row groups have, for the progress report.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.row_groups.keys().filter_map(|number| self.file.row_groups.get(*number));
        let rows = u128::from(rows.map(|entry| entry.rows).sum::<u64>());
        let bytes = rows * u128::from(self.file.size) / u128::from(self.file.rows.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// What an ingest does with one file.
enum Fate {
    Kept,
    Rewritten,
    Touched(Box<TouchedRows>),
}

/// Decides what becomes of the stored files.
pub(super) fn find(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
    wanted: &WantedKeys,
    reader: &TableReader<'_>,
) -> Result<Touched, IngestError> {
    let fates: Vec<Fate> = files
        .par_iter()
        .map(|file| StoredFile { stored: file, superseded, dir, wanted, reader }.fate())
        .collect::<Result<_, _>>()?;
    let mut touched = Touched::default();
    for (file, fate) in files.iter().zip(fates) {
        match fate {
            Fate::Rewritten => touched.rewritten.push(file.clone()),
            Fate::Kept => touched.kept.push(file.clone()),
            Fate::Touched(rows) => {
                touched.kept.push(file.clone());
                touched.rows.push(*rows);
            }
        }
    }
    Ok(touched)
}

/// Returns how many rows a file has left.
fn left_after(file: &DataFile, superseded: &Superseded) -> u64 {
    file.rows - superseded.get(&file.path).map_or(0, |vector| vector.rows())
}

/// A stored file whose fate is decided.
struct StoredFile<'a> {
    stored: &'a DataFile,
    superseded: &'a Superseded,
    dir: &'a Path,
    wanted: &'a WantedKeys,
    reader: &'a TableReader<'a>,
}

impl StoredFile<'_> {
    fn fate(&self) -> Result<Fate, IngestError> {
        let concerned: Vec<bool> = self.stored.row_groups.iter().map(|entry| self.wanted.concerns(entry)).collect();
        if !concerned.contains(&true) {
            return Ok(Fate::Kept);
        }
        self.reader.monitor.check()?;
        let path = self.dir.join(&self.stored.path);
        let file = CheckedFile::open(self.dir, self.stored).of_dataset(&path)?.until(self.reader.monitor.interrupt());
        let Some(index) = read_index(&file, &path)? else {
            let is_wanted = |account: &str| self.wanted.of(account).is_some();
            let files = std::slice::from_ref(self.stored);
            let (with, _) = files_with(files, self.superseded, self.dir, &is_wanted)?;
            return Ok(if with.is_empty() { Fate::Kept } else { Fate::Rewritten });
        };
        let sets = sets(&index, self.stored, &path)?;
        let mut wanted: BTreeMap<Wanted, Vec<usize>> = BTreeMap::new();
        for (number, (entry, set)) in self.stored.row_groups.iter().zip(&sets).enumerate() {
            if concerned[number] {
                wanted.entry(self.wanted.wanted_of(entry, set)).or_default().push(number);
            }
        }
        wanted.remove(&Wanted::Nothing);
        let mut row_groups = BTreeMap::new();
        for (what, numbers) in wanted {
            self.scan(&file, numbers, what == Wanted::EventIds, &mut row_groups)?;
        }
        row_groups.retain(|_, scan: &mut RowGroupScan<'_>| !scan.touched.is_empty());
        if row_groups.is_empty() {
            return Ok(Fate::Kept);
        }
        let mut vector = DeletionVector::default();
        for (number, scan) in &row_groups {
            let rows = scan.touched.iter().map(|rows| rows.start as u64..rows.end as u64);
            vector.supersede(self.stored, *number, rows, scan.left_days);
        }
        let left = left_after(self.stored, self.superseded).saturating_sub(vector.rows());
        if left.saturating_mul(2) < self.stored.rows {
            return Ok(Fate::Rewritten);
        }
        let row_groups = row_groups.into_iter().map(|(number, scan)| (number, scan.touched)).collect();
        Ok(Fate::Touched(Box::new(TouchedRows { file: self.stored.clone(), row_groups, vector })))
    }

    /// Finds the touched rows of some row groups. Without event ids, only the ids of customers are read.
    fn scan<'s>(
        &'s self,
        file: &CheckedFile,
        row_groups: Vec<usize>,
        has_event_ids: bool,
        scans: &mut BTreeMap<usize, RowGroupScan<'s>>,
    ) -> Result<(), IngestError> {
        let path = self.dir.join(&self.stored.path);
        let damaged = |fault| ErrorKind::Stored { path: path.clone(), source: Box::new(fault) };
        let reads = |name: &str| match name {
            EVENT_ID => has_event_ids,
            name => [ACCOUNT, OPPORTUNITY_ID, CUSTOMER_COLUMN, DATE].contains(&name),
        };
        let bytes = ParquetBytes::Stored(file.clone());
        let parquet = ParquetReader::open(bytes, self.reader.limits, &reads).map_err(damaged)?;
        let mut parquet = parquet.only(row_groups);
        while let Some(chunk) = parquet.next().map_err(damaged)? {
            self.reader.monitor.check()?;
            for decoded in chunk.decode().map_err(damaged)? {
                if let RowLocations::Rows { row_group, first, .. } = decoded.locations {
                    let scan = scans.entry(row_group).or_insert_with(|| RowGroupScan::new(self, row_group));
                    scan.add(&decoded.batch, first).doing("read stored events")?;
                }
            }
        }
        scans.values_mut().for_each(RowGroupScan::end_customer);
        Ok(())
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
    /// The rows that the file has left; `None` if all are.
    left: Option<std::vec::IntoIter<Range<usize>>>,
    /// The next of these ranges.
    next_left: Range<usize>,
    /// The account of the last row, and what is wanted of it.
    account: Option<(String, Option<&'a KeysOfAccount>)>,
    customer: Option<Customer>,
    touched: Vec<Range<usize>>,
    /// The days of the rows that are left and not touched.
    left_days: Days,
}

/// The rows of a customer, as far as they are read.
struct Customer {
    number: i32,
    rows: Range<usize>,
    days: (i32, i32),
    is_touched: bool,
}

impl<'a> RowGroupScan<'a> {
    fn new(file: &StoredFile<'a>, row_group: usize) -> Self {
        let vector = file.superseded.get(&file.stored.path);
        let left = vector.and_then(|vector| vector.left_ranges(&file.stored.row_groups, row_group));
        Self {
            wanted: file.wanted,
            left: left.map(Vec::into_iter),
            next_left: 0..0,
            account: None,
            customer: None,
            touched: Vec::new(),
            left_days: None,
        }
    }

    /// Adds the next rows; `first` is the number of the first in the row group.
    fn add(&mut self, batch: &RecordBatch, first: usize) -> Result<(), ArrowError> {
        let (accounts, customers) = (texts(batch, ACCOUNT)?, texts(batch, OPPORTUNITY_ID)?);
        let event_ids = batch.column_by_name(EVENT_ID).map(|_| texts(batch, EVENT_ID)).transpose()?;
        let numbers = primitive_column::<Int32Type>(batch, CUSTOMER_COLUMN)?;
        let dates = primitive_column::<Date32Type>(batch, DATE)?;
        for at in 0..batch.num_rows() {
            let row = first + at;
            if !self.is_left(row) {
                continue;
            }
            let (account, number, day) = (accounts.value(at), numbers.value(at), dates.value(at));
            if self.account.as_ref().is_none_or(|(last, _)| last != account) {
                self.account = Some((account.to_owned(), self.wanted.of(account)));
            }
            let keys = self.account.as_ref().and_then(|(_, keys)| *keys);
            if self.customer.as_ref().is_none_or(|customer| customer.number != number) {
                self.end_customer();
                let is_touched = keys.is_some_and(|keys| keys.wants_customer(customers.value(at)));
                self.customer = Some(Customer { number, rows: row..row, days: (day, day), is_touched });
            }
            let Some(customer) = &mut self.customer else { continue };
            customer.rows.end = row + 1;
            customer.days = (customer.days.0.min(day), customer.days.1.max(day));
            customer.is_touched |= keys
                .zip(event_ids.as_ref())
                .is_some_and(|(keys, event_ids)| event_ids.is_valid(at) && keys.wants_event(event_ids.value(at)));
        }
        Ok(())
    }

    fn is_left(&mut self, row: usize) -> bool {
        let Some(left) = &mut self.left else { return true };
        while self.next_left.end <= row {
            let Some(next) = left.next() else { return false };
            self.next_left = next;
        }
        self.next_left.start <= row
    }

    fn end_customer(&mut self) {
        let Some(Customer { rows, days, is_touched, .. }) = self.customer.take() else { return };
        match self.touched.last_mut() {
            _ if !is_touched => {
                let of_both = |left: (i32, i32)| (left.0.min(days.0), left.1.max(days.1));
                self.left_days = Some(self.left_days.map_or(days, of_both));
            }
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => self.touched.push(rows),
        }
    }
}
