//! Events are held in memory as long as they fit, and spilled to disk from then on.

use super::coded::Coded;
use super::layout::Layout;
use super::parts::{Size, in_parts};
use super::pass::Pass;
use super::sorted::Known;
use super::spill::Spill;
use super::texts::{Dictionaries, lock};
use super::writer::EventWriter;
use crate::IngestError;
use crate::draft::Draft;
use crate::error::Kind;
use arrow_array::Array;
use hashbrown::HashSet;
use std::collections::BTreeSet;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, stored_event_schema};

/// Of the memory, the share that held rows may take: the rest is for what is read and written meanwhile.
const HELD: usize = 2;

/// The largest total, in millionths, that Parquet keeps in 64 bits.
const MAX_NARROW: u64 = 999_999_999_999_999_999;

/// A column of texts cannot be longer than this, in bytes.
pub(super) const MAX_TEXT: usize = i32::MAX as usize;

/// Events of one ingest.
pub(super) struct Gather<'a> {
    memory: usize,
    dictionaries: &'a Dictionaries,
    /// Rows that the dataset held before.
    stored: Vec<Coded>,
    /// Rows of the inputs, in their order.
    new: Vec<Coded>,
    /// Bytes of both.
    bytes: usize,
    /// Bytes of the texts of a column of both, at most.
    texts: usize,
    spill: Option<Spill>,
    /// The sizes of accounts so far, by their codes.
    sizes: Vec<Size>,
    /// Whether the inputs have rows of an account, by its code.
    given: Vec<bool>,
    /// The dimensions met so far.
    columns: BTreeSet<String>,
    narrow: bool,
    has_ids: bool,
}

impl<'a> Gather<'a> {
    pub(super) fn new(memory: usize, dictionaries: &'a Dictionaries) -> Self {
        Self {
            memory,
            dictionaries,
            stored: Vec::new(),
            new: Vec::new(),
            bytes: 0,
            texts: 0,
            spill: None,
            sizes: Vec::new(),
            given: Vec::new(),
            columns: BTreeSet::new(),
            narrow: true,
            has_ids: false,
        }
    }

    /// The accounts of the inputs' rows.
    pub(super) fn accounts(&self) -> HashSet<String> {
        let texts = self.dictionaries.of(ACCOUNT);
        let texts = lock(&texts);
        let given = (0..).zip(&self.given).filter(|(_, given)| **given);
        given.map(|(account, _)| texts.text(account).to_owned()).collect()
    }

    /// Whether no input had a row.
    pub(super) fn is_empty(&self) -> bool {
        !self.given.contains(&true)
    }

    /// Adds rows of an input, after those added before.
    pub(super) fn push(&mut self, batch: Coded, draft: &Draft) -> Result<(), IngestError> {
        self.note(&batch);
        self.given.resize(self.sizes.len(), false);
        for (account, _) in batch.accounts() {
            self.given[account as usize] = true;
        }
        self.new.push(batch);
        self.make_room(draft)
    }

    /// Adds rows that the dataset held before; every row of an input is later than them.
    pub(super) fn push_stored(&mut self, batch: Coded, draft: &Draft) -> Result<(), IngestError> {
        self.note(&batch);
        self.stored.push(batch);
        self.make_room(draft)
    }

    /// Refuses more dimensions than a dataset may have.
    pub(super) fn check_columns(&self, limit: usize) -> Result<(), IngestError> {
        let count = self.columns.len();
        if count > limit { Err(Kind::ManyDimensions { count, limit }.into()) } else { Ok(()) }
    }

    fn note(&mut self, batch: &Coded) {
        let bytes = batch.bytes();
        self.bytes += bytes;
        self.texts += batch.longest_texts();
        for (account, rows) in batch.accounts() {
            let (account, rows) = (account as usize, rows as usize);
            if account >= self.sizes.len() {
                self.sizes.resize(account + 1, Size::default());
            }
            self.sizes[account].rows += rows;
            self.sizes[account].bytes += bytes / batch.len().max(1) * rows;
        }
        for (name, _) in &batch.extra {
            if !self.columns.contains(name) {
                self.columns.insert(name.clone());
            }
        }
        self.narrow &= batch.totals.iter().flatten().all(|total| total.unsigned_abs() <= MAX_NARROW);
        self.has_ids |= batch.event_ids.null_count() < batch.len();
    }

    /// Spills what is held, if it takes more than its share of memory.
    fn make_room(&mut self, draft: &Draft) -> Result<(), IngestError> {
        if self.bytes <= self.memory / HELD && self.texts <= MAX_TEXT {
            return Ok(());
        }
        if self.spill.is_none() {
            self.spill = Some(Spill::new(draft.scratch()?));
        }
        self.spill_held()
    }

    fn spill_held(&mut self) -> Result<(), IngestError> {
        if let Some(spill) = &mut self.spill {
            spill.write(&std::mem::take(&mut self.stored), true, self.dictionaries)?;
            spill.write(&std::mem::take(&mut self.new), false, self.dictionaries)?;
            (self.bytes, self.texts) = (0, 0);
        }
        Ok(())
    }

    /// What is left to do once everything was read.
    pub(super) fn finish(mut self) -> Result<Gathered, IngestError> {
        self.spill_held()?;
        let Self { stored, new, spill, sizes, columns, narrow, has_ids, memory, .. } = self;
        let batches = stored.into_iter().chain(new).collect();
        Ok(Gathered { memory, batches, spill, sizes, columns, narrow, has_ids })
    }
}

/// All rows, in memory or spilled.
pub(super) struct Gathered {
    memory: usize,
    batches: Vec<Coded>,
    spill: Option<Spill>,
    sizes: Vec<Size>,
    columns: BTreeSet<String>,
    narrow: bool,
    has_ids: bool,
}

impl Gathered {
    /// Writes the files, and counts the rows that later ones have replaced.
    pub(super) fn write(
        self,
        dictionaries: Dictionaries,
        draft: &mut Draft,
        layout: Layout,
    ) -> Result<(Vec<DataFile>, u64), IngestError> {
        let known = Known::new(dictionaries.finish(), self.narrow, self.has_ids);
        let schema = stored_event_schema(self.columns.iter().map(String::as_str));
        let mut pass = Pass::new(EventWriter::new(draft, layout, &schema, &known), &known, self.memory);
        let parts = in_parts(&self.sizes, &known);
        let Some(spill) = self.spill else {
            pass.held(&self.batches, &parts)?;
            return pass.finish();
        };
        pass.spilled(&spill, &parts)?;
        // Removing it takes long enough to be done beside what is yet to be written.
        rayon::join(|| pass.finish(), || drop(spill)).0
    }
}
