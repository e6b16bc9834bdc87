//! Events are held in memory as long as they fit, and spilled to disk from then on.

use super::budget::Budget;
use super::coded::{Coded, Width, row_bytes};
use super::layout::Layout;
use super::parts::{Rows, in_parts};
use super::pass::Pass;
use super::sorted::Known;
use super::spill::Spill;
use super::texts::{Dictionaries, lock};
use super::writer::EventWriter;
use crate::IngestError;
use crate::error::ErrorKind;
use crate::version::VersionBuilder;
use arrow_array::Array;
use hashbrown::HashSet;
use std::collections::BTreeMap;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, stored_event_schema};

/// Bytes that each run of an account's rows takes when rows are put in the order of accounts.
const RUN_BYTES: usize = 40;

/// The largest total, in millionths, that Parquet keeps in 64 bits.
const MAX_NARROW: u64 = 999_999_999_999_999_999;

/// A column of texts cannot be longer than this, in bytes.
pub(super) const MAX_TEXT: usize = i32::MAX as usize;

/// Events of one ingest.
pub(super) struct Gather<'a> {
    budget: Budget,
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
    /// The rows of accounts so far, by their codes.
    rows: Vec<Rows>,
    /// Whether the inputs have rows of an account, by its code.
    given: Vec<bool>,
    /// The dimensions so far, and what holds each.
    columns: BTreeMap<String, Width>,
    narrow: bool,
    has_ids: bool,
}

impl<'a> Gather<'a> {
    pub(super) fn new(budget: Budget, dictionaries: &'a Dictionaries) -> Self {
        Self {
            budget,
            dictionaries,
            stored: Vec::new(),
            new: Vec::new(),
            bytes: 0,
            texts: 0,
            spill: None,
            rows: Vec::new(),
            given: Vec::new(),
            columns: BTreeMap::new(),
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
    pub(super) fn push(&mut self, batch: Coded, version: &mut VersionBuilder) -> Result<(), IngestError> {
        self.note(&batch);
        self.given.resize(self.rows.len(), false);
        for (account, _) in batch.accounts() {
            self.given[account as usize] = true;
        }
        self.new.push(batch);
        let (count, bytes) = self.dictionaries.accounts();
        if bytes > self.budget.accounts() {
            return Err(ErrorKind::ManyAccounts { count }.into());
        }
        self.make_room(version)
    }

    /// Adds rows that the dataset held before; every row of an input is later than them.
    pub(super) fn push_stored(&mut self, batch: Coded, version: &mut VersionBuilder) -> Result<(), IngestError> {
        self.note(&batch);
        self.stored.push(batch);
        self.make_room(version)
    }

    /// Refuses more dimensions than a dataset may have.
    pub(super) fn check_columns(&self, limit: usize) -> Result<(), IngestError> {
        let count = self.columns.len();
        if count > limit { Err(ErrorKind::ManyDimensions { count, limit }.into()) } else { Ok(()) }
    }

    fn note(&mut self, batch: &Coded) {
        self.bytes += batch.bytes();
        self.texts += batch.longest_texts();
        let mut start = 0;
        for (account, len) in batch.accounts() {
            let (account, len) = (account as usize, len as usize);
            if account >= self.rows.len() {
                self.rows.resize(account + 1, Rows::default());
            }
            self.rows[account].rows += len;
            self.rows[account].texts += batch.text_bytes(start..start + len);
            self.bytes += RUN_BYTES;
            start += len;
        }
        for (name, column) in &batch.extra {
            match self.columns.get_mut(name) {
                Some(width) => *width = width.with(column.width()),
                None => drop(self.columns.insert(name.clone(), column.width())),
            }
        }
        self.narrow &= batch.totals.iter().flatten().all(|total| total.unsigned_abs() <= MAX_NARROW);
        self.has_ids |= batch.event_ids.null_count() < batch.len();
    }

    /// Spills what is held, if it takes more than its share of memory.
    fn make_room(&mut self, version: &mut VersionBuilder) -> Result<(), IngestError> {
        if self.bytes <= self.budget.held() && self.texts <= MAX_TEXT {
            return Ok(());
        }
        self.spill_all(version)
    }

    fn spill_all(&mut self, version: &mut VersionBuilder) -> Result<(), IngestError> {
        if self.spill.is_none() {
            self.spill = Some(Spill::new(version.scratch()?));
        }
        self.spill_held()
    }

    fn spill_held(&mut self) -> Result<(), IngestError> {
        if let Some(spill) = &mut self.spill {
            let block_bytes = self.budget.block();
            spill.write(&std::mem::take(&mut self.stored), true, self.dictionaries, block_bytes)?;
            spill.write(&std::mem::take(&mut self.new), false, self.dictionaries, block_bytes)?;
            (self.bytes, self.texts) = (0, 0);
        }
        Ok(())
    }

    /// Bytes that each row takes apart from its texts, once all are put together.
    fn row_bytes(&self) -> usize {
        row_bytes(self.columns.values().copied())
    }

    /// Whether the rows of an account are more than may be sorted in memory.
    fn has_oversize(&self) -> bool {
        let row_bytes = self.row_bytes();
        self.rows.iter().any(|rows| rows.size(row_bytes).bytes > self.budget.sorted())
    }

    /// What is left to do once everything was read.
    pub(super) fn finish(mut self, version: &mut VersionBuilder) -> Result<Gathered, IngestError> {
        if self.has_oversize() {
            self.spill_all(version)?;
        } else {
            self.spill_held()?;
        }
        let row_bytes = self.row_bytes();
        let Self { stored, new, spill, rows, columns, narrow, has_ids, budget, .. } = self;
        let batches = stored.into_iter().chain(new).collect();
        Ok(Gathered { budget, batches, spill, rows, row_bytes, columns, narrow, has_ids })
    }
}

/// All rows, in memory or spilled.
pub(super) struct Gathered {
    budget: Budget,
    batches: Vec<Coded>,
    spill: Option<Spill>,
    rows: Vec<Rows>,
    /// Bytes that each row takes apart from its texts, once all are put together.
    row_bytes: usize,
    columns: BTreeMap<String, Width>,
    narrow: bool,
    has_ids: bool,
}

impl Gathered {
    /// Writes the files, and counts the rows that later ones have replaced.
    pub(super) fn write(
        self,
        dictionaries: Dictionaries,
        version: &mut VersionBuilder,
        layout: Layout,
    ) -> Result<(Vec<DataFile>, u64), IngestError> {
        let known = Known::new(dictionaries.finish(), self.narrow, self.has_ids);
        let schema = stored_event_schema(self.columns.keys().map(String::as_str));
        let mut pass = Pass::new(EventWriter::new(version, layout, &schema, &known, self.budget), &known, self.budget);
        let parts = in_parts(&self.rows, self.row_bytes, &known);
        let Some(spill) = self.spill else {
            pass.held(&self.batches, &parts)?;
            return pass.finish();
        };
        pass.spilled(&spill, &parts)?;
        // Removing it takes long enough to be done beside what is yet to be written.
        rayon::join(|| pass.finish(), || drop(spill)).0
    }
}
