//! Where the documents of an insights file stand, so that a request reads those of its own accounts only.

use super::super::blocks::BLOCK;
use super::super::checked::CheckedFile;
use super::super::manifest::DataFile;
use super::line;
use crate::Day;
use crate::error::{DatasetError, Error};
use crate::query::{AccountFilter, DateRange};
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::path::Path;

/// Where the documents of a file stand, and where it does not read.
#[derive(Debug, Default)]
pub(super) struct Index {
    accounts: BTreeMap<String, Vec<InsightLocation>>,
    damaged_ranges: Vec<DamagedRange>,
}

/// Where a document stands.
#[derive(Debug)]
pub(super) struct InsightLocation {
    pub(super) date: Day,
    pub(super) bytes: Range<u64>,
}

/// A part of a file that does not read.
#[derive(Debug)]
struct DamagedRange {
    /// The account and day of the last line before it; `None` if there is none.
    after: Option<(String, Day)>,
    /// The account and day of the first line after it; `None` if there is none.
    before: Option<(String, Day)>,
    fault: Fault,
}

/// Why a part of a file does not read.
#[derive(Clone, Debug)]
enum Fault {
    /// The block that begins there is not what was written.
    Checksum { from: u64 },
    /// The line is no document.
    Line { line: u64, fault: String },
    /// It has so many lines.
    Length { found: u64, promised: u64 },
}

impl Index {
    /// Finds the documents of a file, as long as it may go on.
    pub(super) fn of(
        folder: &Path,
        promised: &DataFile,
        go_on: &impl Fn() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let file = CheckedFile::open(folder, promised)?;
        let mut reading = Reading::default();
        let mut start = 0;
        while start < promised.size {
            go_on()?;
            let end = (start + BLOCK).min(promised.size);
            match file.bytes(&(start..end)) {
                Ok(bytes) => reading.sound(&bytes),
                Err(DatasetError::Checksum { from, .. }) => reading.damaged(from, end - start),
                Err(error) => return Err(error.into()),
            }
            start = end;
        }
        Ok(reading.finish(promised.rows))
    }

    /// Whether all of the file reads.
    pub(super) const fn is_whole(&self) -> bool {
        self.damaged_ranges.is_empty()
    }

    /// Where the documents stand that `accounts` published on a day of `range`, or without one the most recent of each; in the order
    /// of the file.
    pub(super) fn find<'i>(
        &'i self,
        accounts: &AccountFilter,
        range: Option<DateRange>,
        path: &Path,
    ) -> Result<Vec<(&'i str, &'i InsightLocation)>, DatasetError> {
        if let Some(hole) = self.damaged_ranges.iter().find(|hole| hole.concerns(accounts, range)) {
            return Err(hole.fault.clone().of(path));
        }
        let mut found = Vec::new();
        let mut add = |account: &'i String, places: &'i Vec<InsightLocation>| match range {
            Some(range) => {
                let days = range.start..=range.end;
                found.extend(places.iter().filter(|place| days.contains(&place.date)).map(|place| (&**account, place)));
            }
            // The most recent comes last.
            None => found.extend(places.last().map(|place| (&**account, place))),
        };
        match accounts {
            AccountFilter::All => self.accounts.iter().for_each(|(account, places)| add(account, places)),
            AccountFilter::Only(keys) => keys
                .iter()
                .filter_map(|key| self.accounts.get_key_value(key))
                .for_each(|(account, places)| add(account, places)),
        }
        Ok(found)
    }
}

impl DamagedRange {
    /// Whether it may hold a document that is asked for. Lines come by account and day, so that what it holds lies between its
    /// neighbours: later documents of the account before it, earlier ones of the account after it, and any of those between.
    fn concerns(&self, accounts: &AccountFilter, range: Option<DateRange>) -> bool {
        let AccountFilter::Only(keys) = accounts else { return true };
        if self.after.is_some() && self.before.is_some() && self.after > self.before {
            // Lines in no order tell nothing of what lies between them.
            return true;
        }
        let bound = |end: &Option<(String, Day)>| match end {
            Some((account, _)) => Bound::Included(account.clone()),
            None => Bound::Unbounded,
        };
        let day = |end: &Option<(String, Day)>, key: &String| end.as_ref().filter(|end| end.0 == *key).map(|end| end.1);
        keys.range((bound(&self.after), bound(&self.before))).any(|key| {
            let (after, before) = (day(&self.after, key), day(&self.before, key));
            match range {
                Some(range) => after.is_none_or(|day| range.end > day) && before.is_none_or(|day| range.start < day),
                // Where a later one reads, none in here is the most recent.
                None => before.is_none(),
            }
        })
    }
}

impl Fault {
    fn of(self, path: &Path) -> DatasetError {
        let path = path.to_owned();
        match self {
            Self::Checksum { from } => DatasetError::Checksum { path, from },
            Self::Line { line, fault } => DatasetError::Insight { path, line, fault },
            Self::Length { found, promised } => DatasetError::Length { path, unit: "lines", found, promised },
        }
    }
}

/// A file while it is read, block by block.
#[derive(Default)]
struct Reading {
    index: Index,
    /// What has been read of the present line, and where it begins.
    line: Vec<u8>,
    begins: u64,
    /// The bytes read before.
    position: u64,
    /// Lines read before.
    lines: u64,
    /// The account and day of the last line that read.
    last: Option<(String, Day)>,
    /// Why nothing has been read since.
    open: Option<Fault>,
    /// Whether the beginning of the present line is lost.
    torn: bool,
    /// Where the first block begins that has changed: lines behind it have no number.
    lost: Option<u64>,
}

impl Reading {
    fn sound(&mut self, block: &[u8]) {
        for piece in block.split_inclusive(|byte| *byte == b'\n') {
            if !self.torn {
                self.line.extend_from_slice(piece);
            }
            self.position += piece.len() as u64;
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn damaged(&mut self, from: u64, length: u64) {
        self.open.get_or_insert(Fault::Checksum { from });
        self.lost.get_or_insert(from);
        self.line.clear();
        self.torn = true;
        self.position += length;
    }

    fn end_line(&mut self) {
        self.lines += 1;
        if !self.torn {
            match line(&self.line) {
                Ok((account, date, document)) => {
                    let account = account.into_owned();
                    let key = Some((account.clone(), date));
                    let after = std::mem::replace(&mut self.last, key.clone());
                    if let Some(fault) = self.open.take() {
                        self.index.damaged_ranges.push(DamagedRange { after, before: key, fault });
                    }
                    let before = document.as_ptr().addr() - self.line.as_ptr().addr();
                    let start = self.begins + before as u64;
                    let bytes = start..start + document.len() as u64;
                    self.index.accounts.entry(account).or_default().push(InsightLocation { date, bytes });
                }
                Err(fault) => {
                    let fault = match self.lost {
                        Some(from) => Fault::Checksum { from },
                        None => Fault::Line { line: self.lines, fault },
                    };
                    self.open.get_or_insert(fault);
                }
            }
        }
        self.torn = false;
        self.line.clear();
        self.begins = self.position;
    }

    fn finish(mut self, promised: u64) -> Index {
        if !self.line.is_empty() {
            self.end_line();
        }
        if let Some(fault) = self.open.take() {
            self.index.damaged_ranges.push(DamagedRange { after: self.last.take(), before: None, fault });
        }
        if self.index.is_whole() && self.lines != promised {
            let fault = Fault::Length { found: self.lines, promised };
            self.index.damaged_ranges.push(DamagedRange { after: None, before: None, fault });
        }
        self.index
    }
}

/// The document at a place of a file.
pub(super) fn document(file: &CheckedFile, bytes: &Range<u64>) -> Result<String, DatasetError> {
    let document = file.bytes(bytes)?;
    String::from_utf8(document.into()).map_err(|_| {
        // The line was one, when the index was made from the same bytes.
        DatasetError::Checksum { path: file.path().to_owned(), from: bytes.start }
    })
}
