//! The faults of rows that a mapping cannot read, while a batch is mapped.

use super::cells::RowView;
use super::columns::ColumnRef;
use crate::error::{InputLocation, RowCells, RowFault, Rule};
use crate::source::{LocatedValue, RawRows, ReadLimits};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use trueup_core::dataset::ControlTotals;

/// What is wrong with a row, without the row.
#[derive(Clone, Debug)]
pub(super) struct FoundFault {
    /// The key of the mapping.
    key: String,
    /// The column of the input.
    column: String,
    /// The value; empty if there is none.
    pub(super) value: String,
    /// What was expected.
    pub(super) expected: String,
    /// The file and the location of the value, if it comes from a joined input.
    joined: Option<(PathBuf, InputLocation)>,
}

impl FoundFault {
    pub(super) fn new(key: &str, column: &str, expected: impl Into<String>) -> Self {
        let (key, column) = (key.to_owned(), column.to_owned());
        Self { key, column, value: String::new(), expected: expected.into(), joined: None }
    }

    /// Returns whether this fault of a row is reported rather than another fault of it. A fault with a value says more
    /// than one without; the order of keys and columns decides between others, so that the same fault is reported each
    /// time.
    fn is_before(&self, other: &Self) -> bool {
        let order = |fault: &Self| (fault.value.is_empty(), fault.key.clone(), fault.column.clone());
        order(self) < order(other)
    }

    /// Returns the value with its location; `location` is that of its row.
    pub(super) fn into_value(self, location: InputLocation) -> LocatedValue {
        let Self { column, value, joined, .. } = self;
        let (file, location) = joined.map_or((None, location), |(file, location)| (Some(file), location));
        LocatedValue { file, location, column, value }
    }

    fn into_row_fault(self, location: InputLocation, cells: RowCells) -> RowFault {
        let Self { key, column, value, expected, joined } = self;
        RowFault {
            location,
            column: Some(column),
            value: Some(value),
            rule: Rule::Mapping { key, expected },
            found: String::new(),
            cells,
            joined: joined.map(Box::new),
            totals: None,
        }
    }
}

/// Makes the faults of a batch, in its order, of faults with their rows in the batch. A row that is repeated with the
/// same fault is at fault once. `totals` has the amounts of faulty rows.
pub(super) fn row_faults(
    mut faults: Vec<(usize, FoundFault)>,
    totals: &HashMap<usize, ControlTotals>,
    raw: &RawRows,
    limits: ReadLimits,
) -> Vec<(usize, RowFault)> {
    faults.sort_by_key(|(row, _)| *row);
    let batch = Arc::new(raw.decoded.batch.clone());
    let mut made: Vec<(usize, RowFault)> = Vec::with_capacity(faults.len());
    for (row, fault) in faults {
        let cells = RowCells::of_batch(&batch, row, limits.max_text_bytes);
        let fault = fault.into_row_fault(raw.decoded.locations.in_file(row), cells);
        let fault = RowFault { totals: totals.get(&row).copied(), ..fault };
        let is_repeated = made.last().is_some_and(|(last, other)| *last == row && other.is_like(&fault));
        if !is_repeated {
            made.push((row, fault));
        }
    }
    made
}

/// What is wrong with picked rows.
#[derive(Default)]
pub(super) struct PickedFaults {
    /// For each row, the fault that is reported.
    rows: BTreeMap<usize, FoundFault>,
    pub(super) not_normal: NotNormalCells,
}

/// The values that stay as they are, because they are no phone numbers or addresses.
#[derive(Default)]
pub(super) struct NotNormalCells {
    pub(super) count: u64,
    /// The first ones of each column, with their rows. What is expected of them is left open.
    pub(super) first: Vec<(usize, FoundFault)>,
}

impl PickedFaults {
    pub(super) fn has(&self, row: usize) -> bool {
        self.rows.contains_key(&row)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn add(&mut self, row: usize, fault: FoundFault) {
        if self.rows.get(&row).is_none_or(|other| fault.is_before(other)) {
            self.rows.insert(row, fault);
        }
    }

    /// Numbers the rows again after the rows for which `kept` is false are left out. The rows that are left out have no
    /// faults.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        if self.rows.is_empty() {
            return;
        }
        let numbers = kept.iter().scan(0, |next, is_kept| {
            let number = *next;
            *next += usize::from(*is_kept);
            Some(number)
        });
        let numbers: Vec<usize> = numbers.collect();
        self.rows = std::mem::take(&mut self.rows).into_iter().map(|(row, fault)| (numbers[row], fault)).collect();
    }

    /// Returns the faults with their rows in the batch, given the row of each picked row there.
    pub(super) fn into_raw(self, from: &[u32]) -> impl Iterator<Item = (usize, FoundFault)> {
        self.rows.into_iter().map(|(row, fault)| (from[row] as usize, fault))
    }
}

/// Where the values of a canonical column come from, as its faults name it.
#[derive(Clone, Debug)]
pub(super) struct ColumnSite {
    /// The key of the mapping.
    pub(super) key: String,
    /// The column of the input.
    pub(super) column: String,
    pub(super) at: ColumnRef,
}

impl ColumnSite {
    /// Makes the fault of a picked row.
    pub(super) fn fault(&self, view: &RowView<'_>, row: usize, value: String, expected: String) -> FoundFault {
        let joined = view.joined_location(self.at, row);
        FoundFault { value, joined, ..FoundFault::new(&self.key, &self.column, expected) }
    }
}
