//! Spilled events, which can be read back account by account.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::events::dictionaries::{DictionaryBuilders, EventDictionaries, lock};
use crate::events::event_batch::EventBatch;
use crate::events::row_ranges::{AccountSlice, BatchSet, RowRange, ranges_by_account};
use crate::version::Scratch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use rayon::prelude::*;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use trueup_core::files::Files;
use trueup_core::model::ACCOUNT;

/// A spilled batch of at least this many rows ends with its account, so that reading an account reads little else.
const BATCH_ROWS: u32 = 1 << 12;

/// A spilled batch of at least this many rows ends even within an account.
const LARGE_BATCH_ROWS: u32 = 1 << 15;

/// Bytes that a column should have in a spilled batch on average. With fewer, the column's own overhead would dominate.
const COLUMN_BYTES: usize = 4 << 10;

/// If a slice of accounts needs at most one in this many rows of a batch, the rows are copied, because a part of the
/// batch would keep the whole batch in memory.
const ROWS_PER_COPY: usize = 2;

/// Events on disk. Every file is sorted by account, and each batch knows its first and last account, so that a slice of
/// accounts is read without reading much else.
pub(in crate::events) struct AccountSpill {
    pub(in crate::events) scratch: Scratch,
    /// Rows that the dataset already had.
    stored: Vec<AccountFile>,
    /// Rows of the inputs, in their order.
    new: Vec<AccountFile>,
}

/// A file of spilled batches, sorted by account key.
struct AccountFile {
    path: PathBuf,
    /// The codes of the first and the last account of each batch.
    batches: Vec<(u32, u32)>,
}

impl AccountSpill {
    pub(in crate::events) fn new(scratch: Scratch) -> Self {
        Self { scratch, stored: Vec::new(), new: Vec::new() }
    }

    /// Appends rows that the dataset already had, and rows of the inputs. Each spilled batch takes at most about
    /// `batch_bytes`.
    pub(super) fn write(
        &mut self,
        stored: &[EventBatch],
        new: &[EventBatch],
        dictionaries: &DictionaryBuilders,
        batch_bytes: usize,
    ) -> Result<(), IngestError> {
        let stored = self.write_files(stored, dictionaries, batch_bytes)?;
        self.stored.extend(stored);
        let new = self.write_files(new, dictionaries, batch_bytes)?;
        self.new.extend(new);
        Ok(())
    }

    /// Writes rows into new files, one per thread.
    fn write_files(
        &self,
        batches: &[EventBatch],
        dictionaries: &DictionaryBuilders,
        batch_bytes: usize,
    ) -> Result<Vec<AccountFile>, IngestError> {
        let rows = BatchSet::new(batches);
        let ranges = {
            let ranks = lock(&dictionaries.of(ACCOUNT)).ranks();
            ranges_by_account(batches, &ranks)
        };
        let spilled_batches = divide(ranges, &rows, batch_bytes);
        let number = self.stored.len() + self.new.len();
        let share = spilled_batches.len().div_ceil(rayon::current_num_threads()).max(1);
        spilled_batches
            .par_chunks(share)
            .enumerate()
            .map(|(at, batches)| {
                let path = self.scratch.path().join(format!("spilled-{:06}", number + at));
                AccountFile::write(self.scratch.files(), path, batches, &rows)
            })
            .collect()
    }

    /// Reads the rows of some accounts and passes them on in the order of arrival, each batch with whether its rows are
    /// new. Rows that the dataset already had come first.
    pub(in crate::events) fn read(
        &self,
        slice: &AccountSlice,
        dictionaries: &EventDictionaries,
        take: &mut dyn FnMut(EventBatch, bool) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let files = self.scratch.files();
        self.stored.iter().try_for_each(|file| file.read(files, slice, dictionaries, &mut |rows| take(rows, false)))?;
        self.new.iter().try_for_each(|file| file.read(files, slice, dictionaries, &mut |rows| take(rows, true)))
    }
}

impl AccountFile {
    /// Writes a file with the given ranges of rows, one list for each batch.
    fn write(
        files: &Files,
        path: PathBuf,
        batches: &[Vec<RowRange>],
        rows: &BatchSet<'_>,
    ) -> Result<Self, IngestError> {
        let schema = rows.rows(&[]).and_then(|none| none.to_record_batch()).doing("spill rows")?.schema();
        let file = BufWriter::new(files.create(&path).at("create", &path)?);
        let mut writer = FileWriter::try_new(file, &schema).doing("spill rows")?;
        let mut ends = Vec::with_capacity(batches.len());
        for ranges in batches {
            let batch = rows.rows(ranges).doing("spill rows")?;
            let accounts = batch.accounts.values();
            ends.extend(accounts.first().copied().zip(accounts.last().copied()));
            batch.to_record_batch().and_then(|batch| writer.write(&batch)).doing("spill rows")?;
        }
        writer.finish().doing("spill rows")?;
        Ok(Self { path, batches: ends })
    }

    fn read(
        &self,
        files: &Files,
        slice: &AccountSlice,
        dictionaries: &EventDictionaries,
        take: &mut dyn FnMut(EventBatch) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let rank = |account: &u32| dictionaries.account_rank(*account);
        let batches = slice.find(&self.batches, |(first, _)| rank(first), |(_, last)| rank(last));
        if batches.is_empty() {
            return Ok(());
        }
        let file = BufReader::new(files.open(&self.path).at("read", &self.path)?);
        let mut reader = FileReader::try_new(file, None).doing("read spilled rows")?;
        reader.set_index(batches.start).doing("read spilled rows")?;
        for batch in reader.take(batches.len()) {
            let batch = batch.and_then(|batch| EventBatch::of_record_batch(&batch)).doing("read spilled rows")?;
            let rows = slice.find(batch.accounts.values(), rank, rank);
            let rows = if rows.len() * ROWS_PER_COPY <= batch.len() {
                batch.take(rows.filter_map(|row| u32::try_from(row).ok()).collect())
            } else {
                batch.slice(rows)
            };
            take(rows.doing("read spilled rows")?)?;
        }
        Ok(())
    }
}

/// Divides ranges, which are sorted by account, into spilled batches of at most about `batch_bytes`, or
/// [`COLUMN_BYTES`] for each dimension if that is more.
fn divide(ranges: Vec<(u32, RowRange)>, rows: &BatchSet<'_>, batch_bytes: usize) -> Vec<Vec<RowRange>> {
    let mut batches: Vec<Vec<RowRange>> = Vec::new();
    let row_bytes = rows.row_bytes();
    let batch_bytes = batch_bytes.max(rows.dimensions() * COLUMN_BYTES);
    let bytes_of = |range: RowRange| range.len as usize * row_bytes + rows.text_bytes(range);
    let (mut batch_rows, mut bytes) = (u32::MAX, 0);
    let mut last = None;
    for (account, range) in ranges {
        for range in range.split(batch_bytes, bytes_of) {
            let full = if last == Some(account) { LARGE_BATCH_ROWS } else { BATCH_ROWS };
            let more = bytes_of(range);
            if batch_rows >= full || bytes + more > batch_bytes {
                batches.push(Vec::new());
                (batch_rows, bytes) = (0, 0);
            }
            if let Some(batch) = batches.last_mut() {
                batch.push(range);
            }
            batch_rows += range.len;
            bytes += more;
            last = Some(account);
        }
    }
    batches
}
