//! Insight documents: by account and date, each kept byte for byte as published.

use crate::draft::Draft;
use crate::error::{AtPath, InputFault, OPEN, OfDataset};
use crate::place::{Place, RowFault};
use crate::read::Reading;
use crate::source::blocks::{BlockFault, Blocks};
use crate::table::Table;
use crate::{Counts, IngestError, Input};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use trueup_core::Day;
use trueup_core::dataset::CheckedFile;
use trueup_core::dataset::manifest::DataFile;

/// Bytes of an insights file that are read at once.
const BLOCK: usize = 4 << 20;

/// Lines by account and date.
type Documents = BTreeMap<(String, Day), String>;

/// A line of an insights file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
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
    draft: &mut Draft,
    reading: &mut Reading<'_>,
) -> Result<(Vec<DataFile>, Counts), IngestError> {
    let mut counts = Counts::default();
    let mut documents = Documents::new();
    for file in held {
        let path = dir.join(&file.path);
        let file = CheckedFile::open(dir, file).and_then(|file| file.whole()).of_dataset(&path)?;
        each_line(&*file, &path, &mut |_, line| {
            documents.insert(parse(line).of_dataset(&path)?, line.to_owned());
            Ok(())
        })?;
    }
    reading.progress.stage("reading insights", Some(inputs.iter().map(|input| input.size()).sum()));
    for input in inputs {
        let file = File::open(&input.path).at(OPEN, &input.path)?;
        if input.size() == 0 {
            return Err(InputFault::Empty.of(&input.shown));
        }
        each_line(file, &input.shown, &mut |line, text| {
            reading.progress.advance(u64::try_from(text.len()).unwrap_or(0) + 1);
            match parse(text) {
                Ok(key) => {
                    counts.taken += 1;
                    counts.replaced += u64::from(documents.insert(key, text.to_owned()).is_some());
                    Ok(())
                }
                Err(fault) => reading.judge(input, vec![fault.at(line, text)], &mut counts),
            }
        })?;
    }
    if counts.taken == 0 {
        return Ok((held.to_vec(), counts));
    }
    let mut file = draft.create(Table::Insights, 0)?;
    let path = file.path().to_owned();
    for line in documents.values() {
        file.write_all(line.as_bytes()).and_then(|()| file.write_all(b"\n")).at("write", &path)?;
    }
    Ok((vec![file.finish(u64::try_from(documents.len()).unwrap_or(u64::MAX))?], counts))
}

/// Hands on every line that is not blank, with its number from 1.
fn each_line(
    file: impl Read,
    shown: &Path,
    take: &mut dyn FnMut(u64, &str) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let mut blocks = Blocks::new(file, BLOCK, false);
    loop {
        let block = match blocks.next() {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(()),
            Err(BlockFault::Io(error)) => return Err(error).at("read", shown),
            Err(BlockFault::TooLong(line)) => {
                return Err(InputFault::Record { line, what: "the document does not end" }.of(shown));
            }
        };
        let text = crate::source::text(&block).map_err(|fault| fault.of(shown))?;
        for (line, text) in (block.line..).zip(text.lines()) {
            let text = text.trim_ascii();
            if !text.is_empty() {
                take(line, text)?;
            }
        }
    }
}

/// Why a line is no insight document.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("expected {{\"account\", \"date\", \"insight\"}}, but: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("expected an account key that is not empty and has no `,` and `/`, but found `{0}`")]
    Account(String),
    #[error(transparent)]
    Date(#[from] trueup_core::day::NotADay),
    #[error("expected a document as a JSON object")]
    Insight,
}

impl Fault {
    fn at(&self, line: u64, text: &str) -> RowFault {
        let (column, value) = match self {
            Self::Shape(_) => (None, text),
            Self::Account(account) => (Some("account"), account.as_str()),
            Self::Date(date) => (Some("date"), date.0.as_str()),
            Self::Insight => (Some("insight"), text),
        };
        RowFault {
            place: Place::Line(line),
            column: column.map(str::to_owned),
            value: Some(value.to_owned()),
            reason: self.to_string(),
            cells: Vec::new(),
        }
    }
}

/// The account and date of a line.
fn parse(text: &str) -> Result<(String, Day), Fault> {
    let line: Line<'_> = serde_json::from_str(text)?;
    if line.account.is_empty() || line.account.contains([',', '/']) {
        return Err(Fault::Account(line.account.into_owned()));
    }
    let day = line.date.parse()?;
    if !line.insight.get().starts_with('{') {
        return Err(Fault::Insight);
    }
    Ok((line.account.into_owned(), day))
}
