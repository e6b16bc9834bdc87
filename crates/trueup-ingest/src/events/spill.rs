//! Step 2, spill: event batches stay in memory as long as they fit; from then on, `account_spill` keeps them on disk.

mod account_spill;

use super::budget::{Budget, MAX_TEXT_COLUMN_BYTES};
use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::{DimensionKind, EventBatch, row_bytes};
use super::row_ranges::AccountSize;
use crate::IngestError;
use crate::error::ErrorKind;
use crate::version::VersionFiles;
pub(super) use account_spill::AccountSpill;
use arrow_array::Array;
use hashbrown::HashSet;
use std::collections::BTreeMap;
use trueup_core::model::{ACCOUNT, is_own_column};

/// Bytes that each range of an account's rows takes while ranges are sorted by account.
const RANGE_BYTES: usize = 40;

/// The events of one ingest while they are read.
pub(super) struct EventBuffer<'a> {
    budget: Budget,
    dictionaries: &'a DictionaryBuilders,
    /// Rows that the dataset already had.
    stored: Vec<EventBatch>,
    /// Rows of the inputs, in their order.
    new: Vec<EventBatch>,
    /// Bytes of both.
    bytes: usize,
    /// An upper bound of the bytes that any text column of both has.
    text_column_bytes: usize,
    spill: Option<AccountSpill>,
    /// Whether the inputs have rows of an account, by the account's code.
    has_new_rows: Vec<bool>,
    summary: BufferSummary,
}

/// What is known of all rows, in memory or spilled.
#[derive(Default)]
pub(super) struct BufferSummary {
    /// The size of each account's rows, by the account's code.
    pub(super) accounts: Vec<AccountSize>,
    /// The kind that can hold each dimension.
    pub(super) dimensions: BTreeMap<String, DimensionKind>,
    /// Whether Parquet can store every total in 64 bits.
    pub(super) has_narrow_totals: bool,
    /// Whether any row has an event id.
    pub(super) has_ids: bool,
}

/// The events of one ingest once all are read.
pub(super) struct BufferedEvents {
    /// The rows in memory, in the order of arrival; rows that the dataset already had come first.
    pub(super) batches: Vec<EventBatch>,
    /// The number of batches with rows that the dataset already had.
    pub(super) stored: usize,
    /// The rows on disk. If there is a spill, no rows are in memory.
    pub(super) spill: Option<AccountSpill>,
    pub(super) summary: BufferSummary,
}

impl<'a> EventBuffer<'a> {
    pub(super) fn new(budget: Budget, dictionaries: &'a DictionaryBuilders) -> Self {
        Self {
            budget,
            dictionaries,
            stored: Vec::new(),
            new: Vec::new(),
            bytes: 0,
            text_column_bytes: 0,
            spill: None,
            has_new_rows: Vec::new(),
            summary: BufferSummary { has_narrow_totals: true, ..BufferSummary::default() },
        }
    }

    /// Adds rows of an input, which follow the rows added before.
    pub(super) fn add(&mut self, batch: EventBatch, version: &mut VersionFiles) -> Result<(), IngestError> {
        self.record(&batch);
        self.has_new_rows.resize(self.summary.accounts.len(), false);
        for (account, _) in batch.account_runs() {
            self.has_new_rows[account as usize] = true;
        }
        self.new.push(batch);
        let (count, bytes) = self.dictionaries.accounts();
        if bytes > self.budget.accounts() {
            return Err(ErrorKind::ManyAccounts(count).into());
        }
        self.spill_if_full(version)
    }

    /// Adds rows that the dataset already had. They precede the rows of every input.
    pub(super) fn add_stored(&mut self, batch: EventBatch, version: &mut VersionFiles) -> Result<(), IngestError> {
        self.record(&batch);
        self.stored.push(batch);
        self.spill_if_full(version)
    }

    /// Returns whether no input had a row.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_new_rows.contains(&true)
    }

    /// Returns the accounts of the inputs' rows.
    pub(super) fn new_accounts(&self) -> HashSet<String> {
        let dictionary = self.dictionaries.of(ACCOUNT);
        let dictionary = lock(&dictionary);
        let accounts = (0..).zip(&self.has_new_rows).filter(|(_, has_new_rows)| **has_new_rows);
        accounts.map(|(account, _)| dictionary.text(account).to_owned()).collect()
    }

    /// Refuses more than `limit` dimensions.
    pub(super) fn check_dimensions(&self, limit: usize) -> Result<(), IngestError> {
        let count = self.summary.dimensions.keys().filter(|name| !is_own_column(name)).count();
        if count > limit { Err(ErrorKind::ManyDimensions { count, limit }.into()) } else { Ok(()) }
    }

    /// Returns whether the events have the column `name`, even if no row has a value in it.
    pub(super) fn has_dimension(&self, name: &str) -> bool {
        self.summary.dimensions.contains_key(name)
    }

    /// Ends reading. Spills everything if some of it is spilled already, or if an account is too large to be sorted in
    /// memory.
    pub(super) fn finish(mut self, version: &mut VersionFiles) -> Result<BufferedEvents, IngestError> {
        if self.spill.is_some() || self.summary.has_account_above(self.budget.sort()) {
            self.spill(version)?;
        }
        let Self { stored, new, spill, summary, .. } = self;
        let count = stored.len();
        Ok(BufferedEvents { batches: stored.into_iter().chain(new).collect(), stored: count, spill, summary })
    }

    fn record(&mut self, batch: &EventBatch) {
        self.bytes += batch.bytes();
        self.text_column_bytes += batch.largest_text_column();
        let ranges = self.summary.record(batch);
        self.bytes += ranges * RANGE_BYTES;
    }

    fn spill_if_full(&mut self, version: &mut VersionFiles) -> Result<(), IngestError> {
        let fits = self.bytes <= self.budget.buffer() && self.text_column_bytes <= MAX_TEXT_COLUMN_BYTES;
        if fits { Ok(()) } else { self.spill(version) }
    }

    /// Moves all rows in memory to disk.
    fn spill(&mut self, version: &mut VersionFiles) -> Result<(), IngestError> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(AccountSpill::new(version.scratch()?)),
        };
        let (stored, new) = (std::mem::take(&mut self.stored), std::mem::take(&mut self.new));
        spill.write(&stored, &new, self.dictionaries, self.budget.spilled_batch())?;
        (self.bytes, self.text_column_bytes) = (0, 0);
        Ok(())
    }
}

impl BufferSummary {
    /// Adds a batch. Returns the number of ranges that its rows form by account.
    fn record(&mut self, batch: &EventBatch) -> usize {
        let (mut start, mut ranges) = (0, 0);
        for (account, len) in batch.account_runs() {
            let (account, len) = (account as usize, len as usize);
            if account >= self.accounts.len() {
                self.accounts.resize(account + 1, AccountSize::default());
            }
            self.accounts[account].rows += len;
            self.accounts[account].text_bytes += batch.text_bytes(start..start + len);
            start += len;
            ranges += 1;
        }
        for (name, column) in &batch.dimensions {
            match self.dimensions.get_mut(name) {
                Some(kind) => *kind = kind.unify(column.kind()),
                None => drop(self.dimensions.insert(name.clone(), column.kind())),
            }
        }
        self.has_narrow_totals &= batch.has_narrow_totals();
        self.has_ids |= batch.event_ids.null_count() < batch.len();
        ranges
    }

    /// Returns the bytes of a row without its texts, once all rows are concatenated.
    pub(super) fn row_bytes(&self) -> usize {
        row_bytes(self.dimensions.values().copied())
    }

    /// Returns whether the rows of any account take more than `bytes`.
    fn has_account_above(&self, bytes: usize) -> bool {
        let row_bytes = self.row_bytes();
        self.accounts.iter().any(|account| account.size(row_bytes).bytes > bytes)
    }
}
