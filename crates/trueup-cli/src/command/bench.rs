//! `trueup bench`: how fast a dataset answers.

mod report;
mod requests;
mod suite;
mod target;
mod timings;

use super::threads;
use crate::exit::Failure;
use crate::notice;
use report::{ReportFormat, ReportWriter};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use target::BenchTarget;
use timings::{BenchSettings, Timings};

const EXAMPLES: &str = "\
Examples:
  trueup bench my-data
  trueup bench my-data --query channel --query date --repeat 25 --threads 1
  trueup bench my-data --callers 8 --format json
  printf 'channel cold\\nchannel hot\\n' | trueup bench my-data --on-request";

/// Time a suite of questions on a dataset
///
/// The suite asks for the last 90 days of the data, its last year or all of it, by the dimensions that every dataset has.
/// `cold` is the time that a question takes when it is the first after the dataset was opened, opening included; `hot` is the
/// median when it is asked again. Files that the system has not read before are read from the disk, so the first run of all is slower.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchCommand {
    /// The folder of the dataset
    dataset: PathBuf,

    /// Ask each question so many times
    #[arg(long, value_name = "COUNT", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Ask only the question of this name; repeat it for several
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,

    /// Also let so many callers ask at once, and compare what they get answered in a second with what one gets
    ///
    /// CallerTimings share the threads of the process, one per core, as in a service; with `--threads` each has so many of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    callers: u16,

    /// How the figures are written
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    format: ReportFormat,

    /// Measure one thing at a time, as lines on stdin ask for it
    ///
    /// A line is the name of a question, a space, and one of: `hot`, `cold` (one time, in milliseconds; a question that is asked
    /// hot for the first time decodes its columns), `answer` (the rows, as `trueup query --format json` has them), `question`
    /// (fields, range, interval, accounts, conditions). Each is answered by one line of JSON, before the next is read.
    #[arg(long, conflicts_with_all = ["repeat", "callers", "format", "queries"])]
    on_request: bool,
}

impl BenchCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let subject = BenchTarget::open(&self.dataset, self.threads)?;
        let mut cases = suite::cases(&subject.dataset)?;
        if self.on_request {
            return requests::answer(&cases, &subject, std::io::stdin().lock());
        }
        for name in &self.queries {
            requests::named(&cases, name)?;
        }
        if !self.queries.is_empty() {
            cases.retain(|case| self.queries.iter().any(|name| name == case.name));
        }
        if cases.is_empty() {
            notice::warning("the dataset is empty, so there is nothing to ask");
        }
        let effort = BenchSettings { repeat: self.repeat, callers: self.callers.into() };
        let mut writer = ReportWriter::new(&subject, self.format);
        for case in &cases {
            writer.add(Timings::of(case, &subject, effort)?)?;
        }
        writer.finish()
    }
}
