//! Headers over several rows of a sheet: a merged cell names every column that it spans, and what a column has in these
//! rows is joined with a blank.

use super::SheetCell;
use crate::error::FileFault;
use crate::source::header::{FileHead, HeadLine, HeaderRow};
use calamine::Dimensions;
use std::collections::BTreeMap;

/// The most rows of a header.
const MAX_HEADER_ROWS: u64 = 8;

/// The columns that a sheet can have. A damaged file may name others.
const MAX_COLUMNS: u32 = 16_384;

/// A row of a sheet before its header is known: its number, counted from 1, and its cells, each with its column.
pub(super) type HeadRow = (u64, Vec<(u32, SheetCell)>);

/// The merged cells of a sheet.
#[derive(Default)]
pub(super) struct MergedCells(Vec<MergedCell>);

/// A merged cell: its first and last row, counted from 1, and its first and last column, counted from 0.
struct MergedCell {
    rows: (u64, u64),
    columns: (u32, u32),
}

/// A header over one or more rows.
pub(super) struct MergedHeader {
    /// The place of its first row among the rows.
    pub(super) at: usize,
    /// How many of the rows it has.
    pub(super) rows: usize,
    /// The name of each column, with the column.
    pub(super) cells: Vec<(u32, SheetCell)>,
    pub(super) found: FileHead,
}

impl MergedCells {
    pub(super) fn new(cells: &[Dimensions]) -> Self {
        let merged = |cell: &Dimensions| MergedCell {
            rows: (u64::from(cell.start.0) + 1, u64::from(cell.end.0) + 1),
            columns: (cell.start.1, cell.end.1.min(MAX_COLUMNS - 1)),
        };
        Self(cells.iter().map(merged).collect())
    }

    /// Returns whether a cell of the first rows is merged.
    pub(super) fn concern(&self, rows: &[HeadRow]) -> bool {
        let numbers = |cell: &&MergedCell| rows.iter().any(|(number, _)| (cell.rows.0..=cell.rows.1).contains(number));
        self.0.iter().any(|cell| numbers(&cell))
    }

    /// Returns the last row of a header that begins with a row: a cell that spans rows belongs to one header, and below
    /// a cell that spans columns, each of them has a name of its own.
    pub(super) fn last_row(&self, first: u64) -> u64 {
        let (mut row, mut last) = (first, first);
        while row <= last && row < first + MAX_HEADER_ROWS {
            for cell in self.0.iter().filter(|cell| cell.rows.0 == row) {
                let below = cell.rows.1 + u64::from(cell.columns.0 < cell.columns.1);
                last = last.max(below.min(first + MAX_HEADER_ROWS - 1));
            }
            row += 1;
        }
        last
    }

    /// Returns the names of the columns of a header that begins with the first of some rows.
    fn names(&self, rows: &[HeadRow]) -> (usize, BTreeMap<u32, String>) {
        let Some((first, _)) = rows.first() else { return (0, BTreeMap::new()) };
        let last = self.last_row(*first);
        let of_header: Vec<&HeadRow> = rows.iter().take_while(|(number, _)| *number <= last).collect();
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        for (number, cells) in &of_header {
            for (column, cell) in cells {
                let at = |merged: &&MergedCell| merged.rows.0 == *number && merged.columns.0 == *column;
                let until = self.0.iter().find(at).map_or(*column, |merged| merged.columns.1);
                for column in *column..=until {
                    let name = names.entry(column).or_default();
                    if !name.is_empty() && !cell.is_blank() {
                        name.push(' ');
                    }
                    name.push_str(cell.text().trim());
                }
            }
        }
        (of_header.len(), names)
    }

    /// Finds the header among the first rows of a sheet.
    pub(super) fn find(&self, rows: &[HeadRow], rule: Option<&HeaderRow>) -> Result<MergedHeader, FileFault> {
        let headers: Vec<(usize, BTreeMap<u32, String>)> = (0..rows.len()).map(|at| self.names(&rows[at..])).collect();
        let line = |(at, (_, names)): (usize, &(usize, BTreeMap<u32, String>))| HeadLine {
            number: rows[at].0,
            cells: names.values().cloned().collect(),
        };
        let lines: Vec<HeadLine> = headers.iter().enumerate().map(line).collect();
        let (at, found) = match rule {
            Some(rule) => rule.find(&lines)?,
            None => (0, FileHead::default()),
        };
        let (rows, names) = headers.into_iter().nth(at).unwrap_or_default();
        let cells = names.into_iter().map(|(column, name)| (column, SheetCell::Text(name))).collect();
        // A line that is wider is part of this header, or not one.
        Ok(MergedHeader { at, rows: rows.max(1), cells, found: FileHead { wider: None, ..found } })
    }
}

#[test]
fn a_merged_cell_names_no_more_columns_than_a_sheet_has() {
    let merged = MergedCells::new(&[Dimensions { start: (0, 0), end: (0, u32::MAX) }]);
    let rows = [(1, vec![(0, SheetCell::Text("Cost".to_owned()))])];
    assert_eq!(merged.names(&rows).1.len(), MAX_COLUMNS as usize);
}
