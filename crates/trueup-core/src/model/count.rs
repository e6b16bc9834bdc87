//! Columns of whole numbers, such as clicks.

use super::fault::{Reason, RowFaults};
use super::render::PlainColumn;
use arrow_array::Int64Array;
use arrow_schema::ArrowError;

/// Whole numbers from 0 to the largest of 64 bits; null and the empty text are null. Rows that are refused are null too, and in `faults`.
pub(super) fn read_counts(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<Int64Array, ArrowError> {
    // A float without a fraction, and a decimal too, has the text of an integer.
    let texts = cells.texts(faults)?;
    let read = |(row, text): (usize, Option<&str>)| {
        let count = whole(text?);
        if count.is_none() {
            faults.add(row, cells.column, text.unwrap_or_default(), Reason::Count);
        }
        count
    };
    Ok(texts.iter().enumerate().map(read).collect())
}

fn whole(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}
