//! Texts that are longer than a text may be.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter_record_batch;
use std::collections::BTreeMap;

/// A text that is longer than a text may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongText {
    /// The row in its batch.
    pub(crate) row: usize,
    /// The place of its column.
    pub(crate) column: usize,
    pub(crate) bytes: usize,
}

/// By row, the first text of more than `longest` bytes in each row that has one.
pub(crate) fn find(batch: &RecordBatch, longest: usize) -> Vec<LongText> {
    let mut found = BTreeMap::new();
    for (column, texts) in batch.columns().iter().enumerate() {
        for (row, bytes) in longer(texts, longest) {
            found.entry(row).or_insert(LongText { row, column, bytes });
        }
    }
    found.into_values().collect()
}

/// The batch without the rows of some texts, and for each row its place in the batch given.
pub(crate) fn leave_out(batch: &RecordBatch, texts: &[LongText]) -> Result<(RecordBatch, Vec<usize>), ArrowError> {
    let mut kept = vec![true; batch.num_rows()];
    for text in texts {
        kept[text.row] = false;
    }
    let rows = (0..kept.len()).filter(|row| kept[*row]).collect();
    Ok((filter_record_batch(batch, &BooleanArray::from(kept))?, rows))
}

/// The rows of a column that have more than `longest` bytes of text, and how many.
fn longer(column: &dyn Array, longest: usize) -> Vec<(usize, usize)> {
    match column.data_type() {
        DataType::Utf8 => of_offsets(column.as_string::<i32>().value_offsets(), longest),
        DataType::LargeUtf8 => of_offsets(column.as_string::<i64>().value_offsets(), longest),
        DataType::Utf8View => {
            let lengths = column.as_string_view().lengths().enumerate();
            lengths.map(|(row, length)| (row, length as usize)).filter(|(_, length)| *length > longest).collect()
        }
        DataType::Dictionary(..) => {
            let coded = column.as_any_dictionary();
            let texts: BTreeMap<usize, usize> = longer(coded.values(), longest).into_iter().collect();
            if texts.is_empty() {
                return Vec::new();
            }
            let keys = coded.normalized_keys().into_iter().enumerate().filter(|(row, _)| column.is_valid(*row));
            keys.filter_map(|(row, key)| Some((row, *texts.get(&key)?))).collect()
        }
        _ => Vec::new(),
    }
}

fn of_offsets<O: OffsetSizeTrait>(offsets: &[O], longest: usize) -> Vec<(usize, usize)> {
    let bytes = |ends: &[O]| (ends[1] - ends[0]).as_usize();
    // Commonly all texts together are no longer.
    if offsets.first().zip(offsets.last()).is_none_or(|(first, last)| (*last - *first).as_usize() <= longest) {
        return Vec::new();
    }
    offsets.windows(2).map(bytes).enumerate().filter(|(_, length)| *length > longest).collect()
}
