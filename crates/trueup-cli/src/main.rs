//! The `trueup` program: raw event data in, exact numbers out.
//!
//! Results go to stdout, everything else to stderr. [`exit`] says which exit code means what.

mod command;
mod exit;
mod notice;
mod output;
mod progress;

use clap::Parser;
use command::Command;
use exit::Exit;
use std::process::ExitCode;

/// Exact marketing and lead-funnel analytics over a dataset of events.
#[derive(Debug, Parser)]
#[command(name = "trueup", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // A panic has told on stderr where it happened; what is left is to say whose fault it is.
    let exit = std::panic::catch_unwind(run).unwrap_or_else(|_| {
        notice::error("this is a fault of trueup itself; please report it with the lines above");
        Exit::Fault
    });
    exit.into()
}

fn run() -> Exit {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return notice::usage(&refused),
    };
    match arguments.command.run() {
        Ok(()) => Exit::Done,
        Err(failure) => {
            notice::error(&failure.to_string());
            failure.exit()
        }
    }
}
