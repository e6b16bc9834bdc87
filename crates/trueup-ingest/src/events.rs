//! Events: gathered, the replaced ones left out, sorted by customer, and written.

mod budget;
mod chunk;
mod coded;
mod coder;
mod coding;
mod concat;
mod encoding;
mod gather;
mod held;
mod hybrid;
mod layout;
mod open_groups;
mod oversize;
mod parts;
mod pass;
mod row_group;
mod runs;
mod sequence;
mod sorted;
mod spill;
mod texts;
mod writer;

pub(crate) use budget::Budget;
pub(crate) use held::{accounts_with_events, files_with};
pub(crate) use sequence::Rows;

use crate::error::ErrorContext;
use crate::read::TableReader;
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{IngestError, Input, RowCounts};
use coded::Coded;
use coding::MakeCodedRules;
use gather::Gather;
use layout::Layout;
use std::path::Path;
use texts::Dictionaries;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::Accounts;

/// What decides how events are taken.
pub(crate) struct Settings<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) budget: Budget,
    /// The rows that a row group should have.
    pub(crate) group_rows: usize,
    /// The rows after which a file ends where the account does.
    pub(crate) file_rows: usize,
}

/// Adds the events of some inputs to those that the dataset holds, and gives back all of its event files.
pub(crate) fn ingest(
    inputs: &[&Input],
    held: &[DataFile],
    dir: &Path,
    settings: &Settings<'_>,
    version: &mut VersionBuilder,
    reader: &mut TableReader<'_>,
) -> Result<(Vec<DataFile>, RowCounts), IngestError> {
    let mut counts = RowCounts::default();
    let Settings { budget, group_rows, file_rows, .. } = *settings;
    let dictionaries = Dictionaries::new(budget.texts(), budget.all_texts());
    let mut gather = Gather::new(budget, &dictionaries);
    let rules = MakeCodedRules::new(settings.accounts, &dictionaries);
    let total = inputs.iter().map(|input| input.size()).sum();
    reader.progress.stage("reading events", Some(total));
    for input in inputs {
        reader.read(input, Table::Events, &|schema| Ok(Box::new(rules.of(schema)?)), &mut counts, &mut |batch| {
            gather.push(Coded::of_batch(&batch).doing("take rows")?, version)
        })?;
        gather.check_columns(reader.limits.max_columns)?;
    }
    if gather.is_empty() {
        return Ok((held.to_vec(), counts));
    }
    let (rewritten, mut files) =
        if held.is_empty() { Default::default() } else { files_with(held, dir, &gather.accounts())? };
    reader.progress.stage("reading stored events", Some(rewritten.iter().map(|file| file.size).sum()));
    for file in &rewritten {
        held::read(dir, file, reader, &dictionaries, &mut |batch| gather.push_stored(batch, version))?;
        gather.check_columns(reader.limits.max_columns)?;
    }
    reader.progress.stage("writing events", None);
    let gathered = gather.finish(version)?;
    let layout = Layout { group_rows, file_rows, group_bytes: budget.row_group(), open_bytes: budget.open_groups() };
    let (written, replaced) = gathered.write(dictionaries, version, layout)?;
    counts.replaced = replaced;
    files.extend(written);
    Ok((files, counts))
}
