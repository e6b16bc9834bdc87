//! Checks decoded rows against the limit of texts and the rules of their table. The cells of faulty rows are kept for
//! the rejects file.

use crate::IngestError;
use crate::amounts::RowAmounts;
use crate::error::{ErrorContext, InputLocation, RowCells, RowFault, Rule};
use crate::source::{DecodedBatch, RowLocations};
use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::filter_record_batch;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_core::model::CellFault;

/// The action of checking rows, which no input can make fail.
pub(crate) const CHECK: &str = "check the rows";

/// Checks the rows of a batch. A text of more than `longest` bytes is a fault of its row; `rules` checks the other
/// rows, and returns the sound ones in the form of their table together with the faults of the others.
pub(crate) fn check_rows<T>(
    decoded: DecodedBatch,
    table: Table,
    longest: usize,
    rules: impl FnOnce(&RecordBatch) -> Result<(T, Vec<CellFault>), IngestError>,
) -> Result<(T, BatchFaults), IngestError> {
    let long = find_long_texts(&decoded.batch, longest);
    let (checked, faults) = if long.is_empty() {
        rules(&decoded.batch)?
    } else {
        let (rest, rows) = without_rows(&decoded.batch, &long).doing(CHECK)?;
        let (checked, mut faults) = rules(&rest)?;
        faults.iter_mut().for_each(|fault| fault.row = rows[fault.row]);
        (checked, faults)
    };
    Ok((checked, BatchFaults::new(decoded, table, long, faults, longest)))
}

/// A text that is longer than allowed.
#[derive(Clone, Copy, Debug)]
struct LongText {
    /// The row in its batch.
    row: usize,
    /// The index of its column.
    column: usize,
    bytes: usize,
}

/// Returns the first text of more than `longest` bytes of each row that has one.
fn find_long_texts(batch: &RecordBatch, longest: usize) -> Vec<LongText> {
    let mut found = BTreeMap::new();
    for (column, texts) in batch.columns().iter().enumerate() {
        for (row, bytes) in long_rows(texts, longest) {
            found.entry(row).or_insert(LongText { row, column, bytes });
        }
    }
    found.into_values().collect()
}

/// Returns the batch without the rows of some texts, and the original number of each remaining row.
fn without_rows(batch: &RecordBatch, texts: &[LongText]) -> Result<(RecordBatch, Vec<usize>), ArrowError> {
    let mut kept = vec![true; batch.num_rows()];
    for text in texts {
        kept[text.row] = false;
    }
    let rows = (0..kept.len()).filter(|row| kept[*row]).collect();
    Ok((filter_record_batch(batch, &BooleanArray::from(kept))?, rows))
}

/// Returns the rows of a column whose text has more than `longest` bytes, each with the number of bytes.
fn long_rows(column: &dyn Array, longest: usize) -> Vec<(usize, usize)> {
    let mut found = match column.data_type() {
        DataType::Utf8 => long_offsets(column.as_string::<i32>().value_offsets(), longest),
        DataType::LargeUtf8 => long_offsets(column.as_string::<i64>().value_offsets(), longest),
        DataType::Utf8View => {
            let lengths = column.as_string_view().lengths().enumerate();
            lengths.map(|(row, length)| (row, length as usize)).filter(|(_, length)| *length > longest).collect()
        }
        DataType::Dictionary(..) => {
            let coded = column.as_any_dictionary();
            let texts: BTreeMap<usize, usize> = long_rows(coded.values(), longest).into_iter().collect();
            if texts.is_empty() {
                return Vec::new();
            }
            let keys = coded.normalized_keys().into_iter().enumerate();
            keys.filter_map(|(row, key)| Some((row, *texts.get(&key)?))).collect()
        }
        _ => Vec::new(),
    };
    // The place of a null may have bytes, too.
    found.retain(|(row, _)| column.is_valid(*row));
    found
}

fn long_offsets<O: OffsetSizeTrait>(offsets: &[O], longest: usize) -> Vec<(usize, usize)> {
    let bytes = |ends: &[O]| (ends[1] - ends[0]).as_usize();
    // Usually even all texts together are shorter.
    if offsets.first().zip(offsets.last()).is_none_or(|(first, last)| (*last - *first).as_usize() <= longest) {
        return Vec::new();
    }
    offsets.windows(2).map(bytes).enumerate().filter(|(_, length)| *length > longest).collect()
}

/// The faulty rows of a batch: usually few, possibly all. Their cells become text one row at a time, because text takes
/// far more memory than the batch.
pub(crate) struct BatchFaults {
    /// The batch, if a row of it is faulty.
    batch: Option<RecordBatch>,
    table: Table,
    locations: RowLocations,
    /// The most bytes of a text that is shown in full.
    longest: usize,
    /// Records that could not become rows of the batch.
    malformed: Vec<RowFault>,
    /// What is wrong with rows of the batch, in their order.
    rows: Vec<PendingFault>,
}

/// Bytes that the fault of a rule takes: the name of its column, and the value, which is shortened if it is long.
const FAULT_BYTES: usize = 256;

impl BatchFaults {
    fn new(decoded: DecodedBatch, table: Table, long: Vec<LongText>, faults: Vec<CellFault>, longest: usize) -> Self {
        let long = long.into_iter().map(PendingFault::Long);
        let mut rows: Vec<PendingFault> = long.chain(faults.into_iter().map(PendingFault::Rule)).collect();
        rows.sort_by_key(PendingFault::row);
        let DecodedBatch { batch, locations, malformed, .. } = decoded;
        Self { batch: (!rows.is_empty()).then_some(batch), table, locations, longest, malformed, rows }
    }

    /// Returns the bytes of memory that the faults take, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let batch = self.batch.as_ref().map_or(0, RecordBatch::get_array_memory_size);
        let malformed: usize = self.malformed.iter().map(RowFault::bytes).sum();
        batch + malformed + self.rows.len() * FAULT_BYTES
    }

    /// Passes the faults on in file order.
    pub(crate) fn each(self, mut take: impl FnMut(RowFault) -> Result<(), IngestError>) -> Result<(), IngestError> {
        let Self { batch, table, locations, longest, malformed, rows } = self;
        let mut malformed = malformed.into_iter().peekable();
        if let Some(batch) = batch {
            let batch = Arc::new(batch);
            let amounts = RowAmounts::read(&batch, table);
            for row in rows {
                let location = locations.of(row.row());
                while let Some(fault) = malformed.next_if(|fault| fault.location.is_before(location)) {
                    take(fault)?;
                }
                let cells = RowCells::of_batch(&batch, row.row(), longest);
                let totals = Some(amounts.of(row.row()));
                take(RowFault { totals, ..row.into_fault(location, cells, longest).doing("show a row")? })?;
            }
        }
        malformed.try_for_each(take)
    }
}

/// What is wrong with a row of a batch, before the cells of the row become text.
enum PendingFault {
    Rule(CellFault),
    Long(LongText),
}

impl PendingFault {
    fn row(&self) -> usize {
        match self {
            Self::Rule(fault) => fault.row,
            Self::Long(text) => text.row,
        }
    }

    fn into_fault(self, location: InputLocation, cells: RowCells, longest: usize) -> Result<RowFault, ArrowError> {
        let (column, value, rule, found) = match self {
            Self::Rule(fault) => {
                let found = fault.found();
                (Some(fault.column), Some(fault.value), Rule::Value(fault.reason), found)
            }
            Self::Long(text) => {
                let (column, value) = cells.texts()?.get(text.column).cloned().unzip();
                let bytes = text.bytes;
                let found = format!(", but found one of {bytes}; `--max-text` raises the limit");
                (column, value.flatten(), Rule::TextLength(longest), found)
            }
        };
        Ok(RowFault { location, column, value, rule, found, cells, joined: None, totals: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, LargeStringArray, StringArray, StringViewArray};
    use arrow_select::nullif::nullif;

    #[test]
    fn a_null_is_not_too_long() {
        let long = "n".repeat(1_001);
        let texts = vec![long.as_str(), "short", long.as_str()];
        let columns: [ArrayRef; 4] = [
            Arc::new(StringArray::from(texts.clone())),
            Arc::new(LargeStringArray::from(texts.clone())),
            Arc::new(StringViewArray::from(texts.clone())),
            Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>()),
        ];
        for column in columns {
            assert_eq!(long_rows(&column, 1_000), [(0, 1_001), (2, 1_001)], "{}", column.data_type());
            // The bytes of the first text stay.
            let column = nullif(&column, &BooleanArray::from(vec![true, false, false])).unwrap();
            assert_eq!(long_rows(&column, 1_000), [(2, 1_001)], "{}", column.data_type());
        }
    }
}
