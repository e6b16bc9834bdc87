//! Published insight documents, read when they are asked for.

use super::Dataset;
use super::blocks::{BLOCK, Blocks};
use super::file::open_sized;
use super::manifest::DataFile;
use crate::error::{DatasetError, Error};
use crate::query::{Accounts, DateRange};
use crate::{Day, Interrupt};
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
    /// A file does not read, or the interrupt ends it.
    pub fn insights(
        &self,
        accounts: &Accounts,
        range: Option<DateRange>,
        limit: usize,
        interrupt: &Interrupt,
    ) -> Result<Insights, Error> {
        let go_on = || interrupt.check().map_err(Error::from);
        go_on()?;
        let mut found = Insights::default();
        for InsightFile { folder, file } in &self.insights {
            let mut latest: Option<Insight> = None;
            lines(folder, file, go_on, |insight| {
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
    take: impl FnMut(Insight) -> Result<(), String>,
) -> Result<(), DatasetError> {
    lines(folder, file, || Ok(()), take)
}

/// Hands over each document of a file, in order, as long as it may go on; every byte must be as it was written.
fn lines<E: From<DatasetError>>(
    folder: &Path,
    promised: &DataFile,
    go_on: impl Fn() -> Result<(), E>,
    mut take: impl FnMut(Insight) -> Result<(), String>,
) -> Result<(), E> {
    let path = folder.join(&promised.path);
    let failed = |source| DatasetError::Io { path: path.clone(), source };
    let file = open_sized(folder, promised)?;
    let blocks = Blocks::new(&path, promised)?;
    let mut checked = 0;
    while checked < promised.size {
        go_on()?;
        blocks.check(&file, checked..checked + BLOCK)?;
        checked += BLOCK;
    }
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    let mut number = 0;
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        go_on()?;
        number += 1;
        parse(&line).and_then(&mut take).map_err(|fault| DatasetError::Insight {
            path: path.clone(),
            line: number,
            fault,
        })?;
        line.clear();
    }
    if number != promised.rows {
        return Err(DatasetError::Length { path, unit: "lines", found: number, promised: promised.rows }.into());
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
