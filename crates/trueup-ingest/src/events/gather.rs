//! Events are held in memory as long as they fit, and spilled to disk from then on.

use super::layout::Layout;
use super::merge;
use super::spill::Spill;
use super::writer::EventWriter;
use crate::IngestError;
use crate::draft::Draft;
use crate::error::Doing;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use hashbrown::HashSet;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, TOTAL, concat_events, keep_latest, sort_events};

/// Concatenating and sorting each hold the rows once more.
const COPIES: usize = 3;

/// A column of texts cannot be longer than this, in bytes.
pub(super) const MAX_TEXT: usize = i32::MAX as usize;

/// The largest total, in millionths, that Parquet keeps in 64 bits.
const MAX_NARROW: i128 = 999_999_999_999_999_999;

/// Events of one ingest.
pub(super) struct Gather {
    memory: usize,
    /// Rows that the dataset held before.
    stored: Vec<RecordBatch>,
    /// Rows of the inputs, in their order.
    new: Vec<RecordBatch>,
    /// Bytes of both.
    bytes: usize,
    spill: Option<Spill>,
    accounts: HashSet<String>,
    /// Whether every total fits into 64 bits of Parquet.
    narrow: bool,
}

impl Gather {
    pub(super) fn new(memory: usize) -> Self {
        Self {
            memory,
            stored: Vec::new(),
            new: Vec::new(),
            bytes: 0,
            spill: None,
            accounts: HashSet::new(),
            narrow: true,
        }
    }

    /// The accounts of the inputs' rows.
    pub(super) fn accounts(&self) -> &HashSet<String> {
        &self.accounts
    }

    /// Whether no input had a row.
    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Adds rows of an input, after those added before.
    pub(super) fn push(&mut self, batch: RecordBatch, draft: &Draft) -> Result<(), IngestError> {
        self.note_accounts(&batch);
        self.note(&batch);
        self.new.push(batch);
        self.make_room(draft)
    }

    /// Adds rows that the dataset held before; every row of an input is later than them.
    pub(super) fn push_stored(&mut self, batch: RecordBatch, draft: &Draft) -> Result<(), IngestError> {
        self.note(&batch);
        self.stored.push(batch);
        self.make_room(draft)
    }

    fn note_accounts(&mut self, batch: &RecordBatch) {
        let mut last = None;
        for account in batch.column_by_name(ACCOUNT).map(|column| column.as_string::<i32>()).into_iter().flatten() {
            if last != account
                && let Some(account) = account
            {
                self.accounts.get_or_insert_with(account, str::to_owned);
            }
            last = account;
        }
    }

    fn note(&mut self, batch: &RecordBatch) {
        self.bytes += batch.get_array_memory_size();
        let totals = batch.column_by_name(TOTAL).map(|column| column.as_primitive::<Decimal128Type>());
        self.narrow &= totals.is_none_or(|totals| totals.iter().flatten().all(|total| total.abs() <= MAX_NARROW));
    }

    /// Spills what is held, if sorting it would need more memory than there is.
    fn make_room(&mut self, draft: &Draft) -> Result<(), IngestError> {
        let copies = if self.spill.is_some() { COPIES * 2 } else { COPIES };
        if self.bytes <= (self.memory / copies).min(MAX_TEXT) {
            return Ok(());
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::new(draft.scratch()?)),
        };
        spill.write_stored(&self.stored)?;
        spill.write_new(&self.new)?;
        self.stored.clear();
        self.new.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Writes the files, and counts the rows that later ones have replaced.
    pub(super) fn finish(self, draft: &mut Draft, layout: Layout) -> Result<(Vec<DataFile>, u64), IngestError> {
        let Some(mut spill) = self.spill else {
            let batches: Vec<RecordBatch> = self.stored.into_iter().chain(self.new).collect();
            return write_sorted(batches, draft, layout, self.narrow);
        };
        spill.write_stored(&self.stored)?;
        spill.write_new(&self.new)?;
        drop((self.stored, self.new));
        merge::write(spill, self.memory, draft, layout, self.narrow)
    }
}

/// Sorts and writes rows that fit in memory.
fn write_sorted(
    batches: Vec<RecordBatch>,
    draft: &mut Draft,
    layout: Layout,
    narrow: bool,
) -> Result<(Vec<DataFile>, u64), IngestError> {
    let all = concat_events(&batches).doing("put events together")?;
    drop(batches);
    let latest = keep_latest(&all).doing("replace events")?;
    let replaced = all.num_rows() - latest.num_rows();
    drop(all);
    let sorted = sort_events(&latest).doing("sort events")?;
    drop(latest);
    let mut writer = EventWriter::new(draft, layout, sorted.batch.schema_ref(), narrow);
    for customer in sorted.customers.windows(2) {
        let (start, end) = (customer[0] as usize, customer[1] as usize);
        writer.push(&sorted.batch, start, end - start)?;
    }
    Ok((writer.finish()?, u64::try_from(replaced).unwrap_or(u64::MAX)))
}
