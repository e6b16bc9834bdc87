//! `trueup compact`: merges the stored files of a dataset.

use super::file_count;
use super::wait::RewriteArgs;
use crate::exit::Failure;
use crate::output::{self, ObjectFormat};
use std::io::{self, Write};
use std::path::PathBuf;
use trueup_ingest::{Compact, CompactSummary};
use trueup_report::number;

const EXAMPLES: &str = "\
Examples:
  trueup compact my-data
  trueup compact my-data --all       everything into the files that ingesting it at once would make
  trueup compact s3://bucket/my-data --memory 4GiB";

/// Merge files of a dataset that is updated often, so that queries stay fast and the dataset takes little space
///
/// No answer changes. Files are merged where it pays: those of similar size, and files of which many rows are
/// superseded. Every ingest ends with such merges if they take little time. Each merge is a version of its own; `trueup
/// expire` removes the files that were merged, with their versions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompactCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Merge all files, unless they are as if everything had been ingested at once
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    rewrite: RewriteArgs,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,
}

impl CompactCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let compact = Compact::new(&self.dataset);
        let compact = if self.all { compact.all() } else { compact };
        let summary = self.rewrite.run(compact, |error, stopped| match error.interruption() {
            Some(_) => Failure::stopped("the compaction was canceled; the dataset answers as before", stopped),
            None => error.into(),
        })?;
        match self.format {
            ObjectFormat::Json => output::print_json(&summary),
            ObjectFormat::Text => output::print(|out| self.write_summary(&summary, out)),
        }
    }

    fn write_summary(&self, summary: &CompactSummary, out: &mut impl Write) -> io::Result<()> {
        let (version, dataset) = (summary.version, self.dataset.display());
        if summary.merged.files == 0 {
            return writeln!(out, "nothing changed: `{dataset}` stays at version {version}, which needs no merge");
        }
        writeln!(out, "version {version} of `{dataset}`")?;
        writeln!(out, "{}", merged(summary))
    }
}

/// Returns what was merged.
pub(super) fn merged(summary: &CompactSummary) -> String {
    let left_out = match summary.superseded {
        0 => String::new(),
        rows => format!(", without {}", number::counted(rows, "superseded row")),
    };
    format!("merged   {} into {}{left_out}", file_count::text(summary.merged), file_count::text(summary.written))
}
