//! The options of commands that write to a dataset, and may have to wait for others that do; and how they run.

use super::option_values;
use crate::exit::{Exit, Failure};
use crate::progress::IngestProgress;
use crate::signals::StopSignals;
use std::num::NonZeroUsize;
use std::time::Duration;
use trueup_ingest::{Action, Command, IngestError, WritesRows};

/// How long a command waits for others.
#[derive(Debug, clap::Args)]
pub(super) struct WaitArgs {
    /// Wait at most this long, such as 30s or 5m, while another command writes to the dataset; by default, fail at
    /// once. In an object store, which nobody can lock, a command that publishes a version fails if another one was
    /// first; with this option, it begins again until the time is over, unless an input can be read only once, such as
    /// the standard input
    #[arg(long, value_name = "TIME", value_parser = option_values::wait)]
    wait: Option<Duration>,
}

impl WaitArgs {
    /// Runs a command, shows its progress, and stops it at a signal. `failure` gets its error, and the exit if a signal
    /// has stopped it.
    pub(super) fn run<A: Action>(
        &self,
        command: Command<A>,
        failure: impl FnOnce(IngestError, Exit) -> Failure,
    ) -> Result<A::Summary, Failure> {
        let signals = StopSignals::hear()?;
        let mut progress = IngestProgress::default();
        let command = command.wait(self.wait.unwrap_or_default()).interrupt(signals.interrupt());
        command.progress(move |now| progress.show(now)).run().map_err(|error| failure(error, signals.exit()))
    }
}

/// What a command that writes stored rows again may take, and how long it waits.
#[derive(Debug, clap::Args)]
pub(super) struct RewriteArgs {
    /// Memory for rows, such as 4GiB; by default 1GiB. Rows that do not fit are spilled to disk
    #[arg(long, value_name = "SIZE", value_parser = option_values::bytes)]
    memory: Option<usize>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    wait: WaitArgs,
}

impl RewriteArgs {
    /// Runs a command as [`WaitArgs::run`] does.
    pub(super) fn run<A: WritesRows>(
        &self,
        command: Command<A>,
        failure: impl FnOnce(IngestError, Exit) -> Failure,
    ) -> Result<A::Summary, Failure> {
        let command = self.memory.into_iter().fold(command, Command::memory);
        let command = self.threads.into_iter().fold(command, |command, threads| command.threads(threads.get()));
        self.wait.run(command, failure)
    }
}
