//! Inputs that a mapping has turned into canonical ones, and inputs that need none.

use crate::error::ErrorKind;
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{IngestError, Input};
use std::path::{Path, PathBuf};

/// What a mapping made, if there is one.
#[derive(Default)]
pub(crate) struct MappedInputs {
    files: Vec<(Table, Input)>,
    /// Every file that the mapping read, and itself.
    origins: Vec<PathBuf>,
    /// Whether the files given as events were the mapping's.
    active: bool,
    #[cfg(feature = "mapping")]
    _scratch: Option<crate::version::Scratch>,
}

impl MappedInputs {
    #[cfg(not(feature = "mapping"))]
    pub(crate) fn make(
        mapping: Option<&Path>,
        _given: &[(Table, Input)],
        _draft: &mut VersionBuilder,
    ) -> Result<Self, IngestError> {
        match mapping {
            None => Ok(Self::default()),
            Some(_) => Err(ErrorKind::MappingNotBuilt.into()),
        }
    }

    #[cfg(feature = "mapping")]
    pub(crate) fn make(
        mapping: Option<&Path>,
        given: &[(Table, Input)],
        version: &mut VersionBuilder,
    ) -> Result<Self, IngestError> {
        let Some(path) = mapping else { return Ok(Self::default()) };
        let failed = |error| ErrorKind::Mapping(Box::new(error));
        let raw: Vec<PathBuf> =
            given.iter().filter(|(table, _)| *table == Table::Events).map(|(_, input)| input.path.clone()).collect();
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
            active: true,
            _scratch: Some(scratch),
        })
    }

    /// The inputs of a table, and the files that decide whether they are new.
    pub(crate) fn inputs(&self, table: Table, given: &[(Table, Input)]) -> (Vec<Input>, Vec<PathBuf>) {
        let direct = given.iter().filter(|(of, _)| *of == table && !(self.active && table == Table::Events));
        let mut inputs: Vec<Input> = direct.map(|(_, input)| input.clone()).collect();
        let mut origins: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
        let mapped: Vec<Input> =
            self.files.iter().filter(|(of, _)| *of == table).map(|(_, input)| input.clone()).collect();
        if !mapped.is_empty() {
            inputs.extend(mapped);
            origins.extend(self.origins.iter().cloned());
        }
        (inputs, origins)
    }
}
