//! Any tables to canonical ones, as a mapping file says. The format is documented in `docs/mapping.md`.
//!
//! Stages, in the order in which data flows: `declaration` (the file as written), `check` (what can be known without data),
//! `inputs` (files as tables of text), `stream` (inputs joined, rows picked), `column` and `table` (canonical columns as a
//! plan), `credit` (first touch), and the Parquet files that are written here. polars carries the plan out, lazily.

mod cell;
mod check;
mod column;
mod credit;
mod declaration;
mod error;
mod fault;
mod field;
mod inputs;
mod origin;
mod pattern;
mod reading;
mod records;
mod rows;
mod scope;
mod stream;
mod table;

pub use error::{CellFault, MappingError};

use declaration::MappingFile;
use fault::FirstFault;
use field::CanonicalTable;
use polars::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stream::{TablePlanner, engine};
use table::TablePlan;

/// A mapping file, read and checked: how any tables become canonical ones.
#[derive(Clone, Debug)]
pub struct Mapping {
    path: PathBuf,
    declaration: MappingFile,
}

/// The files that a mapping wrote: Parquet in canonical form, in the order of the mapping's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFiles {
    /// Tables of events.
    pub events: Vec<PathBuf>,
    /// Tables of spend.
    pub spend: Vec<PathBuf>,
    /// Tables of accounts.
    pub accounts: Vec<PathBuf>,
}

impl Mapping {
    /// Reads a mapping file and checks what can be known without its data.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has a key that mappings do not have, or a key says what cannot be done.
    pub fn read(path: &Path) -> Result<Self, MappingError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| MappingError::Io { path: path.to_owned(), source })?;
        let declaration: MappingFile = toml::from_str(&text)
            .map_err(|source| MappingError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
        check::declaration(&declaration).map_err(|fault| fault.of(path))?;
        Ok(Self { path: path.to_owned(), declaration })
    }

    /// Writes the mapping's tables, made of the given CSV and Parquet files, into a folder that exists.
    ///
    /// Dates are written as dates, times in UTC with microseconds, amounts as they are read: text stays text.
    ///
    /// # Errors
    /// A file that no input names, or an input without a file; a file that cannot be read; a column that is not there; and
    /// the first row whose value cannot be taken. What was written by then stays in the folder and is of no use.
    pub fn run(&self, inputs: &[PathBuf], folder: &Path) -> Result<MappedFiles, MappingError> {
        distinct(inputs)?;
        let faults = FirstFault::default();
        let opened = inputs::open(&self.declaration, &self.path, inputs)?;
        let ground =
            TablePlanner { mapping: &self.path, maps: &self.declaration.map, inputs: &opened, faults: &faults };
        let write = |tables: Vec<TablePlan>, target: CanonicalTable| -> Result<Vec<PathBuf>, MappingError> {
            let mut paths = Vec::new();
            for (at, table) in tables.into_iter().enumerate() {
                let path = folder.join(format!("{}-{:03}.parquet", target.key(), at + 1));
                let written = sink(table, &path);
                // A row's fault says more than what came of it.
                faults.check(inputs)?;
                written?;
                paths.push(path);
            }
            Ok(paths)
        };
        let of_target = |target: CanonicalTable,
                         tables: &[declaration::TableDeclaration]|
         -> Result<Vec<TablePlan>, MappingError> {
            tables.iter().enumerate().map(|(at, table)| ground.table(target, table, at)).collect()
        };
        let spend = of_target(CanonicalTable::Spend, &self.declaration.spend)?;
        let accounts = of_target(CanonicalTable::Accounts, &self.declaration.accounts)?;
        let first_touch = self.declaration.first_touch.as_ref();
        let mut events = Vec::new();
        for (at, table) in self.declaration.events.iter().enumerate() {
            events.extend(ground.events(table, at, first_touch)?);
        }
        if let Some(first_touch) = first_touch {
            let credit = credit::first_conversions(&events, &first_touch.copy);
            faults.check(inputs)?;
            let credit = credit?;
            events = events.into_iter().map(|table| credit::give(table, &credit, &first_touch.copy)).collect();
        }
        Ok(MappedFiles {
            events: write(events, CanonicalTable::Events)?,
            spend: write(spend, CanonicalTable::Spend)?,
            accounts: write(accounts, CanonicalTable::Accounts)?,
        })
    }
}

/// Runs a plan into a Parquet file, batch by batch.
fn sink(table: TablePlan, path: &Path) -> Result<(), MappingError> {
    let TablePlan { frame, key, .. } = table;
    let target = PlRefPath::try_from_path(path).map_err(|source| engine(&key, source))?;
    let destination = SinkDestination::File { target: SinkTarget::Path(target) };
    let format = FileWriteFormat::Parquet(Arc::new(ParquetWriteOptions {
        compression: ParquetCompression::Lz4Raw,
        ..ParquetWriteOptions::default()
    }));
    frame
        .sink(destination, format, UnifiedSinkArgs::default())
        .and_then(|frame| frame.collect_with_engine(Engine::Streaming))
        .map(drop)
        .map_err(|source| engine(&key, source))
}

/// A file that is given twice would be counted twice.
fn distinct(files: &[PathBuf]) -> Result<(), MappingError> {
    let mut seen = std::collections::BTreeSet::new();
    for file in files {
        let whole = file.canonicalize().map_err(|source| MappingError::Io { path: file.clone(), source })?;
        if !seen.insert(whole) {
            return Err(MappingError::File { path: file.clone(), reason: "the file is given twice".to_owned() });
        }
    }
    Ok(())
}
