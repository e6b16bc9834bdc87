//! Events: gathered, the replaced ones left out, sorted by customer, and written.

mod encoding;
mod gather;
mod held;
mod layout;
mod merge;
mod replaced;
mod sequence;
mod spill;
mod writer;

pub(crate) use held::{accounts_with_events, files_with};
pub(crate) use layout::Layout;

use crate::draft::Draft;
use crate::read::Reading;
use crate::table::Table;
use crate::{Counts, IngestError, Input};
use gather::Gather;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{Accounts, EventNormalizer};

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
    let mut gather = Gather::new(settings.memory);
    let total = inputs.iter().map(|input| input.size()).sum();
    reading.progress.stage("reading events", Some(total));
    for input in inputs {
        reading.read(
            input,
            Table::Events,
            &|schema| Ok(Box::new(EventNormalizer::new(schema, settings.accounts)?)),
            &mut counts,
            &mut |batch| gather.push(batch, draft),
        )?;
    }
    let (rewritten, mut files) = files_with(held, dir, gather.accounts())?;
    if gather.is_empty() {
        return Ok((held.to_vec(), counts));
    }
    reading.progress.stage("reading stored events", Some(rewritten.iter().map(|file| file.size).sum()));
    for file in &rewritten {
        held::read(&dir.join(&file.path), reading, &mut |batch| gather.push_stored(batch, draft))?;
    }
    reading.progress.stage("writing events", None);
    let (written, replaced) = gather.finish(draft, settings.layout)?;
    counts.replaced = replaced;
    files.extend(written);
    Ok((files, counts))
}
