//! The commands of the program. Each file implements one or two commands, except seven: `option_values` parses the
//! values of options, `block_cache` has the options of the block cache, `names` checks account keys, `range` has the
//! options for the days of a query, `directory` opens the directory of a dataset, `service` has the options of a
//! service, and `explain_report` has the JSON of `explain`.

mod batch;
mod bench;
mod block_cache;
mod demo;
mod directory;
mod explain_report;
mod fields;
mod get;
mod ingest;
mod inspect;
mod keys;
mod mapping;
mod names;
mod option_values;
mod orgs;
mod query;
mod range;
mod serve;
mod service;
mod shell;
mod users;

use crate::exit::Failure;
use std::path::Path;
use trueup::Dataset;

/// A command. The help text of each is the documentation of its type.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(bench::BenchCommand),
    Demo(demo::DemoCommand),
    Ingest(ingest::IngestCommand),
    #[command(subcommand)]
    Mapping(mapping::MappingCommand),
    Query(query::QueryCommand),
    Batch(batch::BatchCommand),
    Explain(query::ExplainCommand),
    Fields(fields::FieldsCommand),
    Inspect(inspect::InspectCommand),
    Verify(inspect::VerifyCommand),
    Get(get::GetCommand),
    Serve(serve::ServeCommand),
    #[command(subcommand)]
    Users(users::UsersCommand),
    #[command(subcommand)]
    Orgs(orgs::OrgsCommand),
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    Completions(shell::CompletionsCommand),
    Man(shell::ManCommand),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Bench(command) => command.run(),
            Self::Demo(command) => command.run(),
            Self::Ingest(command) => command.run(),
            Self::Mapping(command) => command.run(),
            Self::Query(command) => command.run(),
            Self::Batch(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Fields(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Verify(command) => command.run(),
            Self::Get(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Users(command) => command.run(),
            Self::Orgs(command) => command.run(),
            Self::Keys(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}

/// Opens a version of the dataset in `folder`, which may be a URL; `None` means the newest version.
fn open_dataset(folder: &Path, version: Option<u64>) -> Result<Dataset, Failure> {
    Ok(match version {
        Some(version) => Dataset::open_version(folder, version)?,
        None => Dataset::open(folder)?,
    })
}
