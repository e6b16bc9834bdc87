//! `trueup insights`: drafts insights about a month by rules.

use super::block_cache::BlockCacheArgs;
use super::directory::{now, timestamp};
use super::open_dataset;
use super::option_values;
use crate::exit::Failure;
use crate::notice;
use crate::output::OutputWriter;
use crate::progress::Step;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::query::NamedRange;
use trueup::request::RequestError;
use trueup::service::Clock;
use trueup::versions::AsOf;
use trueup::{Day, Execution};
use trueup_ingest::Outputs;
use trueup_report::{InsightDrafts, Publication, ReportSpec};

const EXAMPLES: &str = "\
Examples:
  trueup insights draft my-data --month 2026-05 -o may.ndjson
  trueup insights draft my-data --month 2026-05 --account seattle --date 2026-06-03
  trueup ingest --insights may.ndjson --into my-data";

/// Draft insights, which the service publishes
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum InsightsCommand {
    Draft(DraftCommand),
}

impl InsightsCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Draft(command) => command.run(),
        }
    }
}

/// Draft insights about a month: a document for each account, to be edited and ingested
///
/// Rules compare the month with the one before and with benchmarks. They find metrics that changed, with the channels
/// that contribute most, spend without leads, campaigns whose leads cost more, channels with fewer leads, and leads
/// that are still open. Each item has the arguments with which the tool `why` of agents explains its numbers.
///
/// A document is one line of JSON, and says in `drafted_by` that rules wrote it. `trueup ingest --insights` takes the
/// lines as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DraftCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// The calendar month
    #[arg(long, value_name = "YYYY-MM", value_parser = NamedRange::month)]
    month: NamedRange,

    /// End with this day of the month, and compare with the same days of the month before
    #[arg(long, value_name = "DATE")]
    through: Option<Day>,

    /// Draft for this account alone; may be repeated. By default for each account
    #[arg(long = "account", value_name = "KEY")]
    accounts: Vec<String>,

    /// Day of publication; by default today in UTC
    #[arg(long, value_name = "DATE")]
    date: Option<Day>,

    /// Write the documents to this file instead of stdout. The file appears once it is complete, and must not exist yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists; an input or a file of a dataset is never replaced
    #[arg(long, requires = "output")]
    force: bool,

    /// Read an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z;
    /// `trueup versions` lists them
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl DraftCommand {
    fn run(self) -> Result<(), Failure> {
        self.cache.set()?;
        let outputs = Outputs::new(self.force).dataset(&self.dataset);
        if let Some(output) = &self.output {
            outputs.check(output)?;
        }
        let dataset = open_dataset(&self.dataset, self.as_of)?;
        let month = self.month.days(Day::MIN).map_err(Failure::request)?;
        let spec = ReportSpec::new(&self.accounts, month, self.through);
        RequestError::check_accounts(&dataset, spec.accounts())?;
        let publication =
            Publication { date: self.date.unwrap_or_else(|| now.today()), generated_at: timestamp(now()) };
        let execution = Execution { threads: self.threads, ..Execution::default() };
        let drafts = InsightDrafts::new(&dataset, &spec, publication, execution)?;
        let step = Step::counted("drafting", drafts.accounts().len() as u64);
        let (mut lines, mut quiet) = (Vec::new(), Vec::new());
        for account in drafts.accounts() {
            match drafts.line(account)? {
                Some(line) => lines.push(line),
                None => quiet.push(account),
            }
            step.add(1);
        }
        drop(step);
        for account in quiet {
            notice::note(format_args!(
                "no document for the account `{account}`, which has neither events nor spend in these days"
            ));
        }
        let mut out = match &self.output {
            Some(path) => OutputWriter::create(path, &outputs)?,
            None => OutputWriter::stdout(),
        };
        let written = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
        out.finish(written.map_err(Failure::fault))?;
        out.keep()
    }
}
