//! The commands of the program. Each file implements one or two commands, except ten: `option_values` parses the
//! values of options, `jobs_values` reads jobs files and the values that they share, `block_cache` has the options of
//! the block cache, `wait` has the option of commands that may have to wait for others, `names` checks account keys,
//! `range` has the options for the days of a query, `output_args` has the options for where the rows of an answer go,
//! `directory` opens the directory of a dataset, `service` has the options of a service, and `file_count` prints how
//! many files a command has removed or merged.

mod batch;
mod bench;
mod block_cache;
mod branding;
mod compact;
mod define;
mod demo;
mod diff;
mod directory;
mod expire;
mod explore;
mod fields;
mod file_count;
mod forget;
mod get;
mod ingest;
mod insights;
mod inspect;
mod jobs_values;
mod keys;
mod mapping;
mod mcp;
mod option_values;
mod orgs;
mod output_args;
mod protocol;
mod query;
mod query_options;
mod report;
mod restore;
mod serve;
mod service;
mod shell;
mod users;
mod versions;
mod wait;
mod why;

use crate::exit::Failure;
use crate::progress::Step;
use crate::telemetry;
use std::path::Path;
use trueup::versions::AsOf;
use trueup::{Dataset, Interrupt};

/// Declares the commands, each with its type.
macro_rules! commands {
    ($($(#[$attribute:meta])? $name:ident($module:ident::$command:ident),)*) => {
        /// A command. The help text of each is the documentation of its type.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])? $name($module::$command),)*
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(self) -> Result<(), Failure> {
                // The logs of `serve` and `explore` are set up together with their traces.
                if !matches!(self, Self::Serve(_) | Self::Explore(_)) {
                    telemetry::start()?;
                }
                match self {
                    $(Self::$name(command) => command.run(),)*
                }
            }
        }
    };
}

commands! {
    Bench(bench::BenchCommand),
    Demo(demo::DemoCommand),
    Ingest(ingest::IngestCommand),
    #[command(subcommand)]
    Mapping(mapping::MappingCommand),
    Define(define::DefineCommand),
    Query(query::QueryCommand),
    Batch(batch::BatchCommand),
    Report(report::ReportCommand),
    #[command(subcommand)]
    Insights(insights::InsightsCommand),
    Explain(query::ExplainCommand),
    Why(why::WhyCommand),
    Fields(fields::FieldsCommand),
    Inspect(inspect::InspectCommand),
    Verify(inspect::VerifyCommand),
    Versions(versions::VersionsCommand),
    Diff(diff::DiffCommand),
    Compact(compact::CompactCommand),
    Expire(expire::ExpireCommand),
    Vacuum(expire::VacuumCommand),
    Forget(forget::ForgetCommand),
    Restore(restore::RestoreCommand),
    Get(get::GetCommand),
    Serve(serve::ServeCommand),
    Explore(explore::ExploreCommand),
    Mcp(mcp::McpCommand),
    #[command(subcommand)]
    Users(users::UsersCommand),
    #[command(subcommand)]
    Orgs(orgs::OrgsCommand),
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    Completions(shell::CompletionsCommand),
    Man(shell::ManCommand),
}

/// Reads the footers of all files of a dataset, so that one which is missing or damaged is noticed now, and not by a
/// request.
fn check_footers(dataset: &Dataset) -> Result<(), Failure> {
    let _step = Step::new("checking files");
    Ok(dataset.read_footers(&Interrupt::default())?)
}

/// Opens the dataset in `folder`, which may be a URL: the version that is meant; `None` means the newest.
fn open_dataset(folder: &Path, as_of: Option<AsOf>) -> Result<Dataset, Failure> {
    let _step = Step::new("opening the dataset");
    Ok(match as_of {
        Some(as_of) => Dataset::open_as_of(folder, as_of)?,
        None => Dataset::open(folder)?,
    })
}
