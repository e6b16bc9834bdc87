//! The inputs of an ingest as they were given, and what is checked before any of them is read.

use super::Ingestion;
use crate::error::{ErrorContext, ErrorKind, FileFault, OPEN};
use crate::given::{StreamReader, expand, expand_url, is_stream};
use crate::received::{Producer, SourceRows};
use crate::source::{FileFormat, FolderColumn, ReadOptions, separator};
use crate::table::Table;
use crate::{IngestError, Input, Outputs};
use glob::Pattern;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::{RemoteFile, is_url, without_credentials};

/// An input as it was given.
pub(super) struct GivenInput {
    pub(super) table: Table,
    pub(super) input: Input,
    /// Produces the file of the input, if it has none yet.
    pub(super) producer: Option<Producer>,
    /// Whether the path of `input` says which file it is, unlike the name of a reader, or a URL with a `?`, whose rest
    /// is not shown.
    is_path: bool,
    /// The file at a URL that is received.
    pub(super) remote: Option<RemoteFile>,
}

impl Ingestion {
    /// Takes the sources, and returns each file that they stand for and each other source as an input. Checks the
    /// settings of reading, and the files (`check_paths`).
    /// `is_mapped` says whether a mapping reads the events.
    pub(super) fn given(&mut self, dataset: &Path, is_mapped: bool) -> Result<Vec<GivenInput>, IngestError> {
        let known = |char| separator(char).ok_or_else(|| IngestError::from(ErrorKind::Delimiter(char)));
        let separator = self.delimiter.map(known).transpose()?;
        let ignore = self.ignore.iter().map(|text| {
            let pattern = PathBuf::from(text);
            Pattern::new(text).map_err(|error| IngestError::from(ErrorKind::Pattern { pattern, reason: error.msg }))
        });
        let ignore = ignore.collect::<Result<Vec<_>, _>>()?;
        let sources = std::mem::take(&mut self.sources);
        let options = |format, folders| {
            let ignore = ignore.clone();
            Arc::new(ReadOptions { format, separator, ignore, folders, ..self.reading.clone() })
        };
        let mut given = Vec::new();
        for (table, source) in sources {
            let (rows, shown) = source.into_parts(table);
            let path = match rows {
                SourceRows::Path(path) => path,
                SourceRows::Produced(format, producer) => {
                    if table == Table::Insights && format != FileFormat::NDJSON {
                        return Err(FileFault::NotDocuments.at(&shown));
                    }
                    let options = options(Some(format), Vec::new());
                    let input = Input { options, ..Input::given(&shown) };
                    given.push(GivenInput { table, input, producer: Some(producer), is_path: false, remote: None });
                    continue;
                }
            };
            // The format of canonical events is given; a file of another table or of a mapping may say its own.
            let is_given = |path: &Path| table == Table::Events && !is_mapped || FileFormat::from_name(path).is_none();
            let format = |path: &Path| self.format.filter(|_| is_given(path));
            if is_url(&path) {
                // What follows a `?` is not shown, but may say which file it is.
                let is_path = !path.to_string_lossy().contains('?');
                for file in expand_url(&path, format(&without_credentials(&path)).is_some())? {
                    let shown = file.shown();
                    let options = options(format(shown), FolderColumn::all(shown));
                    let input = Input { options, ..Input::given(shown) };
                    let remote = Some(file.clone());
                    let producer = Some(Producer::Reader(Box::new(file.into_reader())));
                    given.push(GivenInput { table, input, producer, is_path, remote });
                }
                continue;
            }
            for file in expand(&path, format(&path).is_some())? {
                let input = Input { options: options(format(&file), FolderColumn::all(&file)), ..Input::given(&file) };
                let producer = is_stream(&input).then(|| Producer::Reader(Box::new(StreamReader::new(file))));
                given.push(GivenInput { table, input, producer, is_path: true, remote: None });
            }
        }
        if given.is_empty() {
            return Err(ErrorKind::NothingToIngest.into());
        }
        check_paths(given.iter().filter(|given| given.is_path).map(|given| &given.input), dataset)?;
        Ok(given)
    }

    /// Checks that the rejects file may be written. Returns its path, and the [`Outputs`] that create it; `None` if the
    /// ingest has no such file.
    pub(super) fn checked_rejects(
        &self,
        dataset: &Path,
        given: &[GivenInput],
    ) -> Result<Option<(PathBuf, Outputs)>, IngestError> {
        let Some(path) = self.rejects.clone() else { return Ok(None) };
        let outputs = Outputs::new(self.replace_rejects).dataset(dataset);
        let paths = given.iter().filter(|given| given.is_path).map(|given| &given.input.path);
        let outputs = paths.chain(&self.mapping).fold(outputs, Outputs::input);
        outputs.check(&path).map_err(ErrorKind::Output)?;
        Ok(Some((path, outputs)))
    }
}

/// Checks that every input exists, that none is given twice, even under different names, and that none lies in the
/// folder of the dataset.
fn check_paths<'i>(inputs: impl Iterator<Item = &'i Input>, dataset: &Path) -> Result<(), IngestError> {
    let dataset = if is_url(dataset) { Some(without_credentials(dataset)) } else { fs::canonicalize(dataset).ok() };
    let mut seen = HashSet::new();
    for input in inputs {
        let real = match fs::canonicalize(&input.path) {
            _ if is_url(&input.path) => input.path.clone(),
            // A stream may have no name that can be followed.
            Err(_) if is_stream(input) => input.path.clone(),
            real => real.at(OPEN, &input.path)?,
        };
        if dataset.as_ref().is_some_and(|dataset| real.starts_with(dataset)) {
            return Err(ErrorKind::InputInDataset(input.path.clone()).into());
        }
        if !seen.insert(real) {
            return Err(ErrorKind::GivenTwice(input.path.clone()).into());
        }
    }
    Ok(())
}
