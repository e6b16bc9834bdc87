//! Published insight documents, read when they are asked for.

use super::Dataset;
use super::file::open_whole;
use super::manifest::DataFile;
use crate::Day;
use crate::error::DatasetError;
use crate::query::{Accounts, DateRange};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

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
    pub(super) folder: PathBuf,
    pub(super) file: DataFile,
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
    /// A file does not read.
    pub fn insights(
        &self,
        accounts: &Accounts,
        range: Option<DateRange>,
        limit: usize,
    ) -> Result<Insights, DatasetError> {
        let mut found = Insights::default();
        for InsightFile { folder, file } in &self.insights {
            let mut latest: Option<Insight> = None;
            each(folder, file, |insight| {
                if !accounts.contains(&insight.account) {
                    return Ok(());
                }
                match range {
                    Some(range) if (range.start..=range.end).contains(&insight.date) => found.push(insight, limit),
                    Some(_) => {}
                    // An account's lines come one after the other, the most recent last.
                    None => {
                        if let Some(before) = latest.take_if(|before| before.account != insight.account) {
                            found.push(before, limit);
                        }
                        latest = Some(insight);
                    }
                }
                Ok(())
            })?;
            if let Some(last) = latest {
                found.push(last, limit);
            }
        }
        Ok(found)
    }
}

impl Insights {
    fn push(&mut self, insight: Insight, limit: usize) {
        self.matched += 1;
        if self.matched > limit {
            self.documents.clear();
        } else {
            self.documents.push(insight);
        }
    }
}

/// Hands over each document of a file, in order.
pub(super) fn each(
    folder: &Path,
    file: &DataFile,
    mut take: impl FnMut(Insight) -> Result<(), String>,
) -> Result<(), DatasetError> {
    let path = folder.join(&file.path);
    let failed = |source| DatasetError::Io { path: path.clone(), source };
    let mut lines = BufReader::new(open_whole(folder, file)?);
    let mut line = Vec::new();
    let mut number = 0;
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        number += 1;
        parse(&line).and_then(&mut take).map_err(|fault| DatasetError::Insight {
            path: path.clone(),
            line: number,
            fault,
        })?;
        line.clear();
    }
    if number != file.rows {
        return Err(DatasetError::Length { path, unit: "lines", found: number, promised: file.rows });
    }
    Ok(())
}

fn parse(line: &[u8]) -> Result<Insight, String> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| format!("no document: {error}"))?;
    if !line.insight.get().starts_with('{') {
        return Err("the insight is no object".to_owned());
    }
    let date = line.date.parse().map_err(|error: crate::day::NotADay| error.to_string())?;
    Ok(Insight { account: line.account.into_owned(), date, document: line.insight.get().to_owned() })
}
