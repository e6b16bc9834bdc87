//! The faulty rows of a piece, which are few commonly and may be all.

use crate::IngestError;
use crate::cells::RowRenderer;
use crate::error::ErrorContext;
use crate::long_texts::LongText;
use crate::place::{InputLocation, RowFault};
use crate::source::{DecodedBatch, RowLocations};
use arrow_array::RecordBatch;
use trueup_core::model::CellFault;

/// The faulty rows of a piece. Their cells are put into words one row after the other, since words take far more memory than cells.
pub(crate) struct RowFaults {
    batch: Option<RecordBatch>,
    places: RowLocations,
    /// The most bytes of a text that is shown as a whole.
    longest: usize,
    torn: Vec<RowFault>,
    /// Of rows of the batch.
    rows: Vec<FaultyRow>,
}

/// A row of the batch, and what is wrong with it.
enum FaultyRow {
    Rule(CellFault),
    Long(LongText),
}

impl RowFaults {
    /// The torn records of a piece, its texts that are too long, and the rows that break a rule of their table.
    pub(crate) fn new(piece: DecodedBatch, long: Vec<LongText>, rules: Vec<CellFault>, longest: usize) -> Self {
        let mut rows: Vec<FaultyRow> =
            long.into_iter().map(FaultyRow::Long).chain(rules.into_iter().map(FaultyRow::Rule)).collect();
        rows.sort_by_key(FaultyRow::row);
        let DecodedBatch { batch, places, torn, .. } = piece;
        Self { batch: Some(batch).filter(|_| !rows.is_empty()), places, longest, torn, rows }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let batch = self.batch.as_ref().map_or(0, RecordBatch::get_array_memory_size);
        let torn: usize = self.torn.iter().map(RowFault::bytes).sum();
        batch + torn + self.rows.len() * FAULT_BYTES
    }

    /// Hands the faults on in file order.
    pub(crate) fn each(self, mut take: impl FnMut(RowFault) -> Result<(), IngestError>) -> Result<(), IngestError> {
        let Self { batch, places, longest, torn, rows } = self;
        let mut torn = torn.into_iter().peekable();
        if let Some(batch) = batch {
            let cells = RowRenderer::new(&batch, longest);
            for faulty in rows {
                let place = places.of(faulty.row());
                while let Some(torn) = torn.next_if(|torn| torn.place.is_before(place)) {
                    take(torn)?;
                }
                let cells = cells.of(faulty.row()).doing("show a row")?;
                take(faulty.show(place, cells, longest))?;
            }
        }
        torn.try_for_each(take)
    }
}

/// Bytes that a fault of a rule takes: the name of its column and a value that is cut if it is long.
const FAULT_BYTES: usize = 256;

impl FaultyRow {
    fn row(&self) -> usize {
        match self {
            Self::Rule(fault) => fault.row,
            Self::Long(text) => text.row,
        }
    }

    fn show(self, place: InputLocation, cells: Vec<(String, Option<String>)>, longest: usize) -> RowFault {
        match self {
            Self::Rule(fault) => {
                let shown = fault.to_string();
                let reason = shown.strip_prefix(&format!("column `{}`: ", fault.column)).unwrap_or(&shown).to_owned();
                RowFault { place, column: Some(fault.column), value: Some(fault.value), reason, cells }
            }
            Self::Long(text) => {
                let (column, value) = cells.get(text.column).cloned().unzip();
                let bytes = text.bytes;
                let reason = format!(
                    "expected a text of at most {longest} bytes, but found one of {bytes}; `--max-text` raises the limit"
                );
                RowFault { place, column, value: value.flatten(), reason, cells }
            }
        }
    }
}
