//! `trueup explain`: what a query does.

use super::selection::DatasetQueryArgs;
use crate::exit::Failure;
use crate::output::OutputWriter;
use std::io::Write;

const EXAMPLES: &str = "\
Example:
  trueup explain my-data --fields campaign,leads --start 2025-01-01 --end 2025-03-31 --analyze";

/// Show the plan of a query: sub-ranges, columns read, row groups kept and skipped, groups
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    selection: DatasetQueryArgs,

    /// Run the query too, and add times and counts
    #[arg(long)]
    analyze: bool,
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let dataset = self.selection.open()?;
        let query = self.selection.query(&dataset)?;
        let explanation = if self.analyze {
            dataset.analyze(&query, self.selection.execution())?
        } else {
            dataset.explain(&query)?
        };
        let mut sink = OutputWriter::stdout();
        let written = write!(sink, "{explanation}").map_err(Failure::fault);
        sink.finish(written)
    }
}
