//! Which stored rows of spend an ingest replaces: those of the accounts and days of its rows. They get a deletion
//! vector, and their files stay as they are. A file of which less than half would be left is written again as a whole.
//!
//! The lists of files say which accounts and days a row group may have. Of the row groups that may have replaced rows,
//! the accounts and days are read, and of all others nothing.

use super::account_days;
use super::new_days::ReplacedDays;
use super::stored_spend::StoredSpend;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::left_rows::{LeftCursor, Superseded, either};
use crate::monitor::Monitor;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{Days, DeletionVector};
use trueup_core::model::{ACCOUNT, DATE};

/// What an ingest does with the stored files.
#[derive(Default)]
pub(super) struct Replaced {
    /// The files that the next version has, too.
    pub(super) kept: Vec<DataFile>,
    /// The files whose remaining rows are all written again, each with the deletion vector of all its
    /// superseded rows.
    pub(super) rewritten: Vec<(DataFile, DeletionVector)>,
    /// The replaced rows of kept files, by the paths of the files.
    pub(super) vectors: BTreeMap<String, DeletionVector>,
    /// The number of replaced rows in all files.
    pub(super) rows: u64,
}

/// Finds the replaced rows of the stored files.
pub(super) fn find(
    files: &[DataFile],
    superseded: &Superseded,
    dir: &Path,
    days: &ReplacedDays,
    monitor: &Monitor,
) -> Result<Replaced, IngestError> {
    let of_file =
        |file: &DataFile| replaced_rows(file, superseded.get(&file.path).map(|vector| &**vector), dir, days, monitor);
    let vectors: Vec<DeletionVector> = files.par_iter().map(of_file).collect::<Result<_, _>>()?;
    let mut found = Replaced::default();
    for (file, vector) in files.iter().zip(vectors) {
        found.rows += vector.rows();
        let mut all = superseded.get(&file.path).map(|vector| (**vector).clone()).unwrap_or_default();
        all.merge(&vector);
        if vector.rows() == 0 {
            found.kept.push(file.clone());
        } else if all.rows().saturating_mul(2) > file.rows {
            found.rewritten.push((file.clone(), all));
        } else {
            found.kept.push(file.clone());
            found.vectors.insert(file.path.clone(), vector);
        }
    }
    Ok(found)
}

/// Returns the rows of a file that are replaced, and were not superseded before.
fn replaced_rows(
    file: &DataFile,
    superseded: Option<&DeletionVector>,
    dir: &Path,
    days: &ReplacedDays,
    monitor: &Monitor,
) -> Result<DeletionVector, IngestError> {
    let mut found = DeletionVector::default();
    let left = superseded.map(|vector| vector.left(file));
    let has_rows = |number: usize| left.as_ref().is_none_or(|left| left.get(number).is_some_and(|rows| *rows > 0));
    let entries = file.row_groups.iter().enumerate();
    let numbers: Vec<usize> = entries
        .filter(|(number, entry)| has_rows(*number) && days.may_replace(entry))
        .map(|(number, _)| number)
        .collect();
    if numbers.is_empty() {
        return Ok(found);
    }
    let opened = StoredSpend::open(dir, file, monitor)?;
    let scan = |number: &usize| {
        monitor.check()?;
        let left = superseded.and_then(|vector| vector.left_ranges(&file.row_groups, *number));
        let mut scan = RowGroupScan::new(days, left);
        for batch in opened.read(*number, &[ACCOUNT, DATE])? {
            scan.add(&batch).doing("read stored spend")?;
        }
        Ok((*number, scan))
    };
    let scans: Vec<(usize, RowGroupScan<'_>)> = numbers.par_iter().map(scan).collect::<Result<_, IngestError>>()?;
    for (number, scan) in scans {
        if !scan.replaced.is_empty() {
            found.supersede(file, number, scan.replaced, scan.left_days);
        }
    }
    Ok(found)
}

/// The rows of a row group, while they are read.
struct RowGroupScan<'a> {
    days: &'a ReplacedDays,
    /// The rows that the file has left.
    left: LeftCursor,
    /// The account of the last row, and the days of it that are replaced.
    account: Option<(String, &'a [i32])>,
    /// The number of rows read.
    rows: usize,
    /// The rows that are left and replaced: ascending, and neither empty nor adjacent.
    replaced: Vec<Range<u64>>,
    /// The days of the rows that are left and not replaced.
    left_days: Days,
}

impl<'a> RowGroupScan<'a> {
    fn new(days: &'a ReplacedDays, left: Option<Vec<Range<usize>>>) -> Self {
        Self { days, left: LeftCursor::new(left), account: None, rows: 0, replaced: Vec::new(), left_days: None }
    }

    /// Adds the next rows.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        for (account, day) in account_days(batch)? {
            let row = self.rows;
            self.rows += 1;
            if !self.left.has(row) {
                continue;
            }
            let days = match &self.account {
                Some((last, days)) if last == account => days,
                _ => {
                    let days = self.days.of(account);
                    self.account = Some((account.to_owned(), days));
                    days
                }
            };
            if days.binary_search(&day).is_err() {
                self.left_days = either(self.left_days, Some((day, day)));
                continue;
            }
            let row = row as u64;
            match self.replaced.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => self.replaced.push(row..row + 1),
            }
        }
        Ok(())
    }
}
