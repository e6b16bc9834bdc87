//! Events on disk, account by account.

use super::coded::Coded;
use super::concat::Concat;
use super::parts::Part;
use super::runs::{Run, by_account};
use super::sorted::Known;
use super::texts::{Dictionaries, lock};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use rayon::prelude::*;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use trueup_core::files::Files;
use trueup_core::model::ACCOUNT;

/// A block of spilled rows ends with the account from so many rows on, so that hardly more is read than is asked for.
const BLOCK_ROWS: u32 = 1 << 12;

/// A block of spilled rows ends within an account from so many rows on.
const LARGE_BLOCK_ROWS: u32 = 1 << 15;

/// Bytes that a column has in a block on average, if there are as many rows: less would be hardly more than the column's own overhead.
const COLUMN_BYTES: usize = 4 << 10;

/// Of a block, rows are copied out if they are at most one in this many.
const FEW: usize = 2;

/// Events on disk.
pub(super) struct Spill {
    pub(super) scratch: Scratch,
    /// Rows that the dataset held before.
    stored: Vec<Spilled>,
    /// Rows of the inputs, in their order.
    new: Vec<Spilled>,
}

/// A file of rows in the order of their accounts' keys.
struct Spilled {
    path: PathBuf,
    /// The codes of the first and the last account of each block.
    blocks: Vec<(u32, u32)>,
}

impl Spill {
    pub(super) fn new(scratch: Scratch) -> Self {
        Self { scratch, stored: Vec::new(), new: Vec::new() }
    }

    /// Adds rows, behind those of their kind that were added before.
    pub(super) fn write(
        &mut self,
        batches: &[Coded],
        are_stored: bool,
        dictionaries: &Dictionaries,
        block_bytes: usize,
    ) -> Result<(), IngestError> {
        let concat = Concat::new(batches);
        let runs = {
            let ranks = lock(&dictionaries.of(ACCOUNT)).ranks();
            by_account(batches, &ranks)
        };
        let blocks = in_blocks(runs, &concat, block_bytes);
        let number = self.stored.len() + self.new.len();
        let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
        let written: Vec<Spilled> = blocks
            .par_chunks(share)
            .enumerate()
            .map(|(at, blocks)| {
                let path = self.scratch.path().join(format!("spilled-{:06}", number + at));
                Spilled::write(self.scratch.files(), path, blocks, &concat)
            })
            .collect::<Result<_, _>>()?;
        if are_stored { &mut self.stored } else { &mut self.new }.extend(written);
        Ok(())
    }

    /// Hands on the rows of a part in the order in which they came: those that the dataset held before come first.
    pub(super) fn read(
        &self,
        part: &Part,
        known: &Known,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let files = self.scratch.files();
        self.stored.iter().chain(&self.new).try_for_each(|file| file.read(files, part, known, take))
    }
}

impl Spilled {
    fn write(files: &Files, path: PathBuf, blocks: &[Vec<Run>], concat: &Concat<'_>) -> Result<Self, IngestError> {
        let schema = concat.rows(&[]).and_then(|none| none.to_batch()).doing("spill rows")?.schema();
        let file = BufWriter::new(files.create(&path).at("create", &path)?);
        let mut writer = FileWriter::try_new(file, &schema).doing("spill rows")?;
        let mut accounts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let rows = concat.rows(block).doing("spill rows")?;
            let of_rows = rows.accounts.values();
            accounts.extend(of_rows.first().copied().zip(of_rows.last().copied()));
            rows.to_batch().and_then(|batch| writer.write(&batch)).doing("spill rows")?;
        }
        writer.finish().doing("spill rows")?;
        Ok(Self { path, blocks: accounts })
    }

    fn read(
        &self,
        files: &Files,
        part: &Part,
        known: &Known,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let blocks = part.find(&self.blocks, |(first, _)| known.rank(*first), |(_, last)| known.rank(*last));
        if blocks.is_empty() {
            return Ok(());
        }
        let file = BufReader::new(files.open(&self.path).at("read", &self.path)?);
        let mut reader = FileReader::try_new(file, None).doing("read spilled rows")?;
        reader.set_index(blocks.start).doing("read spilled rows")?;
        for batch in reader.take(blocks.len()) {
            let batch = batch.doing("read spilled rows")?;
            let rows = Coded::of_batch(&batch).doing("read spilled rows")?;
            let rank = |account: &u32| known.rank(*account);
            let rows = part.find(rows.accounts.values(), rank, rank);
            let slice = batch.slice(rows.start, rows.len());
            // A slice holds all of its block.
            let few = rows.len() * FEW <= batch.num_rows();
            take(if few { copied(&slice).doing("read spilled rows")? } else { slice })?;
        }
        Ok(())
    }
}

/// A slice of a batch with memory of its own.
fn copied(slice: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<u32> = (0..u32::try_from(slice.num_rows()).unwrap_or(u32::MAX)).collect();
    take_record_batch(slice, &UInt32Array::from(rows))
}

/// Runs in the order of accounts in blocks that are written and read as a whole, each of about `block_bytes` at most.
fn in_blocks(runs: Vec<(u32, Run)>, concat: &Concat<'_>, block_bytes: usize) -> Vec<Vec<Run>> {
    let mut blocks: Vec<Vec<Run>> = Vec::new();
    let row_bytes = concat.row_bytes();
    let block_bytes = block_bytes.max(concat.dimensions() * COLUMN_BYTES);
    let bytes_of = |run: Run| run.len as usize * row_bytes + concat.text_bytes(run);
    let (mut rows, mut bytes) = (u32::MAX, 0);
    let mut last = None;
    for (account, run) in runs {
        for run in run.split(block_bytes, bytes_of) {
            let full = if last == Some(account) { LARGE_BLOCK_ROWS } else { BLOCK_ROWS };
            let more = bytes_of(run);
            if rows >= full || bytes + more > block_bytes {
                blocks.push(Vec::new());
                (rows, bytes) = (0, 0);
            }
            if let Some(block) = blocks.last_mut() {
                block.push(run);
            }
            rows += run.len;
            bytes += more;
            last = Some(account);
        }
    }
    blocks
}
