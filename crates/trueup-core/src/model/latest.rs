//! Of the events with one id, the one that counts.

use super::grouping::Grouping;
use super::normalize::too_many_rows;
use super::stored::StoredEvents;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Stored events without those that a later row replaces: of the rows with one account and `eventId`, the last stays. Rows without
/// an `eventId` all stay. The order stays.
///
/// # Errors
/// The batch is not in stored form, or is too large.
pub fn keep_latest(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let events = StoredEvents::of(batch)?;
    let len = u32::try_from(batch.num_rows()).map_err(|_| too_many_rows(batch.num_rows()))?;
    let (accounts, ids) = (events.account, events.event_id);
    if ids.null_count() == ids.len() {
        return Ok(batch.clone());
    }
    let hasher = DefaultHashBuilder::default();
    // A row without an id has a key of its own: its number.
    let groups = Grouping::of(
        len,
        |row| match ids.is_valid(row) {
            true => hasher.hash_one((accounts.value(row), ids.value(row))),
            false => hasher.hash_one(row),
        },
        |one, other| {
            one == other
                || (ids.is_valid(one)
                    && ids.is_valid(other)
                    && ids.value(one) == ids.value(other)
                    && accounts.value(one) == accounts.value(other))
        },
    );
    if groups.first_row.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    let mut last_row = groups.first_row;
    for (row, group) in (0_u32..).zip(&groups.of_row) {
        last_row[*group as usize] = row;
    }
    let mut kept = vec![false; batch.num_rows()];
    for row in last_row {
        kept[row as usize] = true;
    }
    filter_record_batch(batch, &BooleanArray::from(kept))
}

#[cfg(test)]
mod tests;
