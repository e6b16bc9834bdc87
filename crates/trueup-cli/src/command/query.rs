//! `trueup query` and `trueup explain`: one query on a dataset, run or explained.

use super::option_values;
use super::query_spec::{QuerySpec, list_of_fields, warn_about_unknown_fields};
use crate::exit::Failure;
use crate::output::{self, Format, OutputWriter};
use clap::Args;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::query::EventsQuery;
use trueup::{Dataset, Execution};
use trueup_ingest::Outputs;

/// A dataset, a query on it, and how to run the query.
#[derive(Debug, Args)]
struct DatasetQueryArgs {
    /// Folder of the dataset
    dataset: PathBuf,

    #[command(flatten)]
    spec: QuerySpec,

    /// Read an earlier version of the dataset; `trueup inspect` lists the versions
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,
}

impl DatasetQueryArgs {
    fn open(&self) -> Result<Dataset, Failure> {
        Ok(match self.as_of {
            Some(version) => Dataset::open_version(&self.dataset, version)?,
            None => Dataset::open(&self.dataset)?,
        })
    }

    fn query(&self, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        self.spec.query(dataset)
    }

    fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }
}

const QUERY_EXAMPLES: &str = "\
Examples:
  trueup query my-data --fields attributionChannel,leads,bookRate,spend --start 2025-01-01 --end 2025-03-31
  trueup query my-data --fields leads --start 2025-01-01 --end 2025-12-31 --interval month -o leads.csv
  trueup query my-data --fields campaign,avgTicket --start 2025-01-01 --end 2025-01-31 \\
      --where 'campaign=[\"regex\", \"drain\", \"i\"]' --filter '{\"leads\": [\"gte\", 5]}'";

/// Query metrics, grouped by dimensions
///
/// The result has one row for each combination of the dimensions' values, in each sub-range of the interval.
#[derive(Debug, Args)]
#[command(after_help = QUERY_EXAMPLES, after_long_help = format!("{QUERY_EXAMPLES}\n\n{}", list_of_fields()))]
pub(crate) struct QueryCommand {
    #[command(flatten)]
    query: DatasetQueryArgs,

    /// Format of the result; by default the one for the ending of FILE, or a table
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write the result to this file instead of stdout. The file appears once it is complete, and must not exist yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists; an input or a file of a dataset is never replaced
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
        let outputs = Outputs::new(self.force).dataset(&self.query.dataset);
        if let Some(path) = &self.output {
            outputs.check(path)?;
        }
        let dataset = self.query.open()?;
        let answer = dataset.run(&self.query.query(&dataset)?, self.query.execution())?;
        warn_about_unknown_fields("", &answer, &dataset);
        let mut out = match &self.output {
            Some(path) => OutputWriter::create(path, &outputs)?,
            None => OutputWriter::stdout(),
        };
        output::write(&answer, format, &mut out)?;
        out.keep()
    }
}

const EXPLAIN_EXAMPLE: &str = "\
Example:
  trueup explain my-data --fields campaign,leads --start 2025-01-01 --end 2025-03-31 --analyze";

/// Show the plan of a query: sub-ranges, columns to read, row groups kept and skipped, group layout
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLE)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    query: DatasetQueryArgs,

    /// Also run the query, and add times and counts
    #[arg(long)]
    analyze: bool,
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let dataset = self.query.open()?;
        let query = self.query.query(&dataset)?;
        let explanation =
            if self.analyze { dataset.analyze(&query, self.query.execution())? } else { dataset.explain(&query)? };
        let mut out = OutputWriter::stdout();
        let written = write!(out, "{explanation}").map_err(Failure::fault);
        out.finish(written)
    }
}
