//! The `trueup` program as a function, [`run`]: raw event data in, exact numbers out. The binary of this package calls
//! it, and so does the program that the Python package installs.
//!
//! `command` runs the command, which writes its result to stdout through `output`. `notice` writes everything
//! else to stderr. `terminal` makes both safe for a terminal. `exit` maps every failure to an exit code,
//! `signals` interrupts a command, and `panics` describes a panic that ends the program. `progress` shows how far
//! a command is, and `telemetry` exports traces.

mod command;
mod exit;
mod notice;
mod output;
mod panics;
mod progress;
mod signals;
mod telemetry;
mod terminal;

use clap::Parser;
use command::Command;
use exit::{Exit, Failure};
use std::ffi::OsString;
use std::io::Write as _;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::{LazyLock, OnceLock};

/// How the program was called; not set before [`run`].
static NAME: OnceLock<OsString> = OnceLock::new();

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

/// Runs the program, and returns its exit code. The first argument is the name by which the program was called.
///
/// The process must do nothing else: the program replaces the panic hook and handlers of signals, reads stdin, and
/// writes to stdout and stderr. With `serve`, it may execute the process again.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    panics::install_hook();
    let arguments: Vec<_> = arguments.into_iter().collect();
    if let Some(name) = arguments.first() {
        NAME.get_or_init(|| name.clone());
    }
    let exit = std::panic::catch_unwind(|| run_command(arguments)).unwrap_or_else(|panic| {
        let what = panics::describe(&*panic);
        notice::error(&format!("this is a bug in trueup; please report it with this message: {what}"));
        Exit::Fault
    });
    telemetry::finish();
    // The standard library does this only at the end of a `main` of Rust. A result has been flushed by then, and its
    // errors have been reported.
    drop(std::io::stdout().flush());
    exit.code()
}

fn run_command(arguments: Vec<OsString>) -> Exit {
    let arguments = match Arguments::try_parse_from(arguments) {
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
