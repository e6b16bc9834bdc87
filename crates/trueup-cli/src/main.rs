//! The `trueup` program: raw event data in, exact numbers out.
//!
//! Results go to stdout, everything else to stderr. [`exit`] says which exit code means what.

mod command;
mod exit;
mod notice;
mod output;
mod panics;
mod progress;

use clap::Parser;
use command::Command;
use exit::{Exit, Failure};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

/// It asks the system for huge pages, so that columns are found in memory with fewer steps, and keeps what a query frees for the next.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What stands below the commands.
const MORE: &str = "\
New here? `trueup demo` makes a dataset to play with and shows what to ask of it. With data of your own:
  trueup ingest events.csv --spend spend.csv --accounts accounts.csv --into my-data
  trueup query my-data --fields attributionChannel,leads,bookRate --start 2025-01-01 --end 2025-03-31
To answer others over HTTP, add `users`, say with `orgs` what they may see, make `keys`, and `serve`.

`trueup COMMAND --help` says everything about a command. Results go to stdout, everything else to stderr.
Exit codes: 0 done, 1 the request or the data is at fault, 2 wrong usage, 3 trueup is at fault.";

/// Exact marketing and lead-funnel analytics over a dataset of events.
#[derive(Debug, Parser)]
#[command(name = "trueup", version, arg_required_else_help = true, after_help = MORE)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    panics::keep();
    let exit = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let what = panics::describe(&*panic);
        notice::error(&format!("this is a fault of trueup itself; please report it with these words: {what}"));
        Exit::Fault
    });
    exit.into()
}

/// Lets a file that grows beyond its limit be refused as a full disk is, where the system would end the program without a word.
#[cfg(unix)]
fn bound_files() -> Result<(), Failure> {
    // Once a signal is heard, the write that raised it fails; nothing has to look whether it came.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).map(drop).map_err(Failure::fault)
}

#[cfg(not(unix))]
const fn bound_files() -> Result<(), Failure> {
    Ok(())
}

fn run() -> Exit {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return notice::usage(&refused),
    };
    match bound_files().and_then(|()| arguments.command.run()) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            notice::error(&failure.to_string());
            failure.exit()
        }
    }
}
