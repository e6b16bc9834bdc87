//! The option of commands that write to a dataset, and may have to wait for others that do.

use super::option_values;
use std::time::Duration;

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
    /// Returns the time; zero without the option.
    pub(super) fn time(&self) -> Duration {
        self.wait.unwrap_or_default()
    }
}
