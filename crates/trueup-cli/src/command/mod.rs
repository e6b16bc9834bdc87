//! The commands, one file each.

mod demo;
mod explain;
mod ingest;
mod inspect;
mod query;
mod selection;
mod size;
mod suggestion;
mod threads;
mod verify;

use crate::exit::Failure;

/// What the program is asked to do; each command says itself what it is for.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Ingest(ingest::Ingest),
    Query(query::Query),
    Explain(explain::Explain),
    Inspect(inspect::Inspect),
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
