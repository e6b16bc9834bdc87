//! Values that the mapping cannot take, noted while polars runs.

use super::error::{CellFault, MappingError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of a row's number in its place; the file's number stands above them.
const ROW_BITS: u32 = 40;

/// Where a row comes from: its file's number and its own, from 1.
pub(super) const fn place(file: u32, row: u64) -> u64 {
    ((file as u64) << ROW_BITS) | row
}

/// The first fault of a run: polars works on many rows at once, so all are looked at and the foremost is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstFault(Arc<Mutex<Option<FoundFault>>>);

/// A value that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundFault {
    place: u64,
    /// A value that could not be read leaves none behind, and that may be a fault too: the value is what is told.
    empty: bool,
    key: String,
    column: String,
    value: String,
    reason: String,
}

impl FirstFault {
    /// The row fault found so far, if there is one. The files are those that [`place`] numbers.
    pub(super) fn check(&self, files: &[PathBuf]) -> Result<(), MappingError> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(fault) = found else { return Ok(()) };
        let file = usize::try_from(fault.place >> ROW_BITS).ok().and_then(|at| files.get(at));
        Err(MappingError::Cell(Box::new(CellFault {
            path: file.cloned().unwrap_or_default(),
            row: fault.place & ((1 << ROW_BITS) - 1),
            column: fault.column,
            value: fault.value,
            reason: fault.reason,
            key: fault.key,
        })))
    }
}

/// A column of the mapping that is read row by row.
#[derive(Clone, Debug)]
pub(super) struct CellSite {
    pub(super) faults: FirstFault,
    /// The key of the mapping.
    pub(super) key: String,
    /// The column of the input.
    pub(super) column: String,
}

impl CellSite {
    /// Notes a fault, unless one of an earlier row is noted.
    pub(super) fn refuse(&self, place: u64, value: String, reason: String) {
        let fault = FoundFault {
            place,
            empty: value.is_empty(),
            key: self.key.clone(),
            column: self.column.clone(),
            value,
            reason,
        };
        let mut first = self.faults.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|first| fault < *first) {
            *first = Some(fault);
        }
    }
}
