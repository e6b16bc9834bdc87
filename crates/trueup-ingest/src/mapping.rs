//! Turns tables of any shape into canonical tables, whose columns have the names of the data model, as a mapping file
//! describes. `docs/mapping.md` documents the format.
//!
//! ```text
//! Mapping::read        the file as written, and a check without data   declaration.rs, check.rs
//! Mapping::run
//!   inputs::open       files as tables of text, each row with its location   inputs.rs, csv_outline.rs
//!   TablePlanner       a plan for each canonical table
//!     joined_rows      joins inputs and picks rows                     join.rs
//!     ColumnCompiler   the origin of each column, read by type         column.rs, origin.rs, values.rs, expressions.rs
//!     table, events    canonical tables                                table.rs, canonical.rs
//!     first_conversions, give_credit   first-touch credit              table.rs
//!   sink               polars runs each plan and writes Parquet
//! ```

mod canonical;
mod check;
mod column;
mod csv_outline;
mod declaration;
mod error;
mod expressions;
mod inputs;
mod join;
mod origin;
mod table;
mod values;

pub use error::{MappingError, ValueFault};

use canonical::CanonicalTable;
use declaration::{MappingFile, TableDeclaration};
use error::FirstFault;
use join::TablePlanner;
use polars::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::{TablePlan, first_conversions, give_credit};

/// A mapping, which describes how the rows of CSV and Parquet files become events, spend and accounts.
///
/// ```
/// use trueup_ingest::mapping::Mapping;
///
/// # let dir = tempfile::tempdir()?;
/// let (file, jobs) = (dir.path().join("jobs.toml"), dir.path().join("jobs.csv"));
/// std::fs::write(&file, r#"
/// [input.jobs]
/// file = "jobs.csv"
///
/// [[events]]
/// from = "jobs"
/// columns = { account = { value = "acme" }, opportunityId = "id", type = { value = "sold" }, date = "day" }
/// "#)?;
/// std::fs::write(&jobs, "id,day\n7,2025-01-31\n")?;
/// let made = Mapping::read(&file)?.run(&[jobs], dir.path())?;
/// assert_eq!(made.events, [dir.path().join("events-001.parquet")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mapping {
    path: PathBuf,
    file: MappingFile,
}

/// The files that a mapping wrote: canonical Parquet files, in the order of the mapping's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFiles {
    /// Files of events.
    pub events: Vec<PathBuf>,
    /// Files of spend.
    pub spend: Vec<PathBuf>,
    /// Files of accounts.
    pub accounts: Vec<PathBuf>,
}

impl Mapping {
    /// Reads a mapping file and checks it as far as possible without data.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has a key that mappings do not have, or has a key that cannot be carried
    /// out.
    pub fn read(path: &Path) -> Result<Self, MappingError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| MappingError::Io { path: path.to_owned(), source })?;
        let file: MappingFile = toml::from_str(&text)
            .map_err(|source| MappingError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
        check::mapping(&file).map_err(|fault| fault.of(path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Makes the mapping's tables from the given CSV and Parquet files, and writes them to a folder that exists.
    ///
    /// Dates are written as dates, times as UTC microseconds, and amounts as they are read: text stays text.
    ///
    /// # Errors
    /// A file belongs to no input, an input has no file, a file cannot be read, a column does not exist, or a value
    /// cannot be read; the first such row is reported. Files written before the error stay in the folder and are of no
    /// use.
    pub fn run(&self, inputs: &[PathBuf], folder: &Path) -> Result<MappedFiles, MappingError> {
        check_distinct(inputs)?;
        let first_fault = FirstFault::default();
        let opened = inputs::open(&self.file, &self.path, inputs)?;
        let planner =
            TablePlanner { mapping: &self.path, maps: &self.file.map, inputs: &opened, first_fault: &first_fault };
        let plan = |target, tables: &[TableDeclaration]| -> Result<Vec<TablePlan>, MappingError> {
            tables.iter().enumerate().map(|(at, table)| planner.table(target, table, at)).collect()
        };
        let write = |tables: Vec<TablePlan>, target: CanonicalTable| -> Result<Vec<PathBuf>, MappingError> {
            let mut paths = Vec::new();
            for (at, table) in tables.into_iter().enumerate() {
                let path = folder.join(format!("{}-{:03}.parquet", target.key(), at + 1));
                let written = sink(table, &path);
                // The fault of a row says more than the error that it causes.
                first_fault.check(inputs)?;
                written?;
                paths.push(path);
            }
            Ok(paths)
        };
        let spend = plan(CanonicalTable::Spend, &self.file.spend)?;
        let accounts = plan(CanonicalTable::Accounts, &self.file.accounts)?;
        let first_touch = self.file.first_touch.as_ref();
        let mut events = Vec::new();
        for (at, table) in self.file.events.iter().enumerate() {
            events.extend(planner.events(table, at, first_touch)?);
        }
        if let Some(first_touch) = first_touch {
            let credit = first_conversions(&events, &first_touch.copy);
            first_fault.check(inputs)?;
            let credit = credit?;
            events = events.into_iter().map(|table| give_credit(table, &credit, &first_touch.copy)).collect();
        }
        Ok(MappedFiles {
            events: write(events, CanonicalTable::Events)?,
            spend: write(spend, CanonicalTable::Spend)?,
            accounts: write(accounts, CanonicalTable::Accounts)?,
        })
    }
}

/// Runs a plan batch by batch, and writes the rows to a Parquet file.
fn sink(table: TablePlan, path: &Path) -> Result<(), MappingError> {
    let TablePlan { frame, key, .. } = table;
    let target = PlRefPath::try_from_path(path).map_err(|source| MappingError::engine(&key, source))?;
    let destination = SinkDestination::File { target: SinkTarget::Path(target) };
    let format = FileWriteFormat::Parquet(Arc::new(ParquetWriteOptions {
        compression: ParquetCompression::Lz4Raw,
        ..ParquetWriteOptions::default()
    }));
    frame
        .sink(destination, format, UnifiedSinkArgs::default())
        .and_then(|frame| frame.collect_with_engine(Engine::Streaming))
        .map(drop)
        .map_err(|source| MappingError::engine(&key, source))
}

/// Checks that no file is given twice, because its rows would count twice.
fn check_distinct(files: &[PathBuf]) -> Result<(), MappingError> {
    let mut seen = BTreeSet::new();
    for file in files {
        let real = file.canonicalize().map_err(|source| MappingError::Io { path: file.clone(), source })?;
        if !seen.insert(real) {
            return Err(MappingError::File { path: file.clone(), reason: "the file is given twice".to_owned() });
        }
    }
    Ok(())
}
