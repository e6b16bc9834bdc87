//! Events: gathered, the replaced ones left out, sorted by customer, and written.

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

pub(crate) use held::{accounts_with_events, files_with};
pub(crate) use layout::Layout;

use crate::draft::Draft;
use crate::error::Doing;
use crate::read::Reading;
use crate::table::Table;
use crate::{Counts, IngestError, Input};
use coded::Coded;
use coding::CodedRules;
use gather::Gather;
use std::path::Path;
use texts::Dictionaries;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{Accounts, EventNormalizer};

/// Of the memory, the share that the distinct texts of a column may take.
const TEXTS: usize = 64;

/// What decides how events are taken.
pub(crate) struct Settings<'a> {
    pub(crate) accounts: &'a Accounts,
    /// Bytes that events may take.
    pub(crate) memory: usize,
    pub(crate) layout: Layout,
}

/// Adds the events of some inputs to those that the dataset holds, and gives back all of its event files.
pub(crate) fn ingest(
    inputs: &[&Input],
    held: &[DataFile],
    dir: &Path,
    settings: &Settings<'_>,
    draft: &mut Draft,
    reading: &mut Reading<'_>,
) -> Result<(Vec<DataFile>, Counts), IngestError> {
    let mut counts = Counts::default();
    let dictionaries = Dictionaries::new(settings.memory / TEXTS);
    let mut gather = Gather::new(settings.memory, &dictionaries);
    let total = inputs.iter().map(|input| input.size()).sum();
    reading.progress.stage("reading events", Some(total));
    for input in inputs {
        reading.read(
            input,
            Table::Events,
            &|schema| {
                let normalizer = EventNormalizer::new(schema, settings.accounts)?;
                Ok(Box::new(CodedRules::new(normalizer, &dictionaries)))
            },
            &mut counts,
            &mut |batch| gather.push(Coded::of_batch(&batch).doing("take rows")?, draft),
        )?;
    }
    let (rewritten, mut files) = files_with(held, dir, &gather.accounts())?;
    if gather.is_empty() {
        return Ok((held.to_vec(), counts));
    }
    reading.progress.stage("reading stored events", Some(rewritten.iter().map(|file| file.size).sum()));
    for file in &rewritten {
        held::read(dir, file, reading, &dictionaries, &mut |batch| gather.push_stored(batch, draft))?;
    }
    reading.progress.stage("writing events", None);
    let gathered = gather.finish()?;
    let (written, replaced) = gathered.write(dictionaries, draft, settings.layout)?;
    counts.replaced = replaced;
    files.extend(written);
    Ok((files, counts))
}
