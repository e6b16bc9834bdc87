//! The lines of an insights file.

use super::Fault;
use crate::Day;
use crate::dataset::file::open_sized;
use crate::dataset::manifest::DataFile;
use crate::error::DatasetError;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::path::Path;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    account: Cow<'a, str>,
    #[serde(borrow)]
    date: Cow<'a, str>,
    #[serde(borrow)]
    insight: &'a RawValue,
}

/// Checks that there are as many lines as promised, each a document, by account and date.
pub(super) fn check(folder: &Path, promised: &DataFile) -> Result<(), Fault> {
    let path = folder.join(&promised.path);
    let mut lines = BufReader::new(open_sized(folder, promised)?);
    let mut found: u64 = 0;
    let mut last: Option<(String, Day)> = None;
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(|source| DatasetError::Io { path: path.clone(), source })? > 0 {
        found += 1;
        let key = key(&line).map_err(|fault| Fault(format!("`{}`, line {found}: {fault}", path.display())))?;
        if last.as_ref().is_some_and(|last| *last >= key) {
            let (account, date) = key;
            let fault = format!("the document of `{account}` and {date} is out of order");
            return Err(Fault(format!("`{}`, line {found}: {fault}", path.display())));
        }
        last = Some(key);
        line.clear();
    }
    if found == promised.rows {
        return Ok(());
    }
    Err(DatasetError::Length { path, unit: "lines", found, promised: promised.rows }.into())
}

/// The account and date of a line.
fn key(line: &[u8]) -> Result<(String, Day), String> {
    let document: Document<'_> = serde_json::from_slice(line).map_err(|error| format!("no document: {error}"))?;
    if !document.insight.get().starts_with('{') {
        return Err("the insight is no object".to_owned());
    }
    let date = document.date.parse().map_err(|error: crate::day::NotADay| error.to_string())?;
    Ok((document.account.into_owned(), date))
}
