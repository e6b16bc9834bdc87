//! Columns of account keys and ids.

use super::fault::{Reason, RowFaults};
use super::render::PlainColumn;
use arrow_array::iterator::ArrayIter;
use arrow_array::{Array, ArrayAccessor, StringArray};
use arrow_schema::ArrowError;

/// Ids, which may not be empty. Rows that are refused are null, and in `faults`.
pub(super) fn read_ids(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<StringArray, ArrowError> {
    let ids = cells.texts(faults)?;
    refuse_empty(&ids, cells.column, faults);
    Ok(ids)
}

/// Account keys, which may not be empty nor hold the characters that separate keys in lists and paths.
pub(super) fn read_accounts(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<StringArray, ArrowError> {
    let keys = read_ids(cells, faults)?;
    check_accounts(&keys, cells.column, faults);
    Ok(keys)
}

/// Refuses the rows without a text.
pub(super) fn refuse_empty(ids: &dyn Array, column: &str, faults: &mut RowFaults) {
    if ids.null_count() > 0 {
        for row in (0..ids.len()).filter(|row| ids.is_null(*row)) {
            faults.add(row, column, "", Reason::Empty);
        }
    }
}

/// Refuses account keys that hold the characters that separate keys in lists and paths.
pub(super) fn check_accounts<'a>(keys: impl ArrayAccessor<Item = &'a str>, column: &str, faults: &mut RowFaults) {
    for (row, key) in ArrayIter::new(keys).enumerate() {
        if let Some(key) = key.filter(|key| !is_sound(key)) {
            faults.add(row, column, key, Reason::AccountKey);
        }
    }
}

/// Whether an account key holds none of those characters.
pub(super) fn is_sound(key: &str) -> bool {
    !key.bytes().any(|byte| matches!(byte, b',' | b'/'))
}
