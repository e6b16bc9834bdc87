//! `trueup query`: one question, one answer.

use super::question;
use super::selection::DatasetQueryArgs;
use crate::exit::Failure;
use crate::output::{self, Format, OutputWriter};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  trueup query my-data --fields attributionChannel,leads,bookRate,spend --start 2025-01-01 --end 2025-03-31
  trueup query my-data --fields leads --start 2025-01-01 --end 2025-12-31 --interval month -o leads.csv
  trueup query my-data --fields campaign,avgTicket --start 2025-01-01 --end 2025-01-31 \\
      --where 'campaign=[\"regex\", \"drain\", \"i\"]' --filter '{\"leads\": [\"gte\", 5]}'";

/// Ask for metrics, grouped by dimensions
///
/// There is one row for each combination of the dimensions' values, and one for each sub-range of the interval.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", question::fields()))]
pub(crate) struct QueryCommand {
    #[command(flatten)]
    selection: DatasetQueryArgs,

    /// How the answer is written; by default as the ending of FILE says, or as a table
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write the answer to a file, instead of stdout; it is there once it is whole, and takes the place of no other
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there; an input or a file of a dataset is never replaced
    #[arg(long, requires = "output")]
    force: bool,
}

impl QueryCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_file(path)?,
            (None, None) => Format::Table,
        };
        let outputs = self.selection.outputs(self.force);
        if let Some(path) = &self.output {
            outputs.check(path)?;
        }
        let dataset = self.selection.open()?;
        let answer = dataset.run(&self.selection.query(&dataset)?, self.selection.execution())?;
        question::warn_of_unknown("", &answer, &dataset);
        let mut sink = match &self.output {
            Some(path) => OutputWriter::create(path, &outputs)?,
            None => OutputWriter::stdout(),
        };
        output::write(&answer, format, &mut sink)?;
        sink.keep()
    }
}
