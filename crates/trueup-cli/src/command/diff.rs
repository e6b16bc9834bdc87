//! `trueup diff`: what was restated between two versions.

mod google_ads;

use super::block_cache::BlockCacheArgs;
use super::output_args::OutputArgs;
use super::query::warn_about_unknown_fields;
use super::query_options::{QueryOptions, warn_about, warn_about_unseen_values};
use super::{open_dataset, option_values};
use crate::exit::Failure;
use crate::notice;
use crate::output::Format;
use crate::progress::{self, Step};
use google_ads::Adjustments;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::query::EventsQuery;
use trueup::request::{RequestError, Today};
use trueup::versions::AsOf;
use trueup::{Dataset, Day, Execution, UnseenValue};

const TOTALS_HELP: &str = "Compare the totals, too. The result gets a column rowType, which is `total` in their row and \
                           `group` in the others";

const EXAMPLES: &str = "\
Examples:
  trueup diff my-data 12 13 --fields account,closedRevenue --month 2026-01
  trueup diff my-data 2026-02-01T09:00:00Z 14 --fields campaign,leads,bookRate --year 2025 \\
      --interval month --format csv -o restated.csv
  trueup diff my-data 12 14 --fields gclid,dateTime,total --where 'type = closed' --year 2026 \\
      --format google-ads-adjustments --conversion-name 'Closed job' -o adjustments.csv";

/// Show what was restated between two versions: the rows of an answer that differ
///
/// Answers the query on both versions, and compares the answers row by row. The column `status` says whether a row is
/// added, removed or changed. Each metric m has the value in the later version; m.previous and m.change come after it.
/// Rows that are equal are left out. Both answers use the definitions of the later version.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("compare", |arg| arg.hide(true)),
    mut_arg("sort", |arg| arg.hide(true)),
    mut_arg("limit", |arg| arg.hide(true)),
    mut_arg("targets", |arg| arg.hide(true)),
    mut_arg("format", |arg| arg.value_parser(google_ads::formats())),
    mut_arg("totals", |arg| arg.help(TOTALS_HELP).long_help(None)),
)]
pub(crate) struct DiffCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// The earlier version: its number, or the newest one at a time such as 2026-01-31T18:00:00Z
    #[arg(value_name = "BEFORE")]
    before: AsOf,

    /// The later version
    #[arg(value_name = "AFTER")]
    after: AsOf,

    #[command(flatten)]
    options: QueryOptions,

    #[command(flatten)]
    output: OutputArgs,

    /// With --format google-ads-adjustments: the name of the conversion action in Google Ads
    #[arg(long, value_name = "NAME")]
    conversion_name: Option<String>,

    /// The day that --last and --range count from; by default that of the clock, in the time zone of the accounts
    #[arg(long, value_name = "DATE")]
    today: Option<Day>,

    /// Number of threads, from 1 to 1024; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = option_values::threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    cache: BlockCacheArgs,
}

impl DiffCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let request = &self.options.0;
        if request.limit.is_some() || !request.sort.is_empty() || request.compare.is_some() {
            return Err(Failure::usage(
                "`--sort`, `--limit` and `--compare` cannot be used here, because all rows of both answers are compared",
            ));
        }
        request.of_events_alone()?;
        let format = self.output.check(&self.dataset)?;
        let is_for_google_ads = format == Format::GoogleAdsAdjustments;
        if self.conversion_name.is_some() && !is_for_google_ads {
            return Err(Failure::usage(
                "`--conversion-name` is for `--format google-ads-adjustments` alone; leave it out",
            ));
        }
        self.cache.set()?;
        let after = open_dataset(&self.dataset, Some(self.after))?;
        let before = open_dataset(&self.dataset, Some(self.before))?;
        let adjustments = is_for_google_ads
            .then(|| Adjustments::new(request, self.conversion_name.as_deref(), [&before, &after]))
            .transpose()?;
        let query = request.prepare(&after, &Today::new(self.today))?.events().clone().exact_ratios();
        let execution = || Execution { threads: self.threads, ..Execution::default() };
        warn_about(request, &query, &after, &execution())?;
        // Both versions get the definitions of the later one. A column may be newer than the earlier version, in which
        // it is then empty.
        let before = before.with_definitions_of(&after).map_err(|fault| {
            let (before, after) = (self.before, self.after);
            Failure::request(format!("{before} cannot be answered with the definitions of {after}: {fault}"))
        })?;
        let query_before = query.clone().allow_unknown(true);
        let unseen = unseen_values((&before, &query_before), (&after, &query), &execution())?;
        if request.strict && !unseen.is_empty() {
            return Err(RequestError::UnseenValues(unseen).into());
        }
        warn_about_unseen_values("", &unseen);
        let earlier = before.run(&query_before, progress::watched(execution()))?.with_totals_row();
        let later = after.run(&query, progress::watched(execution()))?.with_totals_row();
        warn_about_unknown_fields("", &later, &after);
        let mut changes = later.changes_since(&earlier).map_err(Failure::request)?;
        if let Some(adjustments) = adjustments {
            let (rows, left_out) = adjustments.of(&changes)?;
            left_out.into_iter().for_each(notice::warning);
            changes = rows;
        }
        if changes.is_empty() && format == Format::Table {
            notice::note(format_args!("no row differs between {} and {}", self.before, self.after));
        }
        let out = self.output.writer(&self.dataset)?;
        self.output.write(&changes, format, out)
    }
}

/// Returns the values in the conditions of a query that no event and no spend of either version has. A value may have
/// been restated, so that only the earlier version has it.
fn unseen_values(
    (before, query_before): (&Dataset, &EventsQuery),
    (after, query): (&Dataset, &EventsQuery),
    execution: &Execution,
) -> Result<Vec<UnseenValue>, Failure> {
    let _step = Step::new("checking values");
    let mut unseen = after.unseen_values(query, execution)?;
    if !unseen.is_empty() {
        let unseen_before = before.unseen_values(query_before, execution)?;
        let is_same = |one: &UnseenValue, other: &UnseenValue| one.field == other.field && one.value == other.value;
        unseen
            .retain(|value| !before.has_field(&value.field) || unseen_before.iter().any(|other| is_same(value, other)));
    }
    Ok(unseen)
}
