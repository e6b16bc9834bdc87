//! The commands, one file each.

mod demo;
mod explain;
mod ingest;
mod inspect;
mod query;
mod selection;
mod size;
mod verify;

use crate::exit::Failure;

/// What the program is asked to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a synthetic demo dataset, report on it, and say what to try next
    Demo(demo::Demo),
    /// Bring Parquet, CSV or NDJSON files into a dataset; all or nothing
    Ingest(ingest::Ingest),
    /// Ask for metrics
    Query(query::Query),
    /// Show the plan of a query: sub-ranges, columns read, row groups kept and skipped, groups
    Explain(explain::Explain),
    /// Show what a dataset holds
    Inspect(inspect::Inspect),
    /// Check that every file of a dataset is what its manifest says
    Verify(verify::Verify),
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Demo(command) => command.run(),
            Self::Ingest(command) => command.run(),
            Self::Query(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Verify(command) => command.run(),
        }
    }
}
