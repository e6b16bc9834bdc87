//! The row groups of a file that are being filled, one for each period of their customers.

use super::layout::FileLayout;
use super::row_group::{PendingRowGroup, RowGroupSlice};
use crate::events::budget::Size;
use crate::events::event_batch::EventBatch;
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_core::Day;
use trueup_core::model::QuarterSpan;

/// When open row groups use at most one in this many rows of a sorted batch, those rows are copied out and the batch is
/// freed.
const COPY_FRACTION: usize = 2;

/// The open row groups by period. Each gets its customers in the order of the dataset.
#[derive(Debug, Default)]
pub(super) struct OpenRowGroups(BTreeMap<QuarterSpan, OpenRowGroup>);

#[derive(Debug, Default)]
struct OpenRowGroup {
    group: PendingRowGroup,
    /// The account of the last customer.
    account: Option<u32>,
}

impl OpenRowGroups {
    /// Adds the next customer, whose rows have the numbers `order` and take `bytes` of memory. Returns the row group
    /// that ends before this customer, if one does.
    pub(super) fn push(
        &mut self,
        layout: FileLayout,
        rows: &Arc<EventBatch>,
        order: &[u32],
        bytes: usize,
    ) -> Option<PendingRowGroup> {
        let (first, last) = (*order.first()? as usize, *order.last()? as usize);
        let open = self.0.entry(QuarterSpan::of(day(rows, first), day(rows, last))).or_default();
        let account = Some(rows.accounts.value(first));
        let new_account = open.account != account;
        open.account = account;
        let filled = Size { rows: open.group.rows, bytes: open.group.bytes };
        let ended = layout.ends_group(filled, Size { rows: order.len(), bytes }, new_account);
        let ended = ended.then(|| std::mem::take(&mut open.group));
        open.group.push(rows, order, bytes);
        ended
    }

    /// Ends all row groups, and returns them in the order of their periods.
    pub(super) fn end(&mut self) -> impl Iterator<Item = PendingRowGroup> + use<> {
        std::mem::take(&mut self.0).into_values().map(|open| open.group)
    }

    /// Frees each sorted batch if the open row groups need few of its rows.
    pub(super) fn release_rows(&mut self) -> Result<(), ArrowError> {
        let mut by_batch: HashMap<*const EventBatch, Vec<&mut RowGroupSlice>> = HashMap::new();
        for slice in self.0.values_mut().flat_map(|open| &mut open.group.slices) {
            by_batch.entry(Arc::as_ptr(&slice.rows)).or_default().push(slice);
        }
        by_batch.into_values().collect::<Vec<_>>().into_par_iter().try_for_each(copy_if_few)
    }
}

/// Copies the rows that slices of one batch need, if they are few.
fn copy_if_few(mut slices: Vec<&mut RowGroupSlice>) -> Result<(), ArrowError> {
    let needed: Vec<u32> = slices.iter().flat_map(|slice| &slice.order).copied().collect();
    let batch = slices.first().map(|slice| &slice.rows);
    let Some(batch) = batch.filter(|batch| needed.len() * COPY_FRACTION <= batch.len()) else { return Ok(()) };
    let copy = Arc::new(batch.take(needed)?);
    let mut copied = 0..;
    for slice in &mut slices {
        slice.rows = copy.clone();
        slice.order.iter_mut().zip(&mut copied).for_each(|(row, copied)| *row = copied);
    }
    Ok(())
}

/// Returns the day of a row. Stored days are in range.
fn day(rows: &EventBatch, row: usize) -> Day {
    Day::from_number(u16::try_from(rows.dates.value(row)).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt8Array, UInt32Array};

    const LAYOUT: FileLayout =
        FileLayout { group_rows: 4, file_rows: 100, group_bytes: usize::MAX, open_bytes: usize::MAX };

    /// Makes rows from accounts and days. Day 0 is the first of January, and the ids of a row are its number.
    fn rows(rows: &[(u32, i32)]) -> Arc<EventBatch> {
        let ids = StringArray::from_iter_values((0..rows.len()).map(|row| row.to_string()));
        let none = TimestampMicrosecondArray::new_null(rows.len()).with_timezone("UTC");
        Arc::new(EventBatch {
            accounts: UInt32Array::from_iter_values(rows.iter().map(|(account, _)| *account)),
            opportunity_ids: ids.clone(),
            stages: UInt8Array::from(vec![0; rows.len()]),
            dates: Date32Array::from_iter_values(rows.iter().map(|(_, day)| *day)),
            date_times: none,
            event_ids: ids,
            totals: Int64Array::new_null(rows.len()),
            dimensions: Vec::new(),
        })
    }

    /// Returns the ids of a row group's rows.
    fn ids(group: &PendingRowGroup) -> Vec<String> {
        let of_slice = |slice: &RowGroupSlice| {
            let ids = &slice.rows.event_ids;
            slice.order.iter().map(|row| ids.value(*row as usize).to_owned()).collect::<Vec<_>>()
        };
        group.slices.iter().flat_map(of_slice).collect()
    }

    #[test]
    fn a_customer_goes_to_the_row_group_of_its_period() {
        let mut groups = OpenRowGroups::default();
        // Customers of the first quarter, of the second, from the first into the second, and over more than two.
        let rows = rows(&[(1, 0), (1, 100), (1, 80), (1, 100), (1, 0), (1, 300), (1, 20), (2, 20), (2, 120), (2, 0)]);
        for customer in [&[0][..], &[1], &[2, 3], &[4, 5], &[6], &[8]] {
            assert!(groups.push(LAYOUT, &rows, customer, 1).is_none());
        }
        // The row group of the first quarter ends, because it is half full and the account changes.
        assert_eq!(ids(&groups.push(LAYOUT, &rows, &[7], 1).unwrap()), ["0", "6"]);
        assert!(groups.push(LAYOUT, &rows, &[9], 1).is_none());
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [vec!["7", "9"], vec!["2", "3"], vec!["1", "8"], vec!["4", "5"]]);
        assert_eq!(groups.end().count(), 0);
    }

    #[test]
    fn a_batch_is_freed_when_few_of_its_rows_are_needed() {
        let mut groups = OpenRowGroups::default();
        let (few, many) = (rows(&[(1, 0), (1, 1), (1, 100), (1, 2), (1, 3)]), rows(&[(1, 100), (1, 4), (1, 3)]));
        assert!(groups.push(LAYOUT, &few, &[4], 1).is_none());
        assert!(groups.push(LAYOUT, &few, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[0], 1).is_none());
        let held = [Arc::downgrade(&few), Arc::downgrade(&many)];
        drop((few, many));
        assert!(held.iter().all(|rows| rows.upgrade().is_some()));
        groups.release_rows().unwrap();
        assert_eq!(held.map(|rows| rows.upgrade().is_some()), [false, true]);
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [["4", "2"], ["2", "0"]]);
    }
}
