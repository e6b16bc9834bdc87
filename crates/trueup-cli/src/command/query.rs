//! `trueup query` and `trueup explain`: one query on a dataset, run or explained. `trueup batch` shares the options of
//! a query, [`QuerySpec`], and `trueup why` all of [`DatasetQueryArgs`].

use super::block_cache::BlockCacheArgs;
use super::explain_report::ExplainReport;
use super::output_args::OutputArgs;
use super::range::{RangeArgs, Today, warn_about_days};
use super::{names, open_dataset, option_values};
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, Format, ObjectFormat};
use crate::progress::{self, Step};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::dictionary::{self, FieldKind};
use trueup::filter::{self, InvalidRequest, TypedCondition};
use trueup::query::{AccountFilter, Attribution, EventsQuery, Interval, SortKey, Within};
use trueup::versions::AsOf;
use trueup::{ComparedWith, Dataset, Day, Execution, QueryError, ReadyQuery, ResultTable, UnseenValue};

/// The metric that shows whether the windows of a cohort are over.
const OPEN_LEADS: &str = "openLeads";

/// A dataset, a query on it, and how to run the query.
#[derive(Debug, Args)]
pub(super) struct DatasetQueryArgs {
    /// Folder or URL of the dataset
    pub(super) dataset: PathBuf,

    #[command(flatten)]
    pub(super) spec: QuerySpec,

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
    pub(super) fn query(&self, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        let query = self.spec.query(dataset, Today::new(self.today))?;
        self.warn(&query, dataset)?;
        Ok(query)
    }

    fn warn(&self, query: &EventsQuery, dataset: &Dataset) -> Result<(), Failure> {
        self.spec.range.note_days(query);
        warn_about_days("", query, dataset);
        self.spec.check_values("", query, dataset, &self.execution())?;
        Ok(())
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
      --compare benchmarks --account north --account south";

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
            self.args.spec.show_open_leads();
        }
        let dataset = self.args.open_dataset()?;
        let query = self.args.spec.ready(&dataset, Today::new(self.args.today))?;
        self.args.warn(query.events(), &dataset)?;
        let answer = query.run(&dataset, progress::watched(self.args.execution()))?.with_totals_row();
        warn_about_unknown_fields("", &answer, &dataset);
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
        let query = self.args.query(&dataset)?;
        let explanation = if self.analyze {
            dataset.analyze(&query, progress::watched(self.args.execution()))?
        } else {
            dataset.explain(&query)?
        };
        match self.format {
            ObjectFormat::Text => output::print_lines(&explanation.to_string()),
            ObjectFormat::Json => output::print_json(&ExplainReport::from(&explanation)),
        }
    }
}

/// What a query asks for, from the command line or from a jobs file.
#[derive(Clone, Debug, Args)]
pub(super) struct QuerySpec {
    /// Metrics, and dimensions to group by, separated by commas; `trueup query --help` lists them
    #[arg(long, required = true, value_delimiter = ',')]
    pub(super) fields: Vec<String>,

    #[command(flatten)]
    pub(super) range: RangeArgs,

    /// Split the range into sub-ranges: total (one for the whole range), month, week or day
    #[arg(long, default_value = "total")]
    pub(super) interval: Interval,

    #[command(flatten)]
    pub(super) cohort: CohortArgs,

    /// Compare the range with an earlier one: previous-period, previous-year, or two days as START..END. After each
    /// metric m come m.previous, m.change, m.ratio and, for a ratio, m.rateEffect and m.mixEffect, which say what the
    /// row contributes to the change of the whole. Or compare one month of the accounts that --account names with other
    /// accounts: benchmarks. After each metric m that has benchmarks come m.benchmark, m.difference and m.ratio. Only
    /// without --interval
    #[arg(long, value_name = "RANGE|benchmarks")]
    pub(super) compare: Option<ComparedWith>,

    /// Take attributionCategory, attributionChannel, campaign, and columns whose names begin with attribution from:
    /// recorded (the event itself), first (the customer's first conversion), or last (the customer's last conversion at
    /// or before the event, or else the first one). Spend keeps its own
    #[arg(long, value_name = "EVENT", default_value = "recorded")]
    pub(super) attribution: Attribution,

    /// Read only this account; repeat the option for several. By default all accounts are read
    #[arg(long = "account", value_name = "KEY")]
    pub(super) accounts: Vec<String>,

    /// Keep only events whose dimension or `total` passes this condition or, if the condition is on any other metric,
    /// only rows of the result that pass it: 'field = value', '!=', '<', '<=', '>', '>=', 'field ~ regex', '~*'
    /// (ignores case), 'field in (a, b)', 'not in', 'field is empty', 'is not empty'. A value with blanks is in single
    /// quotes. Without a blank before '=', as in 'field=value', the value is all of the text after it; a JSON array is
    /// an expression. Repeat the option for several: all must hold, but equalities on the same field are alternatives
    #[arg(long = "where", value_name = "CONDITION")]
    pub(super) conditions: Vec<TypedCondition>,

    /// Keep only what matches conditions across fields, such as '["or", {"zip": "00123"}, {"total": ["gte", 500]}]'
    #[arg(long, value_name = "JSON")]
    pub(super) filter: Option<String>,

    /// Sort the rows by this field of the result, or by start or end; repeat the option for ties. Rows without a value
    /// come last. By default rows are sorted by start, then by each dimension
    #[arg(long, value_name = "FIELD[:asc|:desc]", value_delimiter = ',', allow_hyphen_values = true)]
    pub(super) sort: Vec<SortKey>,

    /// Write only the first ROWS rows; the totals are of all rows
    #[arg(long, value_name = "ROWS")]
    pub(super) limit: Option<usize>,

    /// Add a last row for the whole range, computed by itself and not added up from the rows. The result gets a first
    /// column rowType, which is `total` in this row and `group` in the others (empty in a table). Conditions on metrics
    /// do not change the totals
    #[arg(long)]
    pub(super) totals: bool,

    /// Allow the interval total, and totals, of --start and --end to span more than 90 days, the attribution window.
    /// A named range, such as --quarter, --year or --last 120d, may do so without this option
    #[arg(long)]
    pub(super) allow_long_total: bool,

    /// Allow names that neither the dictionary nor the dataset knows; such a field is empty on every row
    #[arg(long)]
    pub(super) allow_unknown: bool,

    /// Refuse a value in --where or --filter that no event and no spend of the dataset has, instead of warning about it
    #[arg(long)]
    pub(super) strict: bool,
}

/// The options of a cohort. The parser makes sure that both are given, or neither.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct CohortArgs {
    /// Select leads by the day of their first event, and count what becomes of them: each as if its history ended with
    /// the window that --within says. Spend is that of the days themselves. The table of `trueup query` or
    /// `trueup batch` gets the column openLeads, the number of leads whose window is not over yet
    #[arg(long, requires = "within")]
    cohort: bool,

    /// The window of --cohort: a number of days after the first event, such as 90d, or all
    #[arg(long, value_name = "WINDOW", requires = "cohort")]
    within: Option<Within>,
}

impl CohortArgs {
    /// Returns the options of a jobs file.
    ///
    /// # Errors
    /// If only one of them is given.
    pub(super) fn new(cohort: bool, within: Option<Within>) -> Result<Self, Failure> {
        if cohort == within.is_some() {
            Ok(Self { cohort, within })
        } else {
            Err(Failure::request(
                "expected both `cohort = true` and its window, such as `within = \"90d\"`, or neither",
            ))
        }
    }
}

impl QuerySpec {
    /// Adds the number of open leads to the table of a cohort, which shows whether a row is final.
    pub(super) fn show_open_leads(&mut self) {
        if self.cohort.cohort && !self.fields().any(|name| name == OPEN_LEADS) {
            self.fields.push(OPEN_LEADS.to_owned());
        }
    }

    /// Returns the query for `dataset`, of a command that compares with nothing but an earlier range.
    ///
    /// # Errors
    /// If the answer is to be compared with benchmarks; and as for [`ready`](Self::ready).
    pub(super) fn query(&self, dataset: &Dataset, today: Today) -> Result<EventsQuery, Failure> {
        if self.compare == Some(ComparedWith::Benchmarks) {
            return Err(Failure::usage("only `trueup query` and `trueup batch` have `--compare benchmarks`"));
        }
        self.checked(self.ordered(self.unordered(dataset, today)?), dataset)
    }

    /// Returns the query for `dataset`.
    ///
    /// # Errors
    /// The first fault in this order: the range has days that no dataset can have, the dataset lacks an account, one of
    /// the faults of [`EventsQuery::check`], a field of the query is unknown, a condition is invalid, a field of a
    /// condition is unknown, the query cannot be compared with benchmarks. A range that is longer than the attribution
    /// window is found when the query is run.
    pub(super) fn ready(&self, dataset: &Dataset, today: Today) -> Result<ReadyQuery, Failure> {
        if self.compare == Some(ComparedWith::Benchmarks) {
            let query = self.unordered(dataset, today)?;
            // Ordered after the checks, which would refuse a column that only the comparison has.
            let query = self.ordered(self.checked(query, dataset)?);
            let today = today.of(dataset, &self.accounts());
            return Ok(ReadyQuery::with_benchmarks(&query, today).map_err(trueup::Error::from)?);
        }
        Ok(ReadyQuery::Events(Box::new(self.query(dataset, today)?)))
    }

    fn accounts(&self) -> AccountFilter {
        match self.accounts.as_slice() {
            [] => AccountFilter::All,
            keys => AccountFilter::Only(keys.iter().cloned().collect()),
        }
    }

    /// Returns the query without its conditions and its order.
    fn unordered(&self, dataset: &Dataset, today: Today) -> Result<EventsQuery, Failure> {
        let range = self.range.days(|| today.of(dataset, &self.accounts()))?;
        let mut query = EventsQuery::new(self.fields(), range.start, range.end)
            .interval(self.interval)
            .attribution(self.attribution)
            .allow_unknown(self.allow_unknown)
            .definitions(dataset.definitions());
        if self.range.is_named() {
            query = query.allow_long_total();
        }
        if let Some(within) = self.cohort.within {
            query = query.cohort(within);
        }
        if let Some(ComparedWith::Earlier(earlier)) = self.compare {
            query = query.compare(earlier);
        }
        if !self.accounts.is_empty() {
            names::check_accounts(dataset, &self.accounts)?;
            query = query.accounts(&self.accounts);
        }
        Ok(if self.totals { query.totals() } else { query })
    }

    fn ordered(&self, query: EventsQuery) -> EventsQuery {
        let query = self.sort.iter().cloned().fold(query, EventsQuery::sort);
        match self.limit {
            Some(rows) => query.limit(rows),
            None => query,
        }
    }

    /// Adds the conditions to the query, and checks its names.
    fn checked(&self, query: EventsQuery, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        if let Err(fault @ QueryError::MissingMetric) = query.check() {
            // An unknown name is probably meant as a metric.
            return Err(Failure::request(match dataset.check_names(&query.allow_unknown(false)) {
                Err(unknown) => format!("{fault}; {unknown}"),
                Ok(()) => format!("{fault}, such as `leads`; `trueup query --help` lists all"),
            }));
        }
        let filtered = filter::apply_typed(query.clone(), &self.conditions, self.filter.as_deref());
        if let Err(InvalidRequest::Filter(_)) = filtered {
            // Unknown fields come before the faults of filters.
            check_names(dataset, &query)?;
        }
        let query = filtered?;
        check_names(dataset, &query)?;
        Ok(if self.allow_long_total { query.allow_long_total() } else { query })
    }

    /// Warns about each value in the filters of a query that no event and no spend has, and returns their number.
    /// `prefix` names the query if there are several.
    ///
    /// # Errors
    /// If the query is strict and there is such a value, or the query cannot be run.
    pub(super) fn check_values(
        &self,
        prefix: &str,
        query: &EventsQuery,
        dataset: &Dataset,
        execution: &Execution,
    ) -> Result<usize, Failure> {
        let step = Step::new("checking values");
        let unseen = dataset.unseen_values(query, execution)?;
        drop(step);
        self.warn_about_unseen_values(prefix, &unseen)
    }

    /// Warns about values that no event and no spend has, and returns their number.
    ///
    /// # Errors
    /// If the query is strict and there is such a value.
    pub(super) fn warn_about_unseen_values(&self, prefix: &str, unseen: &[UnseenValue]) -> Result<usize, Failure> {
        if self.strict && !unseen.is_empty() {
            return Err(Failure::request(unseen.iter().map(UnseenValue::to_string).collect::<Vec<_>>().join("; ")));
        }
        for value in unseen {
            notice::warning(format_args!("{prefix}{value}"));
        }
        Ok(unseen.len())
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|name| name.trim()).filter(|name| !name.is_empty())
    }
}

fn check_names(dataset: &Dataset, query: &EventsQuery) -> Result<(), Failure> {
    dataset.check_names(query).map_err(|fault| trueup::Error::from(fault).into())
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
