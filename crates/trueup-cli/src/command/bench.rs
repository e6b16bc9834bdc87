//! `trueup bench`: measures how fast a dataset answers queries.

mod measure;
mod report;
mod requests;
mod suite;

use super::option_values;
use crate::exit::Failure;
use crate::notice;
use measure::{BenchTarget, Repetitions, Timings};
use report::{ReportFormat, ReportWriter};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  trueup bench my-data
  trueup bench my-data --query channel --query date --repeat 25 --threads 1
  trueup bench my-data --callers 8 --format json
  printf 'channel cold\\nchannel hot\\n' | trueup bench my-data --on-request";

/// Measure the time of a suite of queries on a dataset
///
/// The queries cover the last 90 days of the data, its last year, or all of it, and group by dimensions that every
/// dataset has. `cold` is the time of the first query after opening the dataset, opening included. `hot` is the median
/// time when the query is repeated. The first run of all is slower if the system has to read the files from disk.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchCommand {
    /// Folder of the dataset
    dataset: PathBuf,

    /// Number of times to run each query
    #[arg(long, value_name = "COUNT", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Run only the query of this name; repeat the option for several
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    /// Also run each query from this many callers at the same time, and compare their throughput with that of one
    /// caller
    ///
    /// Callers share the threads of the process, one per core, as in a service. With `--threads`, each caller has that
    /// many threads of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    callers: u16,

    /// Format of the measurements
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    format: ReportFormat,

    /// Measure one query at a time, as requested by lines on stdin
    ///
    /// A line consists of the name of a query, a space, and a word: `hot` or `cold` (one time, in milliseconds; the
    /// first `hot` run of a query decodes its columns), `answer` (the rows, as from `trueup query --format json`), or
    /// `question` (fields, range, interval, accounts, conditions). Each line is answered by one line of JSON before the
    /// next line is read.
    #[arg(long, conflicts_with_all = ["repeat", "callers", "format", "queries"])]
    on_request: bool,
}

impl BenchCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let target = BenchTarget::open(&self.dataset, self.threads)?;
        let mut queries = suite::queries(&target.dataset)?;
        if self.on_request {
            return requests::answer(&queries, &target, std::io::stdin().lock());
        }
        for name in &self.queries {
            requests::find(&queries, name)?;
        }
        if !self.queries.is_empty() {
            queries.retain(|query| self.queries.iter().any(|name| name == query.name));
        }
        if queries.is_empty() {
            notice::warning("the dataset is empty, so there is nothing to measure");
        }
        let repetitions = Repetitions { repeat: self.repeat, callers: self.callers.into() };
        let mut writer = ReportWriter::new(&target, self.format);
        for query in &queries {
            writer.add(Timings::measure(query, &target, repetitions)?)?;
        }
        writer.finish()
    }
}
