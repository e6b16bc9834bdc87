//! Merges event files: the rows that they have left, in the order of the dataset, as one ingest would write them.

use super::budget::Budget;
use super::dictionaries::DictionaryBuilders;
use super::sort_and_write::sort_and_write;
use super::spill::EventBuffer;
use super::stored_files;
use super::write::FileLayout;
use super::zone_changes::ZoneChanges;
use crate::IngestError;
use crate::live_rows::{Superseded, count_left};
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::settings::CommonSettings;
use crate::stored_copy::local_copy;
use crate::version::{Scratch, VersionFiles};
use trueup_core::dataset::manifest::DataFile;

/// Writes the rows that are left in some event files to new files, which it returns; none if no row is left.
pub(crate) fn merge(
    (files, superseded): (&[DataFile], &Superseded),
    settings: &CommonSettings,
    version: &mut VersionFiles,
    reader: &TableReader<'_>,
) -> Result<Vec<DataFile>, IngestError> {
    // The ingests that wrote the histories have checked their length, perhaps with a higher limit.
    let budget = Budget { memory: settings.memory, customer_events: usize::MAX };
    let dictionaries = DictionaryBuilders::new(budget.dictionary(), budget.dictionaries());
    let mut buffer = EventBuffer::new(budget, &dictionaries);
    let unchanged = ZoneChanges::default();
    reader.monitor.begin(Phase::ReadingStoredEvents, Some(files.iter().map(|file| file.size).sum()));
    for file in files {
        let copy = local_copy(&settings.dir, file, version, reader.monitor)?;
        let dir = copy.as_ref().map_or(settings.dir.as_path(), Scratch::path);
        stored_files::read(dir, (file, superseded), reader, &unchanged, &dictionaries, None, &mut |batch| {
            buffer.add_stored(batch, version)
        })?;
    }
    let rows = count_left(files, superseded);
    if rows == 0 {
        return Ok(Vec::new());
    }
    reader.monitor.begin_rows(Phase::WritingEvents, rows);
    let events = buffer.finish(version)?;
    let layout = FileLayout::new(settings, budget);
    let sorted = sort_and_write(events, &dictionaries.finish(), budget, layout, version, reader.monitor)?;
    Ok(sorted.files)
}
