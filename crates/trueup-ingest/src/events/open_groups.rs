//! The row groups of a file that are being filled: one for each period that a customer was met of.

use super::coded::Coded;
use super::layout::Layout;
use super::row_group::{Piece, RowGroup};
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_core::Day;
use trueup_core::model::QuarterSpan;

/// Sorted rows are let go, and those copied that row groups are still being filled with, once these are no more than one in so many.
const FEW: usize = 2;

/// Row groups by the period of their customers. Each takes its customers in the order of the dataset.
#[derive(Debug, Default)]
pub(super) struct OpenGroups(BTreeMap<QuarterSpan, Open>);

#[derive(Debug, Default)]
struct Open {
    group: RowGroup,
    /// The account of the last customer.
    account: Option<u32>,
}

impl OpenGroups {
    /// Adds the next customer, which has those of the rows, in that order; they take `bytes` of memory. Hands out the row group that
    /// ends before it, if one does.
    pub(super) fn push(&mut self, layout: Layout, rows: &Arc<Coded>, order: &[u32], bytes: usize) -> Option<RowGroup> {
        let (first, last) = (*order.first()? as usize, *order.last()? as usize);
        let open = self.0.entry(QuarterSpan::of(day(rows, first), day(rows, last))).or_default();
        let account = Some(rows.accounts.value(first));
        let new_account = open.account != account;
        open.account = account;
        let filled = (open.group.rows, open.group.bytes);
        let ended = layout.ends_group(filled, (order.len(), bytes), new_account);
        let ended = ended.then(|| std::mem::take(&mut open.group));
        open.group.push(rows, order, bytes);
        ended
    }

    /// Ends all, in the order of their periods.
    pub(super) fn end(&mut self) -> impl Iterator<Item = RowGroup> + use<> {
        std::mem::take(&mut self.0).into_values().map(|open| open.group)
    }

    /// Lets go of the sorted rows of which few are still needed.
    pub(super) fn let_go(&mut self) -> Result<(), ArrowError> {
        let mut by_rows: HashMap<*const Coded, Vec<&mut Piece>> = HashMap::new();
        for piece in self.0.values_mut().flat_map(|open| &mut open.group.pieces) {
            by_rows.entry(Arc::as_ptr(&piece.rows)).or_default().push(piece);
        }
        by_rows.into_values().collect::<Vec<_>>().into_par_iter().try_for_each(copy_if_few)
    }
}

/// Copies what pieces of the same rows need of them, if that is little.
fn copy_if_few(mut pieces: Vec<&mut Piece>) -> Result<(), ArrowError> {
    let needed: Vec<u32> = pieces.iter().flat_map(|piece| &piece.order).copied().collect();
    let Some(rows) = pieces.first().map(|piece| &piece.rows).filter(|rows| needed.len() * FEW <= rows.len()) else {
        return Ok(());
    };
    let copy = Arc::new(rows.take(needed)?);
    let mut copied = 0..;
    for piece in &mut pieces {
        piece.rows = copy.clone();
        piece.order.iter_mut().zip(&mut copied).for_each(|(row, place)| *row = place);
    }
    Ok(())
}

/// The day of a row; stored days are in range.
fn day(rows: &Coded, row: usize) -> Day {
    Day::from_number(u16::try_from(rows.dates.value(row)).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use arrow_array::{Date32Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt8Array, UInt32Array};

    const LAYOUT: Layout = Layout { group_rows: 4, file_rows: 100, group_bytes: usize::MAX, open_bytes: usize::MAX };

    /// Rows of accounts, on days counted from a first of January; the id of a row is its place.
    fn rows(rows: &[(u32, i32)]) -> Arc<Coded> {
        let ids = StringArray::from_iter_values((0..rows.len()).map(|row| row.to_string()));
        let none = TimestampMicrosecondArray::new_null(rows.len()).with_timezone("UTC");
        Arc::new(Coded {
            accounts: UInt32Array::from_iter_values(rows.iter().map(|(account, _)| *account)),
            opportunity_ids: ids.clone(),
            stages: UInt8Array::from(vec![0; rows.len()]),
            dates: Date32Array::from_iter_values(rows.iter().map(|(_, day)| *day)),
            date_times: none,
            event_ids: ids,
            totals: Int64Array::new_null(rows.len()),
            extra: Vec::new(),
        })
    }

    /// The ids of a row group's rows.
    fn ids(group: &RowGroup) -> Vec<String> {
        let of_piece = |piece: &Piece| {
            let ids = &piece.rows.event_ids;
            piece.order.iter().map(|row| ids.value(*row as usize).to_owned()).collect::<Vec<_>>()
        };
        group.pieces.iter().flat_map(of_piece).collect()
    }

    #[test]
    fn customers_go_to_the_row_group_of_their_period() {
        let mut groups = OpenGroups::default();
        // Of the first quarter, the second, from the first into the second, and beyond.
        let rows = rows(&[(1, 0), (1, 100), (1, 80), (1, 100), (1, 0), (1, 300), (1, 20), (2, 20), (2, 120), (2, 0)]);
        for customer in [&[0][..], &[1], &[2, 3], &[4, 5], &[6], &[8]] {
            assert!(groups.push(LAYOUT, &rows, customer, 1).is_none());
        }
        // That of the first quarter is half full, and the account another.
        assert_eq!(ids(&groups.push(LAYOUT, &rows, &[7], 1).unwrap()), ["0", "6"]);
        assert!(groups.push(LAYOUT, &rows, &[9], 1).is_none());
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [vec!["7", "9"], vec!["2", "3"], vec!["1", "8"], vec!["4", "5"]]);
        assert_eq!(groups.end().count(), 0);
    }

    #[test]
    fn rows_are_let_go_when_few_of_them_are_needed() {
        let mut groups = OpenGroups::default();
        let (few, many) = (rows(&[(1, 0), (1, 1), (1, 100), (1, 2), (1, 3)]), rows(&[(1, 100), (1, 4), (1, 3)]));
        assert!(groups.push(LAYOUT, &few, &[4], 1).is_none());
        assert!(groups.push(LAYOUT, &few, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[0], 1).is_none());
        let held = [Arc::downgrade(&few), Arc::downgrade(&many)];
        drop((few, many));
        assert!(held.iter().all(|rows| rows.upgrade().is_some()));
        groups.let_go().unwrap();
        assert_eq!(held.map(|rows| rows.upgrade().is_some()), [false, true]);
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [["4", "2"], ["2", "0"]]);
    }
}
