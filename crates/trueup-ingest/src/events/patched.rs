//! The stored events that a patch changes.

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::EventBatch;
use super::new_keys::WantedKeys;
use super::sources::text_of;
use super::stored_files;
use super::touched::TouchedFinder;
use super::zone_changes::ZoneChanges;
use crate::IngestError;
use crate::live_rows::Superseded;
use crate::mapping::PatchedEvents;
use crate::read::TableReader;
use crate::stored_copy::local_copy;
use crate::version::{Scratch, VersionFiles};
use arrow_array::Array;
use std::path::Path;
use trueup_core::Day;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{
    ACCOUNT, DATE, DATE_COMPUTED, DATE_SOURCE_COLUMN, DATE_TIME, OPPORTUNITY_ID, Stage, TOTAL, TYPE, UtcMicros,
    format_date_time,
};
use trueup_core::money::format_micros;

/// Bytes for the texts of a column.
const DICTIONARY_BYTES: usize = 1 << 20;

/// Finds what the dataset has of the events that a patch changes.
pub(crate) fn find_patched(
    patched: &mut PatchedEvents,
    dir: &Path,
    (files, superseded): (&[DataFile], &Superseded),
    version: &mut VersionFiles,
    reader: &TableReader<'_>,
) -> Result<(), IngestError> {
    let wanted = WantedKeys::of_events(patched.ids());
    let dictionaries = DictionaryBuilders::new(DICTIONARY_BYTES, DICTIONARY_BYTES);
    let zone_changes = ZoneChanges::default();
    let finder =
        TouchedFinder { files, superseded, dir, zone_changes: &zone_changes, dictionaries: &dictionaries, reader };
    let touched = finder.pass_touched(&wanted, &mut |batch| take(&batch, &dictionaries, patched, reader))?;
    for file in &touched.rewritten {
        let copy = local_copy(dir, file, version, reader.monitor)?;
        let dir = copy.as_ref().map_or(dir, Scratch::path);
        let from = (file, &touched.passed);
        stored_files::read(dir, from, reader, &zone_changes, &dictionaries, None, &mut |batch| {
            take(&batch, &dictionaries, patched, reader)
        })?;
    }
    Ok(())
}

/// Takes the events of a batch that the patch changes.
fn take(
    batch: &EventBatch,
    dictionaries: &DictionaryBuilders,
    patched: &mut PatchedEvents,
    reader: &TableReader<'_>,
) -> Result<(), IngestError> {
    let accounts = dictionaries.of(ACCOUNT);
    for row in (0..batch.len()).filter(|row| batch.event_ids.is_valid(*row)) {
        let account = lock(&accounts).text(batch.accounts.value(row)).to_owned();
        let id = batch.event_ids.value(row);
        if !patched.has(&account, id) {
            continue;
        }
        let stage = Stage::from_code(batch.stages.value(row)).map_or("", Stage::name);
        let mut values = vec![(OPPORTUNITY_ID, batch.opportunity_ids.value(row).to_owned()), (TYPE, stage.to_owned())];
        let mut is_computed = false;
        for (name, column) in &batch.dimensions {
            let texts = dictionaries.of(name);
            let text = text_of(column, &lock(&texts), row).to_owned();
            if name == DATE_SOURCE_COLUMN {
                is_computed = text == DATE_COMPUTED;
            } else {
                values.push((name, text));
            }
        }
        // A day that was computed of the time is computed again.
        if !is_computed {
            let day = Day::from_number(u16::try_from(batch.dates.value(row)).unwrap_or_default());
            values.push((DATE, day.to_string()));
        }
        if batch.date_times.is_valid(row) {
            values.push((DATE_TIME, format_date_time(UtcMicros(batch.date_times.value(row))).unwrap_or_default()));
        }
        if batch.totals.is_valid(row) {
            values.push((TOTAL, format_micros(batch.totals.value(row).into())));
        }
        patched.found((&account, id), values, reader.limits)?;
    }
    Ok(())
}
