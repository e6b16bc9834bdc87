//! `trueup restore`: makes the content of an earlier version that of the newest one.

use super::wait::WaitArgs;
use crate::exit::Failure;
use crate::output;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use trueup_ingest::Restore;

const EXAMPLES: &str = "\
Examples:
  trueup versions my-data             what each version was made by
  trueup restore my-data --to 2       a new version with the content of version 2";

/// Undo what was done since an earlier version, in a new version with its content
///
/// Nothing is lost: the versions in between stay as they are. Files that were ingested since can be ingested again.
/// Customers who were forgotten since stay forgotten.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RestoreCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Number of the version to restore
    #[arg(long, value_name = "VERSION")]
    to: u64,

    #[command(flatten)]
    wait: WaitArgs,
}

impl RestoreCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let restored = self.wait.run(Restore::new(&self.dataset, self.to), Failure::ingest)?;
        let (dataset, to) = (self.dataset.display(), self.to);
        output::print(|out| {
            if restored.version == to {
                return writeln!(out, "nothing changed: version {to} is the newest of `{dataset}`");
            }
            write!(out, "version {} of `{dataset}`, with the content of version {to}", restored.version)?;
            match restored.forgotten {
                0 => writeln!(out),
                events => writeln!(out, ", but without {events} events of customers who were forgotten since"),
            }
        })
    }
}
