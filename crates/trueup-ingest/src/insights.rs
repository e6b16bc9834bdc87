//! Insight documents: by account and date, each kept byte for byte as published.

use crate::error::{ErrorContext, ErrorKind, InputFault, OPEN};
use crate::place::{InputLocation, RowFault, shortened};
use crate::read::TableReader;
use crate::source::blocks::{TextBlockFault, TextBlocks};
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{IngestError, Input, RowCounts};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use trueup_core::dataset::CheckedFile;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::files::OpenFile;
use trueup_core::{Day, Shown};

/// Bytes of an insights file that are read at once.
const BLOCK: usize = 4 << 20;

/// The most bytes of a line: a document is longer than a text may be.
const LONGEST: usize = 16 << 20;

/// The lines to be written, by account and date.
type Documents = BTreeMap<(String, Day), DocumentLocation>;

/// Where a document's line is. Documents are read when they are written: together they need not fit in memory.
#[derive(Clone, Copy)]
struct DocumentLocation {
    /// Which of the files.
    file: usize,
    line: u64,
    /// The first byte.
    start: u64,
    bytes: usize,
}

/// Bytes of memory that a document takes before it is read, apart from the key of its account.
const DOCUMENT: usize = 128;

/// A line of an insights file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct InsightLine<'a> {
    #[serde(borrow)]
    account: Cow<'a, str>,
    #[serde(borrow)]
    date: Cow<'a, str>,
    #[serde(borrow)]
    insight: &'a RawValue,
}

/// Adds the documents of some inputs to those that the dataset holds, and gives back all of its insights files.
pub(crate) fn ingest(
    inputs: &[&Input],
    held: &[DataFile],
    dir: &Path,
    version: &mut VersionBuilder,
    reader: &mut TableReader<'_>,
) -> Result<(Vec<DataFile>, RowCounts), IngestError> {
    let mut counts = RowCounts::default();
    let mut documents = Documents::new();
    let mut files: Vec<DocumentFile> = Vec::new();
    let mut bytes = 0;
    let (limit, longest) = (reader.limits.table_bytes(), reader.limits.max_text_bytes);
    let mut note = |documents: &mut Documents, key: (String, Day), location| {
        bytes += key.0.len() + DOCUMENT;
        if bytes > limit {
            return Err(IngestError::from(ErrorKind::LargeTable { what: "keys of insights", bytes, limit }));
        }
        Ok(documents.insert(key, location).is_some())
    };
    for file in held {
        let mut file = DocumentFile::Stored(CheckedFile::open(dir, file).of_dataset(&dir.join(&file.path))?);
        let path = file.path().to_owned();
        file.each_line(files.len(), &mut |location, line| {
            note(&mut documents, parse(line).of_dataset(&path)?, location).map(drop)
        })?;
        files.push(file);
    }
    reader.progress.stage("reading insights", Some(inputs.iter().map(|input| input.size()).sum()));
    for input in inputs {
        let file = reader.files.open(&input.path).at(OPEN, &input.path)?;
        if input.size() == 0 {
            return Err(InputFault::Empty.of(&input.shown));
        }
        let mut file = DocumentFile::Input { file, shown: input.shown.clone() };
        file.each_line(files.len(), &mut |location, text| {
            reader.progress.advance(u64::try_from(text.len()).unwrap_or(0) + 1);
            match parse(text) {
                Ok(key) => {
                    counts.taken += 1;
                    counts.replaced += u64::from(note(&mut documents, key, location)?);
                    Ok(())
                }
                Err(fault) => reader.judge_row(input, fault.at(location.line, text, longest), &mut counts),
            }
        })?;
        files.push(file);
    }
    if counts.taken == 0 {
        return Ok((held.to_vec(), counts));
    }
    let mut file = version.create(Table::Insights, 0)?;
    let path = file.path().to_owned();
    let mut line = Vec::new();
    for (key, location) in &documents {
        let from = &mut files[location.file];
        from.read(location, &mut line)?;
        // What was checked is what is written.
        if str::from_utf8(&line).ok().and_then(|line| parse(line).ok()).as_ref() != Some(key) {
            let what = "the document has changed while it was read";
            return Err(InputFault::Record { line: location.line, what }.of(from.path()));
        }
        file.write_all(&line).and_then(|()| file.write_all(b"\n")).at("write", &path)?;
    }
    Ok((vec![file.finish(u64::try_from(documents.len()).unwrap_or(u64::MAX))?], counts))
}

/// A file of documents, which is read twice: to find them, and to write them.
enum DocumentFile {
    Stored(CheckedFile),
    Input { file: OpenFile, shown: PathBuf },
}

impl DocumentFile {
    /// What messages call it.
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

    /// Reads a document once more.
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

    /// Hands on every line that is not blank, and where it is: lines are counted from 1. The file has the given number.
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
        let mut blocks = TextBlocks::new(reader, BLOCK, LONGEST, false);
        let mut start = 0;
        let fault = loop {
            let block = match blocks.next() {
                Ok(Some(block)) => block,
                Ok(None) => return Ok(()),
                Err(fault) => break fault,
            };
            let text = crate::source::text(&block).map_err(|fault| fault.of(&shown))?;
            for (line, text) in (block.line..).zip(text.split_inclusive('\n')) {
                let document = text.trim_ascii();
                if !document.is_empty() {
                    let before = text.len() - text.trim_ascii_start().len();
                    let location =
                        DocumentLocation { file: number, line, start: start + before as u64, bytes: document.len() };
                    take(location, document)?;
                }
                start += text.len() as u64;
            }
        };
        drop(blocks);
        Err(match fault {
            TextBlockFault::Io(error) => self.failed(error),
            TextBlockFault::TooLong { line, longest } => InputFault::LongDocument { line, longest }.of(&shown),
        })
    }
}

/// Why a line is no insight document.
#[derive(Debug, thiserror::Error)]
enum DocumentFault {
    #[error("expected {{\"account\", \"date\", \"insight\"}}, but: {}", Shown(&.0.to_string()))]
    Shape(#[from] serde_json::Error),
    #[error("expected an account key that is not empty and has no `,` and `/`, but found `{}`", Shown(.0))]
    Account(String),
    #[error(transparent)]
    Date(#[from] trueup_core::day::NotADay),
    #[error("expected a document as a JSON object")]
    Insight,
}

impl DocumentFault {
    fn at(&self, line: u64, text: &str, longest: usize) -> RowFault {
        let (column, value) = match self {
            Self::Shape(_) => (None, text),
            Self::Account(account) => (Some("account"), account.as_str()),
            Self::Date(date) => (Some("date"), date.0.as_str()),
            Self::Insight => (Some("insight"), text),
        };
        RowFault {
            place: InputLocation::Line(line),
            column: column.map(str::to_owned),
            value: Some(shortened(value, longest).to_owned()),
            reason: self.to_string(),
            cells: Vec::new(),
        }
    }
}

/// The account and date of a line.
fn parse(text: &str) -> Result<(String, Day), DocumentFault> {
    let line: InsightLine<'_> = serde_json::from_str(text)?;
    if line.account.is_empty() || line.account.contains([',', '/']) {
        return Err(DocumentFault::Account(line.account.into_owned()));
    }
    let day = line.date.parse()?;
    if !line.insight.get().starts_with('{') {
        return Err(DocumentFault::Insight);
    }
    Ok((line.account.into_owned(), day))
}
