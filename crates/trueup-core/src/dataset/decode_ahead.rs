//! What is decoded when a dataset is reopened, so that the first question after an update does not wait for it: of each
//! new row group the columns that are in memory of others with the same accounts and days.

use super::row_group::RowGroup;
use crate::scan::TableColumns;
use rayon::prelude::*;
use std::collections::HashSet;

/// At most one row is decoded for this many rows that are in memory. After a large update, queries decode what they
/// need.
const ROWS_PER_NEW: u64 = 8;

/// Decodes columns of the row groups of a version that `former`, the row groups of the version before, does not have.
/// None of an object store, where reading ahead would cost requests that may never be needed.
pub(super) fn decode_ahead<T: TableColumns>(row_groups: &[RowGroup<T>], former: &[RowGroup<T>]) {
    let keys: HashSet<usize> = former.iter().filter_map(RowGroup::key).collect();
    let held: Vec<_> = former.iter().filter_map(|former| Some((former, former.held()?))).collect();
    let is_new =
        |row_group: &&RowGroup<T>| !row_group.is_remote() && row_group.key().is_some_and(|key| !keys.contains(&key));
    let columns = |row_group: &RowGroup<T>| {
        let mut others = held.iter().filter(|(other, _)| other.entry.may_overlap(&row_group.entry)).peekable();
        others.peek()?;
        let mut projection = T::Projection::default();
        others.for_each(|(_, columns)| columns.add_decoded(&mut projection));
        Some(projection)
    };
    let new: Vec<_> = row_groups.iter().filter(is_new).filter_map(|new| Some((new, columns(new)?))).collect();
    let new_rows: u64 = new.iter().map(|(new, _)| new.rows()).sum();
    let held_rows: u64 = held.iter().map(|(held, _)| held.rows()).sum();
    if new_rows.saturating_mul(ROWS_PER_NEW) <= held_rows {
        new.into_par_iter().for_each(|(new, columns)| new.decode_ahead(&columns));
    }
}
