//! Published insight documents. A document is read when a request needs it.

mod found;
mod index;

pub use found::Insights;

use super::Dataset;
use super::checked_file::{CheckedFile, ExpectedFile};
use super::error::DatasetError;
use super::manifest::DataFile;
use crate::day::ParseDayError;
use crate::error::Error;
use crate::query::{AccountFilter, DateRange};
use crate::{Day, Interrupt};
use index::InsightIndex;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// A published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insight {
    /// The account.
    pub account: String,
    /// The day of publication.
    pub date: Day,
    /// The document, a JSON object, exactly as published.
    pub document: String,
}

/// The insights file of a dataset, whose lines are sorted by account and date.
#[derive(Debug)]
pub(super) struct InsightFile {
    file: Arc<ExpectedFile>,
    /// The number of lines, as the manifest says.
    lines: u64,
    /// Made when it is first needed. The index of a damaged file is not kept, because the file may be repaired.
    index: OnceLock<Arc<InsightIndex>>,
    /// Locked by the thread that makes the index.
    making: Mutex<()>,
}

/// A line of an insights file, such as `{"account":"acme","date":"2025-01-31","insight":{"text":"…"}}`.
#[derive(Debug)]
pub struct InsightLine<'a> {
    /// The account.
    pub account: Cow<'a, str>,
    /// The day of publication.
    pub date: Day,
    /// The document, a JSON object, exactly as in the line.
    pub document: &'a str,
}

/// Why a line is not an insight.
#[derive(Debug, thiserror::Error)]
pub enum InsightLineFault {
    /// The line is not a JSON object with exactly the members `account`, `date` and `insight`.
    #[error("no document: {0}")]
    Json(#[from] serde_json::Error),
    /// The date is not a day.
    #[error(transparent)]
    Date(#[from] ParseDayError),
    /// The document is not a JSON object.
    #[error("the insight is no object")]
    NotAnObject,
    /// The key of the account is empty, or has a `,` or a `/`.
    #[error("expected an account key without `,` and `/`, but found `{0}`")]
    Account(String),
}

impl<'a> InsightLine<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// The line is not an insight.
    pub fn parse(line: &'a [u8]) -> Result<Self, InsightLineFault> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members<'a> {
            #[serde(borrow)]
            account: Cow<'a, str>,
            #[serde(borrow)]
            date: Cow<'a, str>,
            #[serde(borrow)]
            insight: &'a RawValue,
        }
        // serde also takes an array of the three values.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(InsightLineFault::Json(serde::de::Error::custom("this is no object")));
        }
        let Members { account, date, insight } = serde_json::from_slice(line)?;
        let (date, document) = (date.parse()?, insight.get());
        if !document.starts_with('{') {
            return Err(InsightLineFault::NotAnObject);
        }
        if account.is_empty() || account.contains([',', '/']) {
            return Err(InsightLineFault::Account(account.into_owned()));
        }
        Ok(Self { account, date, document })
    }
}

impl Dataset {
    /// Finds the insights of accounts that were published on a day of `range` or, without a range, the most recent one
    /// of each account. If more than `limit` match, they are only counted. An account without insights, or that the
    /// dataset does not have, adds nothing; a dataset in memory has no insights.
    ///
    /// The documents are read when the returned iterator reaches them.
    ///
    /// # Errors
    /// The index cannot be read, a part of the file that may hold a document is damaged, or `interrupt` ends the
    /// search.
    pub fn insights(
        &self,
        accounts: &AccountFilter,
        range: Option<DateRange>,
        limit: usize,
        interrupt: &Interrupt,
    ) -> Result<Insights, Error> {
        interrupt.check()?;
        let Some(insights) = &self.insights else { return Ok(Insights::default()) };
        let index = insights.index(interrupt)?;
        let locations = index.find(accounts, range, insights.file.path())?;
        if locations.len() > limit || locations.is_empty() {
            return Ok(Insights::counted(locations.len()));
        }
        Ok(Insights::found(&insights.file.open()?, &locations))
    }
}

impl InsightFile {
    /// Checks the length of a file that the manifest of a dataset's folder names.
    pub(super) fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let file = ExpectedFile::new(folder, promised)?;
        file.check_length()?;
        Ok(Self { file, lines: promised.rows, index: OnceLock::new(), making: Mutex::new(()) })
    }

    /// Checks that the file is there, and as long as the manifest says.
    pub(super) fn check_length(&self) -> Result<(), DatasetError> {
        self.file.check_length()
    }

    /// Returns the index, and makes it if needed.
    fn index(&self, interrupt: &Interrupt) -> Result<Arc<InsightIndex>, Error> {
        if let Some(index) = self.index.get() {
            return Ok(Arc::clone(index));
        }
        let _making = interrupt.lock(&self.making)?;
        if let Some(index) = self.index.get() {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(InsightIndex::build(&self.file.open()?.until(interrupt), self.lines, interrupt)?);
        Ok(if index.is_whole() { Arc::clone(self.index.get_or_init(|| index)) } else { index })
    }
}

/// Checks the number of lines of a file, that each is a document, and their order.
pub(super) fn check(folder: &Path, promised: &DataFile) -> Result<(), Error> {
    let file = CheckedFile::open(folder, promised)?;
    let index = InsightIndex::build(&file, promised.rows, &Interrupt::default())?;
    Ok(index.find(&AccountFilter::All, None, file.path()).map(drop)?)
}
