//! The locations of the documents in an insights file, so that a request reads only the documents of its accounts. A
//! damaged part of the file fails only the requests that may need a document in it.

use super::InsightLine;
use crate::dataset::checked_file::CheckedFile;
use crate::dataset::error::DatasetError;
use crate::error::Error;
use crate::query::{AccountFilter, DateRange};
use crate::{Day, Interrupt};
use parquet::file::reader::Length;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::path::Path;
use trueup_store::BLOCK_BYTES;

/// The locations of the documents of a file, and its damaged parts.
#[derive(Debug, Default)]
pub(super) struct InsightIndex {
    /// For each account, its documents by date.
    accounts: BTreeMap<String, Vec<InsightLocation>>,
    damaged_ranges: Vec<DamagedRange>,
}

/// The location of a document.
#[derive(Debug)]
pub(super) struct InsightLocation {
    pub(super) date: Day,
    /// The range of the document's bytes in the file.
    pub(super) bytes: Range<u64>,
}

/// A part of a file that cannot be read.
#[derive(Debug)]
struct DamagedRange {
    /// The account and day of the last line before the part; `None` if there is none.
    after: Option<(String, Day)>,
    /// The account and day of the first line after the part; `None` if there is none.
    before: Option<(String, Day)>,
    cause: DamageCause,
}

/// Why a part of a file cannot be read.
#[derive(Clone, Debug)]
enum DamageCause {
    /// The checksum block at a position is not what was written.
    Checksum { from: u64 },
    /// A line is not a document.
    Line { line: u64, fault: String },
    /// The file has another number of lines than the manifest says.
    Length { found: u64, promised: u64 },
}

impl InsightIndex {
    /// Finds the documents of a file, which must have `lines` lines.
    pub(super) fn build(file: &CheckedFile, lines: u64, interrupt: &Interrupt) -> Result<Self, Error> {
        let mut builder = IndexBuilder::default();
        let mut start = 0;
        while start < file.len() {
            interrupt.check()?;
            let end = (start + file.step()).min(file.len());
            match file.bytes(&(start..end)) {
                Ok(bytes) => builder.add_bytes(&bytes),
                Err(DatasetError::Checksum { .. }) => builder.add_blocks(file, start..end)?,
                Err(error) => return Err(error.into()),
            }
            start = end;
        }
        Ok(builder.finish(lines))
    }

    /// Returns whether no part of the file is damaged.
    pub(super) const fn is_whole(&self) -> bool {
        self.damaged_ranges.is_empty()
    }

    /// Finds the documents of `accounts` that were published on a day of `range` or, without a range, the most recent
    /// one of each account. They are in the order of the file. A damaged part that may hold one of them is an error.
    pub(super) fn find<'i>(
        &'i self,
        accounts: &AccountFilter,
        range: Option<DateRange>,
        path: &Path,
    ) -> Result<Vec<(&'i str, &'i InsightLocation)>, DatasetError> {
        if let Some(damaged) = self.damaged_ranges.iter().find(|damaged| damaged.concerns(accounts, range)) {
            return Err(damaged.cause.clone().into_error(path));
        }
        let mut found = Vec::new();
        let mut add = |account: &'i String, documents: &'i Vec<InsightLocation>| match range {
            Some(range) => {
                let days = range.start..=range.end;
                let in_range = documents.iter().filter(|document| days.contains(&document.date));
                found.extend(in_range.map(|document| (&**account, document)));
            }
            // The most recent document comes last.
            None => found.extend(documents.last().map(|document| (&**account, document))),
        };
        match accounts {
            AccountFilter::All => self.accounts.iter().for_each(|(account, documents)| add(account, documents)),
            AccountFilter::Only(keys) => keys
                .iter()
                .filter_map(|key| self.accounts.get_key_value(key))
                .for_each(|(account, documents)| add(account, documents)),
        }
        Ok(found)
    }
}

impl DamagedRange {
    /// Returns whether the damaged part may contain a document of a request. Because lines are sorted by account and
    /// day, the part may contain later documents of the account before it, earlier documents of the account after it,
    /// and any documents of the accounts between them.
    fn concerns(&self, accounts: &AccountFilter, range: Option<DateRange>) -> bool {
        let AccountFilter::Only(keys) = accounts else { return true };
        if self.after.is_some() && self.before.is_some() && self.after > self.before {
            // If the lines are not sorted, any document may be between them.
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
                // If a later document can be read, no document in the part is the most recent.
                None => before.is_none(),
            }
        })
    }
}

impl DamageCause {
    fn into_error(self, path: &Path) -> DatasetError {
        let path = path.to_owned();
        match self {
            Self::Checksum { from } => DatasetError::Checksum { path, from },
            Self::Line { line, fault } => DatasetError::Insight { path, line, fault },
            Self::Length { found, promised } => DatasetError::Length { path, unit: "lines", found, promised },
        }
    }
}

/// Builds an index from the checksum blocks of a file.
#[derive(Default)]
struct IndexBuilder {
    index: InsightIndex,
    /// The bytes of the current line that have been read.
    line: Vec<u8>,
    /// The position of the current line.
    line_start: u64,
    /// The position of the next byte.
    position: u64,
    /// The number of complete lines.
    lines: u64,
    /// The account and day of the last line that could be read.
    last: Option<(String, Day)>,
    /// The cause of the damage since that line; `None` if there is no damage since.
    damage: Option<DamageCause>,
    /// Whether the beginning of the current line is damaged.
    torn: bool,
    /// The position of the first damaged block. The numbers of lines after it are unknown.
    first_damaged: Option<u64>,
}

impl IndexBuilder {
    /// Adds blocks one by one, because one of them is damaged.
    fn add_blocks(&mut self, file: &CheckedFile, blocks: Range<u64>) -> Result<(), DatasetError> {
        let mut start = blocks.start;
        while start < blocks.end {
            let end = (start + BLOCK_BYTES).min(blocks.end);
            match file.bytes(&(start..end)) {
                Ok(bytes) => self.add_bytes(&bytes),
                Err(DatasetError::Checksum { from, .. }) => self.add_damaged_block(from, end - start),
                Err(error) => return Err(error),
            }
            start = end;
        }
        Ok(())
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.torn {
                self.line.extend_from_slice(piece);
            }
            self.position += piece.len() as u64;
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn add_damaged_block(&mut self, from: u64, length: u64) {
        self.damage.get_or_insert(DamageCause::Checksum { from });
        self.first_damaged.get_or_insert(from);
        self.line.clear();
        self.torn = true;
        self.position += length;
    }

    fn end_line(&mut self) {
        self.lines += 1;
        if !self.torn {
            match InsightLine::parse(&self.line) {
                Ok(InsightLine { account, date, document }) => {
                    let account = account.into_owned();
                    let key = Some((account.clone(), date));
                    let after = std::mem::replace(&mut self.last, key.clone());
                    let is_out_of_order = after >= key;
                    if let Some(cause) = self.damage.take() {
                        self.index.damaged_ranges.push(DamagedRange { after, before: key, cause });
                    }
                    if is_out_of_order {
                        // Documents are found by their order, so that any of them may be affected.
                        let fault = format!("the document of `{account}` and {date} is out of order");
                        let cause = DamageCause::Line { line: self.lines, fault };
                        self.index.damaged_ranges.push(DamagedRange { after: None, before: None, cause });
                    }
                    let offset = document.as_ptr().addr() - self.line.as_ptr().addr();
                    let start = self.line_start + offset as u64;
                    let bytes = start..start + document.len() as u64;
                    self.index.accounts.entry(account).or_default().push(InsightLocation { date, bytes });
                }
                Err(fault) => {
                    let cause = match self.first_damaged {
                        Some(from) => DamageCause::Checksum { from },
                        None => DamageCause::Line { line: self.lines, fault: fault.to_string() },
                    };
                    self.damage.get_or_insert(cause);
                }
            }
        }
        self.torn = false;
        self.line.clear();
        self.line_start = self.position;
    }

    fn finish(mut self, promised: u64) -> InsightIndex {
        if !self.line.is_empty() {
            self.end_line();
        }
        if let Some(cause) = self.damage.take() {
            self.index.damaged_ranges.push(DamagedRange { after: self.last.take(), before: None, cause });
        }
        if self.index.is_whole() && self.lines != promised {
            let cause = DamageCause::Length { found: self.lines, promised };
            self.index.damaged_ranges.push(DamagedRange { after: None, before: None, cause });
        }
        self.index
    }
}
