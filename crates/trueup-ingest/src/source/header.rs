//! The header of a file of cells: the line that names its columns. Title lines may precede it.

use crate::error::FileFault;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which line of a file of cells is its header.
#[derive(Clone, Debug)]
pub(crate) enum HeaderRow {
    /// The line with this number, counted from 1.
    Number(u64),
    /// The first line that has all these names.
    Names(Vec<String>),
    /// Of the first [`SEARCHED_LINES`], the first one with the most of these names.
    Fitting(Arc<BTreeSet<String>>),
    /// The first line if it may be a header; else, of the first [`SEARCHED_LINES`], the first one with the most cells
    /// that may be one.
    Widest,
}

/// The lines in which a header is looked for if a mapping does not say which one it is.
pub(crate) const SEARCHED_LINES: u64 = 20;

/// The lines after which a header must have begun.
pub(crate) const MAX_HEADER_ROW: u64 = 1_000;

/// A line at the beginning of a file.
pub(super) struct HeadLine {
    /// The number of the line, counted from 1.
    pub(super) number: u64,
    pub(super) cells: Vec<String>,
}

/// What was found at the beginning of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileHead {
    /// The number of the header's line, counted from 1; 0 if the file has no header.
    pub(crate) header: u64,
    /// The title lines before the header, without blank lines.
    pub(crate) title_lines: u64,
    /// The first line of [`SEARCHED_LINES`] with more cells than the line that was taken for the header; the number of
    /// that line, and of its cells.
    pub(crate) wider: Option<(u64, usize)>,
}

impl HeaderRow {
    /// Returns whether the header may be on a line after `lines`.
    pub(super) fn needs_more(&self, lines: &[HeadLine]) -> bool {
        let Some(last) = lines.last() else { return true };
        match self {
            Self::Number(number) => last.number < *number,
            Self::Names(names) => last.number < MAX_HEADER_ROW && !last.has(names),
            Self::Fitting(_) | Self::Widest => last.number < SEARCHED_LINES,
        }
    }

    /// Returns the index of the header among the first lines, and what was found at the beginning of the file.
    ///
    /// # Errors
    /// There is no header with that number or with these names.
    pub(super) fn find(&self, lines: &[HeadLine]) -> Result<(usize, FileHead), FileFault> {
        let at = match self {
            Self::Number(number) => {
                lines.iter().position(|line| line.number == *number).ok_or(FileFault::BlankHeader(*number))?
            }
            Self::Names(names) => lines
                .iter()
                .position(|line| line.has(names))
                .ok_or_else(|| FileFault::NoSuchHeader { names: names.join("`, `"), searched: MAX_HEADER_ROW })?,
            Self::Fitting(names) => most(lines, |line| line.cells.iter().filter(|cell| names.contains(*cell)).count()),
            Self::Widest if lines.first().is_some_and(HeadLine::may_be_header) => 0,
            Self::Widest => most(lines, |line| if line.may_be_header() { line.cells.len() } else { 0 }),
        };
        let (header, width) = lines.get(at).map_or((0, 0), |line| (line.number, line.cells.len()));
        let wider = lines.iter().find(|line| line.number <= SEARCHED_LINES && line.cells.len() > width);
        let wider = wider.map(|line| (line.number, line.cells.len()));
        Ok((at, FileHead { header, title_lines: at as u64, wider }))
    }
}

/// Returns the index of the first line with the largest count.
fn most(lines: &[HeadLine], count: impl Fn(&HeadLine) -> usize) -> usize {
    let counts = lines.iter().map(count).enumerate();
    counts.rev().max_by_key(|(_, count)| *count).map_or(0, |(at, _)| at)
}

impl HeadLine {
    fn has(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.cells.contains(name))
    }

    /// Returns whether the line has several cells, each with a text of its own.
    fn may_be_header(&self) -> bool {
        let distinct: BTreeSet<&String> = self.cells.iter().filter(|cell| !cell.is_empty()).collect();
        self.cells.len() > 1 && distinct.len() == self.cells.len()
    }
}
