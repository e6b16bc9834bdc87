//! The commands, one file each.

mod accounts;
mod batch;
mod bench;
mod demo;
mod directory;
mod explain;
mod get;
mod ingest;
mod inspect;
mod keys;
mod orgs;
mod query;
mod question;
mod secret;
mod selection;
mod serve;
mod service;
mod size;
mod suggestion;
mod threads;
mod users;
mod verify;

use crate::exit::Failure;

/// What the program is asked to do; each command says itself what it is for.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(bench::BenchCommand),
    Demo(demo::DemoCommand),
    Ingest(ingest::IngestCommand),
    Query(query::QueryCommand),
    Batch(batch::BatchCommand),
    Explain(explain::ExplainCommand),
    Inspect(inspect::InspectCommand),
    Verify(verify::VerifyCommand),
    Get(get::GetCommand),
    Serve(serve::ServeCommand),
    #[command(subcommand)]
    Users(users::UsersCommand),
    #[command(subcommand)]
    Orgs(orgs::OrgsCommand),
    #[command(subcommand)]
    Keys(keys::KeysCommand),
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Bench(command) => command.run(),
            Self::Demo(command) => command.run(),
            Self::Ingest(command) => command.run(),
            Self::Query(command) => command.run(),
            Self::Batch(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Verify(command) => command.run(),
            Self::Get(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Users(command) => command.run(),
            Self::Orgs(command) => command.run(),
            Self::Keys(command) => command.run(),
        }
    }
}
