//! The `trueup` program: raw event data in, exact numbers out.
//!
//! [`command`] runs the command, which writes its result to stdout through [`output`]. [`notice`] writes everything
//! else to stderr. [`terminal`] makes both safe for a terminal. [`exit`] maps every failure to an exit code,
//! [`signals`] interrupts a command, and [`panics`] describes a panic that ends the program. [`progress`] shows how far
//! a command is, [`report`] makes the reports of `trueup report`, and [`telemetry`] exports traces.

mod command;
mod exit;
mod notice;
mod output;
mod panics;
mod progress;
mod report;
mod signals;
mod telemetry;
mod terminal;

use clap::Parser;
use command::Command;
use exit::{Exit, Failure};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::LazyLock;

/// The allocator of the program. It requests huge pages, which make address translation cheaper, and keeps the memory
/// that a query frees for the next query.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The text below the list of commands.
const AFTER_HELP: &str = "\
New to trueup? `trueup demo` creates a sample dataset and prints commands to try on it. With data of your own:
  trueup ingest events.csv --spend spend.csv --accounts accounts.csv --into my-data
  trueup query my-data --fields attributionChannel,leads,bookRate --month 2025-03
`trueup fields` lists what to ask for. To serve other people over HTTP, use `users`, `orgs` and `keys` to say who may \
see which accounts, and run `serve`.

`trueup COMMAND --help` describes a command in full. Results go to stdout, everything else to stderr.
Exit codes: 0 done; 1 the request, the data or the machine is at fault; 2 wrong usage; 3 trueup is at fault; 128 plus \
the number of the signal that stopped the command, such as 130 after Ctrl-C.";

/// Exact marketing and lead-funnel analytics over a dataset of events.
#[derive(Debug, Parser)]
#[command(name = "trueup", version = version(), arg_required_else_help = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Returns the version of the program, and the release of its time zone database, which decides the days of events.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (tzdata {})", env!("CARGO_PKG_VERSION"), trueup::tzdata_release()));
    &VERSION
}

fn main() -> ExitCode {
    panics::install_hook();
    let exit = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let what = panics::describe(&*panic);
        notice::error(&format!("this is a bug in trueup; please report it with this message: {what}"));
        Exit::Fault
    });
    telemetry::finish();
    exit.into()
}

fn run() -> Exit {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return notice::usage(&refused),
    };
    match handle_file_size_limit().and_then(|()| arguments.command.run()) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            notice::error(&failure.to_string());
            failure.exit()
        }
    }
}

/// Turns a file that exceeds the size limit of the process into a write error. By default the signal ends the process
/// without a message.
#[cfg(unix)]
fn handle_file_size_limit() -> Result<(), Failure> {
    // With a handler installed the write itself fails, so nothing needs to read this flag.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).map(drop).map_err(Failure::fault)
}

#[cfg(not(unix))]
const fn handle_file_size_limit() -> Result<(), Failure> {
    Ok(())
}
