//! A file that is ingested.

use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, OPEN};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is ingested.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// What messages call it.
    pub(crate) shown: PathBuf,
}

impl Input {
    pub(crate) fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), shown: path.to_owned() }
    }

    /// Its bytes; 0 if they cannot be counted, which reading it will say better.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

/// Refuses files that are not there, any that is given twice under whatever name, and those in the folder of the dataset, whose files are
/// its own.
pub(crate) fn check(inputs: &[&Input], dataset: &Path) -> Result<(), IngestError> {
    let dataset = fs::canonicalize(dataset).ok();
    let mut seen = Vec::with_capacity(inputs.len());
    for input in inputs {
        let real = fs::canonicalize(&input.path).at(OPEN, &input.path)?;
        if dataset.as_ref().is_some_and(|dataset| real.starts_with(dataset)) {
            return Err(ErrorKind::InputInDataset(input.path.clone()).into());
        }
        if seen.contains(&real) {
            return Err(ErrorKind::GivenTwice(input.path.clone()).into());
        }
        seen.push(real);
    }
    Ok(())
}
