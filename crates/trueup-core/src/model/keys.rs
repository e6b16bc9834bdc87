//! Columns of account keys and ids.

use super::fault::{Reason, RowFaults};
use super::render::Cells;
use arrow_array::{Array, StringArray};
use arrow_schema::ArrowError;

/// Ids, which may not be empty. Rows that are refused are null, and in `faults`.
pub(super) fn read_ids(cells: &Cells<'_>, faults: &mut RowFaults) -> Result<StringArray, ArrowError> {
    let ids = cells.texts(faults)?;
    if ids.null_count() > 0 {
        for row in (0..ids.len()).filter(|row| ids.is_null(*row)) {
            faults.add(row, cells.column, "", Reason::Empty);
        }
    }
    Ok(ids)
}

/// Account keys, which may not be empty nor hold the characters that separate keys in lists and paths.
pub(super) fn read_accounts(cells: &Cells<'_>, faults: &mut RowFaults) -> Result<StringArray, ArrowError> {
    let keys = read_ids(cells, faults)?;
    for (row, key) in keys.iter().enumerate() {
        if let Some(key) = key.filter(|key| key.contains([',', '/'])) {
            faults.add(row, cells.column, key, Reason::AccountKey);
        }
    }
    Ok(keys)
}
