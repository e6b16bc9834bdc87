//! The lines of an insights file.

use super::Fault;
use crate::Day;
use crate::dataset::insights::each;
use crate::dataset::manifest::DataFile;
use std::path::Path;

/// Checks that there are as many lines as promised, each a document, by account and date.
pub(super) fn check(folder: &Path, promised: &DataFile) -> Result<(), Fault> {
    let mut last: Option<(String, Day)> = None;
    each(folder, promised, |insight| {
        let key = (insight.account, insight.date);
        if last.as_ref().is_some_and(|last| *last >= key) {
            return Err(format!("the document of `{}` and {} is out of order", key.0, key.1));
        }
        last = Some(key);
        Ok(())
    })?;
    Ok(())
}
