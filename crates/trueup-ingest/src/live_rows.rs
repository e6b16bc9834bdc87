//! The rows that the stored files of a dataset have left, where deletion vectors leave out others.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{DatasetError, Days, DeletionVector, EventRowGroup};

/// The superseded rows of each file that has some, by its path.
pub(crate) type Superseded = BTreeMap<String, Arc<DeletionVector>>;

/// Returns the number of rows that some files have left.
pub(crate) fn count_left(files: &[DataFile], superseded: &Superseded) -> u64 {
    let left = |file: &DataFile| file.rows - superseded.get(&file.path).map_or(0, |vector| vector.rows());
    files.iter().map(left).sum()
}

/// Returns the rows, of some consecutive rows of a row group, that the file has left; `first` is the number of the
/// first of the consecutive rows in the row group.
pub(crate) fn only_left(
    batch: RecordBatch,
    (file, row_group, first): (&DataFile, usize, usize),
    superseded: &Superseded,
) -> Result<RecordBatch, ArrowError> {
    let ranges = superseded.get(&file.path).and_then(|vector| vector.left_ranges(&file.row_groups, row_group));
    let Some(ranges) = ranges else { return Ok(batch) };
    only_rows(&batch, first, &ranges)
}

/// Returns the rows, of some consecutive rows of a row group, that are in some ranges, which are ascending; `first` is
/// the number of the first of the consecutive rows in the row group.
pub(crate) fn only_rows(batch: &RecordBatch, first: usize, ranges: &[Range<usize>]) -> Result<RecordBatch, ArrowError> {
    let mut ranges = ranges.iter().peekable();
    let is_in = (first..first + batch.num_rows()).map(|row| {
        while ranges.next_if(|range| range.end <= row).is_some() {}
        Some(ranges.peek().is_some_and(|range| range.start <= row))
    });
    filter_record_batch(batch, &is_in.collect::<BooleanArray>())
}

/// Returns the first and last day of two sets of rows together, given the days of each.
pub(crate) fn either(one: Days, other: Days) -> Days {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Says, for each row of a row group in ascending order, whether the file has the row left.
pub(crate) struct LeftCursor {
    /// The ranges after `next`; `None` if all rows are left.
    ranges: Option<std::vec::IntoIter<Range<usize>>>,
    next: Range<usize>,
}

impl LeftCursor {
    /// Begins with the ranges of the rows that are left, ascending; `None` if all are.
    pub(crate) fn new(ranges: Option<Vec<Range<usize>>>) -> Self {
        Self { ranges: ranges.map(Vec::into_iter), next: 0..0 }
    }

    /// Returns whether a row is left. The row must not be before that of the last call.
    pub(crate) fn has(&mut self, row: usize) -> bool {
        let Some(ranges) = &mut self.ranges else { return true };
        while self.next.end <= row {
            let Some(next) = ranges.next() else { return false };
            self.next = next;
        }
        self.next.start <= row
    }
}

/// The rows that a row group of a file has left.
pub(crate) struct LeftInRowGroup {
    /// Ascending; `None` if all rows are left.
    ranges: Option<Vec<Range<usize>>>,
    /// The number of all rows, left or not.
    rows: usize,
    /// The days of the rows that are left.
    days: Days,
}

impl LeftInRowGroup {
    pub(crate) fn new(file: &DataFile, row_group: usize, superseded: &Superseded) -> Self {
        let entry = &file.row_groups[row_group];
        let vector = superseded.get(&file.path);
        Self {
            ranges: vector.and_then(|vector| vector.left_ranges(&file.row_groups, row_group)),
            rows: usize::try_from(entry.rows).unwrap_or(usize::MAX),
            days: vector.map_or(entry.days, |vector| vector.left_entry(&file.row_groups, row_group).days),
        }
    }

    pub(crate) fn cursor(&self) -> LeftCursor {
        LeftCursor::new(self.ranges.clone())
    }

    /// Returns the days of the rows that are left without some of them, given by ascending ranges.
    pub(crate) fn days_without(
        self,
        without: &[Range<usize>],
        row_group: &EventRowGroup<'_>,
    ) -> Result<Days, DatasetError> {
        let Self { ranges, rows, days } = self;
        let ranges = ranges.unwrap_or_else(|| std::iter::once(0..rows).collect());
        row_group.days(&ranges_without(ranges, without), days)
    }
}

/// Returns some rows without others. All are ascending ranges.
fn ranges_without(ranges: Vec<Range<usize>>, without: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut without = without.iter().peekable();
    let mut others = Vec::new();
    for Range { mut start, end } in ranges {
        while let Some(rows) = without.next_if(|rows| rows.start < end) {
            others.push(start..rows.start);
            start = rows.end;
        }
        others.push(start..end);
    }
    others.retain(|rows| !rows.is_empty());
    others
}
