//! Of the events with one id, the one that counts.

use super::events::latest;
use super::order::texts;
use super::stored::StoredEvents;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;

/// Stored events without those that a later row replaces: of the rows with one account and `eventId`, the last stays. Rows without
/// an `eventId` all stay. The order stays.
///
/// # Errors
/// The batch is not in stored form, or is too large.
pub fn keep_latest(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let events = StoredEvents::of(batch)?;
    match latest(&texts(events.account), &texts(events.event_id))? {
        Some(kept) => filter_record_batch(batch, &BooleanArray::from(kept)),
        None => Ok(batch.clone()),
    }
}

#[cfg(test)]
mod tests;
