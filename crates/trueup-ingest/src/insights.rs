//! Insight documents: one per account and date, each kept byte for byte as published.

use crate::error::{ErrorContext, ErrorKind, FileFault, InputLocation, OPEN, RowCells, RowFault, Rule, shortened};
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::report::protocols_of;
use crate::source::{self, TextBlockFault, TextBlocks, member_cells};
use crate::stored_copy::local_copy;
use crate::table::Table;
use crate::version::{Scratch, VersionFiles};
use crate::{IngestError, Input};
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, ControlTotals, InsightLine, InsightLineFault, TableProtocol};
use trueup_core::day::ParseDayError;
use trueup_core::files::OpenFile;
use trueup_core::model::Reason;
use trueup_core::{Day, Shown};

/// Bytes of an insights file that are read at a time.
const BLOCK_BYTES: usize = 4 << 20;

/// The most bytes of a line. Documents may be longer than texts.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Bytes of memory per document while only its location is held, apart from the key of its account.
const DOCUMENT_BYTES: usize = 128;

/// Adds the documents of some inputs to the stored documents. Returns a new file of all documents, or `None` if the
/// inputs have no sound document or if faulty rows make the ingest fail.
pub(crate) fn ingest(
    inputs: &[&Input],
    stored: Option<&DataFile>,
    dir: &Path,
    version: &mut VersionFiles,
    reader: &mut TableReader<'_>,
) -> Result<(Option<DataFile>, TableProtocol), IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    let mut replaced = 0;
    let longest = reader.limits.max_text_bytes;
    let mut index = DocumentIndex::new(reader.limits.table_bytes());
    let mut files: Vec<DocumentFile> = Vec::new();
    let copy = stored.map(|file| local_copy(dir, file, version, reader.monitor)).transpose()?.flatten();
    if let Some(file) = stored {
        let dir = copy.as_ref().map_or(dir, Scratch::path);
        let mut file = DocumentFile::Stored(CheckedFile::open(dir, file).of_dataset(&dir.join(&file.path))?);
        let path = file.path().to_owned();
        file.each_line(files.len(), &mut |location, line| {
            reader.monitor.check()?;
            index.add(parse(line).of_dataset(&path)?, location).map(drop)
        })?;
        files.push(file);
    }
    reader.monitor.begin(Phase::Reading(Table::Insights.name()), Some(inputs.iter().map(|input| input.size()).sum()));
    // The copies of texts that are compressed or in another encoding. They are read twice, too.
    let scratch = version.scratch()?;
    for (number, (input, protocol)) in inputs.iter().zip(&mut protocol.inputs).enumerate() {
        if input.size() == 0 {
            return Err(FileFault::Empty.at(&input.shown));
        }
        let copy = scratch.path().join(format!("insights-{number}"));
        let is_copied = source::write_text(reader.files, input, &copy)?;
        let path = if is_copied { &copy } else { &input.path };
        let file = reader.files.open(path).at(OPEN, path)?;
        // A compressed file, or one with a byte order mark, may have no text.
        if is_copied && file.metadata().at(OPEN, path)?.len() == 0 {
            return Err(FileFault::Empty.at(&input.shown));
        }
        let mut file = DocumentFile::Input { file, shown: input.shown.clone() };
        file.each_line(files.len(), &mut |location, line| {
            reader.monitor.check()?;
            reader.monitor.add(1, u64::try_from(line.len()).unwrap_or(0) + 1);
            match parse(line) {
                Ok(key) => {
                    protocol.taken.rows += 1;
                    replaced += u64::from(index.add(key, location)?);
                    Ok(())
                }
                Err(fault) => {
                    let fault = row_fault(&fault, location.line, line, longest);
                    reader.reject_row(input, Table::Insights, fault, protocol)
                }
            }
        })?;
        files.push(file);
    }
    protocol.replaced_others = ControlTotals::of_rows(replaced);
    if protocol.taken().rows == 0 || reader.is_refusing() {
        return Ok((None, protocol));
    }
    Ok((Some(index.write(&mut files, version)?), protocol))
}

/// The locations of all documents, by account and date. The documents themselves need not fit in memory: they are read
/// again when they are written.
struct DocumentIndex {
    documents: BTreeMap<(String, Day), DocumentLocation>,
    bytes: usize,
    /// The most bytes of memory that the index may take.
    limit: usize,
}

/// The location of a document's line.
#[derive(Clone, Copy)]
struct DocumentLocation {
    /// The position of the file among all files, counted from 0.
    file: usize,
    /// The physical line, counted from 1.
    line: u64,
    /// The position of the document's first byte in the file.
    start: u64,
    /// The length of the document in bytes.
    bytes: usize,
}

impl DocumentIndex {
    const fn new(limit: usize) -> Self {
        Self { documents: BTreeMap::new(), bytes: 0, limit }
    }

    /// Adds a document. Returns whether it replaces another one.
    fn add(&mut self, key: (String, Day), location: DocumentLocation) -> Result<bool, IngestError> {
        let key_bytes = key.0.len() + DOCUMENT_BYTES;
        if self.documents.insert(key, location).is_some() {
            return Ok(true);
        }
        self.bytes += key_bytes;
        IngestError::check_size("keys of insights", self.bytes, self.limit).map(|()| false)
    }

    /// Writes all documents, by account and date.
    fn write(&self, files: &mut [DocumentFile], version: &mut VersionFiles) -> Result<DataFile, IngestError> {
        let mut output = version.create(Table::Insights, 0)?;
        let path = output.path().to_owned();
        let mut line = Vec::new();
        for (key, location) in &self.documents {
            let file = &mut files[location.file];
            file.read(location, &mut line)?;
            // Checks again, because an input may change between the two reads.
            if str::from_utf8(&line).ok().and_then(|line| parse(line).ok()).as_ref() != Some(key) {
                let what = "the document has changed while it was read";
                return Err(FileFault::Record { line: location.line, what }.at(file.path()));
            }
            output.write_all(&line).and_then(|()| output.write_all(b"\n")).at("write", &path)?;
        }
        output.finish(u64::try_from(self.documents.len()).unwrap_or(u64::MAX))
    }
}

/// A file of documents. It is read twice: to find the documents, and to write them.
enum DocumentFile {
    Stored(CheckedFile),
    Input { file: OpenFile, shown: PathBuf },
}

impl DocumentFile {
    /// Returns the name in messages.
    fn path(&self) -> &Path {
        match self {
            Self::Stored(file) => file.path(),
            Self::Input { shown, .. } => shown,
        }
    }

    fn failed(&self, error: io::Error) -> IngestError {
        match self {
            Self::Stored(file) => ErrorKind::Stored { path: file.path().to_owned(), source: Box::new(error) }.into(),
            Self::Input { shown, .. } => ErrorKind::Io { action: "read", path: shown.clone(), source: error }.into(),
        }
    }

    /// Reads a document again.
    fn read(&mut self, location: &DocumentLocation, line: &mut Vec<u8>) -> Result<(), IngestError> {
        line.resize(location.bytes, 0);
        let read = match self {
            Self::Stored(file) => {
                let bytes = file.bytes(&(location.start..location.start + location.bytes as u64));
                bytes.map(|bytes| line.copy_from_slice(&bytes)).map_err(io::Error::other)
            }
            Self::Input { file, .. } => file.seek(SeekFrom::Start(location.start)).and_then(|_| file.read_exact(line)),
        };
        read.map_err(|error| self.failed(error))
    }

    /// Passes on each line that is not blank, with its location. `number` is the position of this file among all files.
    fn each_line(
        &mut self,
        number: usize,
        take: &mut dyn FnMut(DocumentLocation, &str) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        let shown = self.path().to_owned();
        let reader: Box<dyn Read + '_> = match self {
            Self::Stored(file) => Box::new(file.reader()),
            Self::Input { file, .. } => Box::new(file),
        };
        let mut blocks = TextBlocks::new(reader, BLOCK_BYTES, MAX_LINE_BYTES, false);
        let mut start = 0;
        let fault = loop {
            let block = match blocks.next() {
                Ok(Some(block)) => block,
                Ok(None) => return Ok(()),
                Err(fault) => break fault,
            };
            let text = block.text().map_err(|fault| fault.at(&shown))?;
            for (line, text) in (block.line..).zip(text.split_inclusive('\n')) {
                let document = text.trim_ascii();
                if !document.is_empty() {
                    let before = text.len() - text.trim_ascii_start().len();
                    let (start, bytes) = (start + before as u64, document.len());
                    take(DocumentLocation { file: number, line, start, bytes }, document)?;
                }
                start += text.len() as u64;
            }
        };
        drop(blocks);
        Err(match fault {
            TextBlockFault::Io(error) => self.failed(error),
            TextBlockFault::TooLong { line, longest } => FileFault::LongDocument { line, longest }.at(&shown),
        })
    }
}

/// Returns the account and date of a line.
fn parse(text: &str) -> Result<(String, Day), InsightLineFault> {
    let InsightLine { account, date, .. } = InsightLine::parse(text.as_bytes())?;
    Ok((account.into_owned(), date))
}

/// Returns the fault of a line that is not an insight.
fn row_fault(fault: &InsightLineFault, line: u64, text: &str, longest: usize) -> RowFault {
    let but_found = |value: &str| format!(", but found `{}`", Shown(value));
    let (column, value, rule, found) = match fault {
        InsightLineFault::Json(error) => {
            (None, text, Rule::InsightLine, format!(", but: {}", Shown(&error.to_string())))
        }
        InsightLineFault::Account(key) => (Some("account"), key.as_str(), Rule::InsightAccount, but_found(key)),
        InsightLineFault::Date(ParseDayError(date)) => {
            (Some("date"), date.as_str(), Rule::Value(Reason::Date), but_found(date))
        }
        InsightLineFault::NotAnObject => (Some("insight"), text, Rule::InsightDocument, String::new()),
    };
    RowFault {
        location: InputLocation::Line(line),
        column: column.map(str::to_owned),
        value: Some(shortened(value, longest).to_owned()),
        rule,
        found,
        cells: RowCells::Strings(member_cells(text, longest)),
        joined: None,
        totals: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_replaced_takes_no_more_memory() {
        let mut index = DocumentIndex::new(DOCUMENT_BYTES + 1);
        let mut add = |account: &str| {
            let key = parse(&format!(r#"{{"account":"{account}","date":"2025-01-31","insight":{{}}}}"#)).unwrap();
            index.add(key, DocumentLocation { file: 0, line: 1, start: 0, bytes: 1 })
        };
        assert!(!add("a").unwrap());
        assert!(add("a").unwrap());
        assert!(add("b").is_err());
    }
}
