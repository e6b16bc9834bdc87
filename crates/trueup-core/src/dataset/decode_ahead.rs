//! Decodes columns of new row groups when a dataset is reopened, so that the first query after an update need not
//! decode them: the columns that are in memory for other row groups.

use super::row_group::RowGroup;
use crate::scan::TableColumns;
use rayon::prelude::*;
use std::collections::HashSet;

/// At most one row is decoded for this many rows that are in memory. After a large update, queries decode what they
/// need.
const ROWS_PER_NEW: u64 = 8;

/// Decodes columns of the row groups that are new, which means that they share no decoded columns with `former`, the
/// row groups of the version before. A row group of a file that both versions have is new, too, if rows of it were
/// superseded since, and these are many or its columns are not in memory. Of a new row group that may share accounts
/// and days with a row group in memory, it decodes every column that any row group of `former` has in memory. Nothing
/// is read from an object store, where it would cost requests that may never be needed.
pub(super) fn decode_ahead<T: TableColumns>(row_groups: &[RowGroup<T>], former: &[RowGroup<T>]) {
    let keys: HashSet<usize> = former.iter().filter_map(RowGroup::key).collect();
    let is_new =
        |row_group: &&RowGroup<T>| !row_group.is_remote() && row_group.key().is_some_and(|key| !keys.contains(&key));
    let mut new: Vec<&RowGroup<T>> = row_groups.iter().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    let mut columns = T::Projection::default();
    let mut held = Vec::new();
    for (row_group, of_row_group) in former.iter().filter_map(|former| Some((former, former.held()?))) {
        of_row_group.add_decoded(&mut columns);
        held.push(row_group);
    }
    new.retain(|new| held.iter().any(|held| held.entry.may_overlap(&new.entry)));
    let rows = |row_groups: &[&RowGroup<T>]| row_groups.iter().map(|row_group| row_group.rows()).sum::<u64>();
    if rows(&new).saturating_mul(ROWS_PER_NEW) <= rows(&held) {
        new.into_par_iter().for_each(|new| new.decode_ahead(&columns));
    }
}
