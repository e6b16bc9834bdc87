//! Published insight documents, read when they are asked for.

mod index;

use super::Dataset;
use super::checked::{CheckedFile, of_reader};
use super::manifest::DataFile;
use crate::error::{DatasetError, Error};
use crate::query::{AccountFilter, DateRange};
use crate::{Day, Interrupt};
use index::{Index, InsightLocation};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::thread;
use std::time::Duration;

/// How long to wait before looking again whether another thread has found the documents.
const PAUSE: Duration = Duration::from_millis(1);

/// A published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insight {
    /// The account.
    pub account: String,
    /// The day of publication.
    pub date: Day,
    /// The document, a JSON object, byte for byte as published.
    pub document: String,
}

/// The documents that match a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Insights {
    /// How many match.
    pub matched: usize,
    /// Those that match, by account and date; none if more match than were allowed.
    pub documents: Vec<Insight>,
}

/// The lines of a dataset's insights file, by account and date.
#[derive(Debug)]
pub(super) struct InsightFile {
    folder: PathBuf,
    file: DataFile,
    /// Made when it is first needed, and kept if the file is whole: one that is not may be mended.
    index: OnceLock<Arc<Index>>,
    /// Held by who makes it.
    making: Mutex<()>,
}

/// One line of an insights file.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    account: Cow<'a, str>,
    #[serde(borrow)]
    date: Cow<'a, str>,
    #[serde(borrow)]
    insight: &'a RawValue,
}

impl Dataset {
    /// The insights of accounts: those published on a day of `range`, or without one the most recent of each account. If more than
    /// `limit` match, they are counted only.
    ///
    /// # Errors
    /// A file does not read, or the interrupt ends it.
    pub fn insights(
        &self,
        accounts: &AccountFilter,
        range: Option<DateRange>,
        limit: usize,
        interrupt: &Interrupt,
    ) -> Result<Insights, Error> {
        let go_on = || interrupt.check().map_err(Error::from);
        go_on()?;
        let mut found = Insights::default();
        for insights in &self.insights {
            let index = insights.index(&go_on)?;
            let path = insights.folder.join(&insights.file.path);
            let places = index.find(accounts, range, &path)?;
            found.matched += places.len();
            if found.matched > limit {
                found.documents.clear();
                continue;
            }
            let file = CheckedFile::open(&insights.folder, &insights.file)?;
            for (account, InsightLocation { date, bytes }) in places {
                go_on()?;
                let document = index::document(&file, bytes)?;
                found.documents.push(Insight { account: account.to_owned(), date: *date, document });
            }
        }
        Ok(found)
    }
}

impl InsightFile {
    pub(super) const fn new(folder: PathBuf, file: DataFile) -> Self {
        Self { folder, file, index: OnceLock::new(), making: Mutex::new(()) }
    }

    /// Where its documents stand.
    fn index(&self, go_on: &impl Fn() -> Result<(), Error>) -> Result<Arc<Index>, Error> {
        loop {
            if let Some(index) = self.index.get() {
                return Ok(Arc::clone(index));
            }
            let _making = match self.making.try_lock() {
                Ok(making) => making,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    go_on()?;
                    thread::sleep(PAUSE);
                    continue;
                }
            };
            let index = match self.index.get() {
                Some(index) => Arc::clone(index),
                None => Arc::new(Index::of(&self.folder, &self.file, go_on)?),
            };
            if index.is_whole() {
                return Ok(Arc::clone(self.index.get_or_init(|| index)));
            }
            return Ok(index);
        }
    }
}

/// Hands over each document of a file, in order; every byte must be as it was written.
pub(super) fn each(
    folder: &Path,
    promised: &DataFile,
    mut take: impl FnMut(Insight) -> Result<(), String>,
) -> Result<(), DatasetError> {
    let file = CheckedFile::open(folder, promised)?;
    let path = file.path().to_owned();
    let mut lines = file.reader();
    let mut bytes = Vec::new();
    let mut number = 0;
    while lines.read_until(b'\n', &mut bytes).map_err(|error| of_reader(error, &path))? > 0 {
        number += 1;
        let taken = line(&bytes).and_then(|(account, date, document)| {
            take(Insight { account: account.into_owned(), date, document: document.to_owned() })
        });
        taken.map_err(|fault| DatasetError::Insight { path: path.clone(), line: number, fault })?;
        bytes.clear();
    }
    if number != promised.rows {
        return Err(DatasetError::Length { path, unit: "lines", found: number, promised: promised.rows });
    }
    Ok(())
}

/// The account, the day and the document of a line.
fn line(line: &[u8]) -> Result<(Cow<'_, str>, Day, &str), String> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| format!("no document: {error}"))?;
    if !line.insight.get().starts_with('{') {
        return Err("the insight is no object".to_owned());
    }
    let date = line.date.parse().map_err(|error: crate::day::NotADay| error.to_string())?;
    Ok((line.account, date, line.insight.get()))
}
