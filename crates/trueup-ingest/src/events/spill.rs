//! Events on disk, account by account.

use super::coded::Coded;
use super::concat::Concat;
use super::parts::Part;
use super::runs::{Run, by_account};
use super::sorted::Known;
use super::texts::{Dictionaries, lock};
use crate::IngestError;
use crate::draft::Scratch;
use crate::error::{AtPath, Doing};
use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use rayon::prelude::*;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use trueup_core::files::Files;
use trueup_core::model::ACCOUNT;

/// A block of spilled rows ends with the account from so many rows on, so that hardly more is read than is asked for.
const BLOCK_ROWS: u32 = 1 << 12;

/// A block of spilled rows ends within an account from so many rows on.
const LARGE_BLOCK_ROWS: u32 = 1 << 15;

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
    ) -> Result<(), IngestError> {
        let ranks = lock(&dictionaries.of(ACCOUNT)).ranks();
        let runs = by_account(batches, &ranks);
        let blocks = in_blocks(&runs);
        let concat = Concat::new(batches, dictionaries);
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
    fn write(
        files: &Files,
        path: PathBuf,
        blocks: &[Vec<Run>],
        concat: &Concat<'_, Dictionaries>,
    ) -> Result<Self, IngestError> {
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
            take(batch.slice(rows.start, rows.len()))?;
        }
        Ok(())
    }
}

/// Runs in the order of accounts in blocks that are written and read as a whole.
fn in_blocks(runs: &[(u32, Run)]) -> Vec<Vec<Run>> {
    let mut blocks: Vec<Vec<Run>> = Vec::new();
    let mut rows = u32::MAX;
    let mut last = None;
    for (account, run) in runs {
        let full = if last == Some(account) { LARGE_BLOCK_ROWS } else { BLOCK_ROWS };
        if rows >= full {
            blocks.push(Vec::new());
            rows = 0;
        }
        if let Some(block) = blocks.last_mut() {
            block.push(*run);
        }
        rows += run.len;
        last = Some(account);
    }
    blocks
}
