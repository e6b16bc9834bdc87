//! The files of an ingest, as given or as a mapping made them.

use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, OPEN};
use crate::table::Table;
use crate::version::VersionBuilder;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is ingested.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// The name in messages.
    pub(crate) shown: PathBuf,
}

impl Input {
    /// Makes an input of a file that the user gave.
    pub(crate) fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), shown: path.to_owned() }
    }

    /// Returns the file's bytes; 0 if the file cannot be read, because reading it reports a better error.
    pub(crate) fn size(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

/// Checks that every input exists, that none is given twice, even under different names, and that none lies in the
/// folder of the dataset.
pub(crate) fn check<'i>(inputs: impl Iterator<Item = &'i Input>, dataset: &Path) -> Result<(), IngestError> {
    let dataset = fs::canonicalize(dataset).ok();
    let mut seen = Vec::new();
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

/// The files that a mapping made of the event files. Empty without a mapping.
#[derive(Default)]
pub(crate) struct MappedInputs {
    files: Vec<(Table, Input)>,
    /// Every file that the mapping read, and the mapping itself.
    origins: Vec<PathBuf>,
    /// Whether there is a mapping, which then reads the event files.
    is_active: bool,
    #[cfg(feature = "mapping")]
    _scratch: Option<crate::version::Scratch>,
}

impl MappedInputs {
    #[cfg(not(feature = "mapping"))]
    pub(crate) fn make(
        mapping: Option<&Path>,
        _given: &[(Table, Input)],
        _version: &mut VersionBuilder,
    ) -> Result<Self, IngestError> {
        match mapping {
            None => Ok(Self::default()),
            Some(_) => Err(ErrorKind::MappingNotBuilt.into()),
        }
    }

    /// Runs a mapping over the event files. The files that it makes stay in a scratch folder until the result is
    /// dropped.
    #[cfg(feature = "mapping")]
    pub(crate) fn make(
        mapping: Option<&Path>,
        given: &[(Table, Input)],
        version: &mut VersionBuilder,
    ) -> Result<Self, IngestError> {
        let Some(path) = mapping else { return Ok(Self::default()) };
        let failed = |error| ErrorKind::Mapping(Box::new(error));
        let given = given.iter().filter(|(table, _)| *table == Table::Events);
        let raw: Vec<PathBuf> = given.map(|(_, input)| input.path.clone()).collect();
        let mapping = crate::mapping::Mapping::read(path).map_err(failed)?;
        let scratch = version.scratch()?;
        let made = mapping.run(&raw, scratch.path()).map_err(failed)?;
        let tables = [(Table::Events, made.events), (Table::Spend, made.spend), (Table::Accounts, made.accounts)];
        let files = tables.into_iter().flat_map(|(table, paths)| {
            let shown = PathBuf::from(format!("{}, table of {}", path.display(), table.name()));
            paths.into_iter().map(move |path| (table, Input { path, shown: shown.clone() }))
        });
        Ok(Self {
            files: files.collect(),
            origins: raw.into_iter().chain([path.to_owned()]).collect(),
            is_active: true,
            _scratch: Some(scratch),
        })
    }

    /// Returns the inputs of a table, and the files whose checksums decide whether the inputs are new.
    pub(crate) fn inputs(&self, table: Table, given: &[(Table, Input)]) -> (Vec<Input>, Vec<PathBuf>) {
        let direct = given.iter().filter(|(of, _)| *of == table && !(self.is_active && table == Table::Events));
        let mut inputs: Vec<Input> = direct.map(|(_, input)| input.clone()).collect();
        let mut origins: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
        let mapped = self.files.iter().filter(|(of, _)| *of == table).map(|(_, input)| input.clone());
        let direct = inputs.len();
        inputs.extend(mapped);
        if inputs.len() > direct {
            origins.extend(self.origins.iter().cloned());
        }
        (inputs, origins)
    }
}
