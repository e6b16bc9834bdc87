//! Events, from checked rows to the files of the dataset.
//!
//! ```text
//! input rows ──► encode ─────┐                                       ┌► spill/account_spill ─┐
//!                            ├► EventBatch ──► spill (EventBuffer) ──┤  if memory is full    ├► sort ──► write
//! stored_files ──► encode ───┘                                       └───────────────────────┘
//! ```
//!
//! | in call order | |
//! |---|---|
//! | `encode` | turns checked rows into an [`EventBatch`](event_batch::EventBatch); recurring texts become codes of the `dictionaries` |
//! | `stored_files` | reads the event files that have an account of the inputs, because their rows are sorted again with the new ones |
//! | `spill` | buffers the batches, and spills them to disk sorted by account if memory is full |
//! | `sort_and_write` | divides all accounts into slices (`account_ranges`), and drives the last two steps |
//! | `sort` | concatenates a slice (`concat`), leaves out superseded rows, and sorts; `sort/oversize` sorts on disk |
//! | `write` | gathers sorted customers into row groups, and encodes these as Parquet |
//!
//! `budget` says how much memory each step may take.

mod account_ranges;
mod budget;
mod concat;
mod dictionaries;
mod encode;
mod event_batch;
mod sort;
mod sort_and_write;
mod spill;
mod stored_files;
mod write;

pub(crate) use budget::Budget;
pub(crate) use stored_files::accounts_with_events;

use crate::error::ErrorContext;
use crate::read::TableReader;
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{IngestError, Input, RowCounts};
use dictionaries::DictionaryBuilders;
use encode::EventRulesFactory;
use event_batch::EventBatch;
use spill::EventBuffer;
use std::path::Path;
use stored_files::files_with;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::Accounts;
use write::FileLayout;

/// What decides how events are ingested.
pub(crate) struct Settings<'a> {
    /// The accounts, whose time zones turn times into dates.
    pub(crate) accounts: &'a Accounts,
    pub(crate) budget: Budget,
    /// The rows that a row group should have.
    pub(crate) group_rows: usize,
    /// The rows after which a file ends at the next account.
    pub(crate) file_rows: usize,
}

/// Adds the events of some inputs to the stored event files of the dataset. Returns all event files of the next version: new ones for the
/// accounts of the inputs, and the stored files of all other accounts.
pub(crate) fn ingest(
    inputs: &[&Input],
    stored: &[DataFile],
    dir: &Path,
    settings: &Settings<'_>,
    version: &mut VersionBuilder,
    reader: &mut TableReader<'_>,
) -> Result<(Vec<DataFile>, RowCounts), IngestError> {
    let mut counts = RowCounts::default();
    let Settings { accounts, budget, group_rows, file_rows } = *settings;
    let dictionaries = DictionaryBuilders::new(budget.dictionary(), budget.dictionaries());
    let mut buffer = EventBuffer::new(budget, &dictionaries);
    let rules = EventRulesFactory::new(accounts, &dictionaries);
    let total = inputs.iter().map(|input| input.size()).sum();
    reader.progress.stage("reading events", Some(total));
    for input in inputs {
        reader.read(input, Table::Events, &|schema| Ok(Box::new(rules.rules(schema)?)), &mut counts, &mut |batch| {
            buffer.add(EventBatch::of_record_batch(&batch).doing("take rows")?, version)
        })?;
        buffer.check_dimensions(reader.limits.max_columns)?;
    }
    if buffer.is_empty() {
        return Ok((stored.to_vec(), counts));
    }
    let (rewritten, mut files) =
        if stored.is_empty() { Default::default() } else { files_with(stored, dir, &buffer.new_accounts())? };
    reader.progress.stage("reading stored events", Some(rewritten.iter().map(|file| file.size).sum()));
    for file in &rewritten {
        stored_files::read(dir, file, reader, &dictionaries, &mut |batch| buffer.add_stored(batch, version))?;
        buffer.check_dimensions(reader.limits.max_columns)?;
    }
    reader.progress.stage("writing events", None);
    let events = buffer.finish(version)?;
    let layout =
        FileLayout { group_rows, file_rows, group_bytes: budget.row_group(), open_bytes: budget.open_row_groups() };
    let (written, superseded) =
        sort_and_write::sort_and_write(events, &dictionaries.finish(), budget, layout, version)?;
    counts.replaced = superseded;
    files.extend(written);
    Ok((files, counts))
}
