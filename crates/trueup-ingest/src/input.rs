//! A file that is ingested.

use crate::IngestError;
use crate::error::{AtPath, Kind, OPEN};
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

/// Refuses files that are not there, and any that is given twice under whatever name.
pub(crate) fn check(inputs: &[&Input]) -> Result<(), IngestError> {
    let mut seen = Vec::with_capacity(inputs.len());
    for input in inputs {
        let real = fs::canonicalize(&input.path).at(OPEN, &input.path)?;
        if seen.contains(&real) {
            return Err(Kind::GivenTwice(input.path.clone()).into());
        }
        seen.push(real);
    }
    Ok(())
}
