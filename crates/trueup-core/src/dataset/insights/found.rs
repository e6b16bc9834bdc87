//! The documents that match a request, which are read a few at a time.

use super::Insight;
use super::index::InsightLocation;
use crate::dataset::checked_file::{CheckedFile, StartedReads};
use crate::dataset::error::DatasetError;
use crate::error::Error;
use crate::{Day, Interrupt};
use std::collections::VecDeque;
use std::ops::Range;
use trueup_parquet::FileSlice;

/// The documents that match a request, by account and date.
///
/// The iterator reads documents when it reaches them: one, or as many consecutive ones as are not longer than one read
/// of the file together. Each byte is compared with its checksum. After an error, the iterator ends.
#[derive(Debug, Default)]
pub struct Insights {
    matched: usize,
    /// Documents that are not read yet, those of one read together.
    unread: VecDeque<DocumentGroup>,
    /// Documents that are read.
    read: VecDeque<ReadDocument>,
    /// The most bytes that are in memory at a time.
    bytes: usize,
}

/// Consecutive documents of a file that are read together.
#[derive(Debug)]
struct DocumentGroup {
    file: CheckedFile,
    documents: Vec<FoundDocument>,
}

/// A document that matches.
#[derive(Debug)]
struct FoundDocument {
    account: String,
    date: Day,
    /// The range of the document's bytes in the file.
    bytes: Range<u64>,
}

/// A document in memory.
#[derive(Debug)]
struct ReadDocument {
    file: CheckedFile,
    found: FoundDocument,
    slice: FileSlice,
}

impl Insights {
    /// Returns documents that are only counted.
    pub(super) fn counted(matched: usize) -> Self {
        Self { matched, ..Self::default() }
    }

    /// Returns documents of a file, in the order of the file.
    pub(super) fn found(file: &CheckedFile, locations: &[(&str, &InsightLocation)]) -> Self {
        let mut insights = Self::counted(locations.len());
        let mut together = 0;
        let mut groups: Vec<Vec<FoundDocument>> = Vec::new();
        for (account, location) in locations {
            let length = location.bytes.end - location.bytes.start;
            let found =
                FoundDocument { account: (*account).to_owned(), date: location.date, bytes: location.bytes.clone() };
            match groups.last_mut() {
                Some(group) if together + length <= file.step() => {
                    group.push(found);
                    together += length;
                }
                _ => {
                    groups.push(vec![found]);
                    together = length;
                }
            }
        }
        for documents in groups {
            let group = DocumentGroup { file: file.clone(), documents };
            insights.bytes = insights.bytes.max(group.memory());
            insights.unread.push_back(group);
        }
        insights
    }

    /// Returns the number of documents that match, even if it exceeds the limit.
    #[must_use]
    pub const fn matched(&self) -> usize {
        self.matched
    }

    /// Returns the most bytes that documents take in memory while the iterator is read, if each is dropped before the
    /// next one.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes of the longest document.
    #[must_use]
    pub fn longest(&self) -> usize {
        let unread = self.unread.iter().flat_map(|group| &group.documents);
        let read = self.read.iter().map(|read| &read.found);
        unread.chain(read).map(FoundDocument::length).max().unwrap_or(0)
    }

    /// Reads the documents that come first, as many as are read together.
    ///
    /// # Errors
    /// They cannot be read, or `interrupt` fires before they come from a store.
    pub fn read_first(&mut self, interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.check()?;
        Ok(self.fill(Some(interrupt))?)
    }

    /// Reads documents if none is read.
    fn fill(&mut self, interrupt: Option<&Interrupt>) -> Result<(), DatasetError> {
        if self.read.is_empty()
            && let Some(group) = self.unread.pop_front()
        {
            self.read = group.read(interrupt)?;
        }
        Ok(())
    }
}

impl Iterator for Insights {
    type Item = Result<Insight, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let document = self.fill(None).and_then(|()| self.read.pop_front().map(ReadDocument::into_insight).transpose());
        if document.is_err() {
            self.unread.clear();
            self.read.clear();
        }
        document.map_err(Error::from).transpose()
    }
}

impl DocumentGroup {
    fn ranges(&self) -> Vec<Range<u64>> {
        self.documents.iter().map(|found| found.bytes.clone()).collect()
    }

    /// Returns the bytes that reading takes: the blocks that hold the documents and, unless the only document takes
    /// them over, a copy of one document.
    fn memory(&self) -> usize {
        let blocks = usize::try_from(self.file.read_bytes(&self.ranges())).unwrap_or(usize::MAX);
        let longest = self.documents.iter().map(FoundDocument::length).max().unwrap_or(0);
        blocks.saturating_add(if self.documents.len() > 1 { longest } else { 0 })
    }

    fn read(self, interrupt: Option<&Interrupt>) -> Result<VecDeque<ReadDocument>, DatasetError> {
        let ranges = self.ranges();
        let file = match interrupt {
            Some(interrupt) => self.file.clone().until(interrupt),
            None => self.file.clone(),
        };
        let slices: Result<Vec<FileSlice>, _> = file.read_ranges(&ranges, StartedReads::default()).collect();
        let read = |(found, slice)| ReadDocument { file: self.file.clone(), found, slice };
        Ok(self.documents.into_iter().zip(slices?).map(read).collect())
    }
}

impl FoundDocument {
    fn length(&self) -> usize {
        usize::try_from(self.bytes.end - self.bytes.start).unwrap_or(usize::MAX)
    }
}

impl ReadDocument {
    fn into_insight(self) -> Result<Insight, DatasetError> {
        let Self { file, found: FoundDocument { account, date, bytes }, slice } = self;
        let document = slice.within(&bytes);
        // Without the slice, a document that was read alone becomes a string without a copy.
        drop(slice);
        let document = String::from_utf8(document.into()).map_err(|_| {
            // The line was a document when the index was made from the same bytes.
            DatasetError::Checksum { path: file.path().to_owned(), from: bytes.start }
        })?;
        Ok(Insight { account, date, document })
    }
}
