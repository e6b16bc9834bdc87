//! `trueup query` and `trueup explain`: one query on a dataset, run or explained. `trueup why` shares
//! [`DatasetQueryArgs`].

use super::block_cache::BlockCacheArgs;
use super::output_args::OutputArgs;
use super::query_options::{QueryOptions, show_open_leads, warn_about, warn_about_unseen_values};
use super::{open_dataset, option_values};
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Format, ObjectFormat};
use crate::progress::{self, Step};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::dictionary::{self, FieldKind};
use trueup::request::{PreparedQuery, Today};
use trueup::versions::AsOf;
use trueup::{Dataset, Day, Execution, QueryError, ResultTable};

/// A dataset, a query on it, and how to run the query.
#[derive(Debug, Args)]
pub(super) struct DatasetQueryArgs {
    /// Folder or URL of the dataset
    pub(super) dataset: PathBuf,

    #[command(flatten)]
    pub(super) options: QueryOptions,

    /// Read an earlier version of the dataset: by its number, or the newest one at a time such as 2026-01-31T18:00:00Z;
    /// `trueup versions` lists them
    #[arg(long, value_name = "VERSION|TIME")]
    as_of: Option<AsOf>,

    /// The day that --last and --range count from; by default that of the clock, in the time zone of the accounts
    #[arg(long, value_name = "DATE")]
    today: Option<Day>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl DatasetQueryArgs {
    pub(super) fn open_dataset(&self) -> Result<Dataset, Failure> {
        self.cache.set()?;
        open_dataset(&self.dataset, self.as_of)
    }

    /// Returns the query. Warns if its whole range, or the range that it compares with, is outside of the data, and
    /// about values in its filters that no event and no spend has.
    pub(super) fn prepare(&self, dataset: &Dataset) -> Result<PreparedQuery, Failure> {
        let query = self.options.0.prepare(dataset, &Today::new(self.today))?;
        warn_about(&self.options.0, query.events(), dataset, &self.execution())?;
        let step = Step::new("checking values");
        let unseen = query.unseen_values(dataset, &self.execution())?;
        drop(step);
        warn_about_unseen_values("", &unseen);
        Ok(query)
    }

    pub(super) fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }
}

const QUERY_EXAMPLES: &str = "\
Examples:
  trueup query my-data --fields attributionChannel,leads,spend --start 2025-01-01 --end 2025-03-31
  trueup query my-data --fields leads --year 2025 --interval month -o leads.csv
  trueup query my-data --fields campaign,leads,spend --last 90d \\
      --sort leads:desc --limit 10 --totals
  trueup query my-data --fields campaign,avgTicket --month 2025-01 \\
      --where 'campaign ~* drain' --where 'leads >= 5' \\
      --where 'attributionChannel not in (Direct, Referral)'
  trueup query my-data --fields leads,closedRevenue,roasClosed --year 2025 \\
      --interval month --cohort --within 90d
  trueup query my-data --fields attributionChannel,leads,bookRate --month 2025-03 \\
      --compare previous-period --sort bookRate.mixEffect
  trueup query my-data --fields attributionChannel,leads,roasClosed --month 2025-03 \\
      --attribution first
  trueup query my-data --fields account,bookRate,avgCostPerLead --month 2025-03 \\
      --compare benchmarks --account north --account south
  trueup query my-data --fields account,spend,leads --range month-to-date --targets --totals";

/// Query metrics, grouped by dimensions
///
/// The result has one row for each combination of the dimensions' values, in each sub-range of the interval.
#[derive(Debug, Args)]
#[command(after_help = QUERY_EXAMPLES, after_long_help = format!("{QUERY_EXAMPLES}\n\n{}", list_of_fields()))]
pub(crate) struct QueryCommand {
    #[command(flatten)]
    args: DatasetQueryArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl QueryCommand {
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let format = self.output.check(&self.args.dataset)?;
        if format == Format::Table {
            show_open_leads(&mut self.args.options.0);
        }
        let dataset = self.args.open_dataset()?;
        let query = self.args.prepare(&dataset)?;
        let answer = query.run(&dataset, progress::watched(self.args.execution()))?.with_totals_row();
        warn_about_unknown_fields("", &answer, &dataset);
        answer.notes().iter().for_each(notice::warning);
        let out = self.output.writer(&self.args.dataset)?;
        let _step = self.output.is_file().then(|| Step::new("writing rows"));
        self.output.write(&answer, format, out)
    }
}

const EXPLAIN_EXAMPLE: &str = "\
Example:
  trueup explain my-data --fields campaign,leads --start 2025-01-01 --end 2025-03-31 --analyze";

/// Show the plan of a query: sub-ranges, columns to read, row groups kept and skipped, dimensions
#[derive(Debug, Args)]
#[command(
    after_help = EXPLAIN_EXAMPLE,
    mut_arg("compare", |arg| arg.help(
        "Compare the range with an earlier one: previous-period, previous-year, or two days as START..END. Only without \
         --interval"
    ).value_name("RANGE")),
)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    args: DatasetQueryArgs,

    /// Also run the query, and add times and counts
    #[arg(long)]
    analyze: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let dataset = self.args.open_dataset()?;
        self.args.options.0.of_events_alone()?;
        let query = self.args.prepare(&dataset)?;
        let query = query.events();
        let explanation = if self.analyze {
            dataset.analyze(query, progress::watched(self.args.execution()))?
        } else {
            dataset.explain(query)?
        };
        match self.format {
            ObjectFormat::Text => output::print_lines(&explanation.to_string()),
            ObjectFormat::Json => output::print_json(&explanation),
        }
    }
}

/// Warns about the allowed fields of a query that neither the dictionary nor the dataset knows. `prefix` names the
/// query if there are several.
pub(super) fn warn_about_unknown_fields(prefix: &str, answer: &ResultTable, dataset: &Dataset) {
    let fields = dataset.unknown(answer.unknown_fields().iter().map(String::as_str));
    let are_empty = match fields.len() {
        0 => return,
        1 => "it is empty",
        _ => "they are empty",
    };
    notice::warning(format_args!("{prefix}{}; {are_empty} on every row", QueryError::UnknownFields { fields }));
}

/// Lists the fields of the dictionary, for the end of a help text.
pub(super) fn list_of_fields() -> String {
    let names = |is_metric: bool| {
        let fields = dictionary::all_fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)) == is_metric);
        fields.map(|field| field.name).collect::<Vec<_>>().join(", ")
    };
    format!("Metrics:\n{}\n\nDimensions (and every other column of your events):\n{}", names(true), names(false))
}
