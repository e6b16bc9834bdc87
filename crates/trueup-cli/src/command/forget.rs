//! `trueup forget`: removes the events of customers from a dataset.

use super::file_count;
use super::option_values;
use super::wait::RewriteArgs;
use crate::exit::Failure;
use crate::notice;
use crate::output::{self, ObjectFormat};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use trueup::query::{AccountFilter, EventsQuery, Filter};
use trueup::versions::version_ranges;
use trueup::{Dataset, Execution, Shown, UnseenValue};
use trueup_ingest::{Customer, Forget, ForgetSummary};
use trueup_report::number;

/// The most customers of whom nothing was found that messages list.
const NAMED: usize = 20;

const EXAMPLES: &str = "\
Examples:
  trueup forget my-data --account north --customer c1 --customer c2
  trueup forget my-data --customers requests.csv --purge      an ingest or vacuum after 24 hours removes the files
  trueup forget my-data --customers requests.csv --purge --grace 0s --rejects rejects.ndjson";

/// Remove all events of customers from a dataset, and with --purge whatever older versions and files have of them
///
/// The new version answers as if it never had the customers. Without --purge, earlier versions still have the events,
/// and so may files of the new version, among superseded rows, which no query counts. Later ingests leave out the
/// events of the customers up to today, in the time zones of their accounts, and count them; later events are taken.
/// For this the dataset keeps a hash of each customer, with a random key of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("forgotten").required(true).multiple(true).args(["ids", "lists"])))]
pub(crate) struct ForgetCommand {
    /// Folder or URL of the dataset
    dataset: PathBuf,

    /// Account of the customers that --customer names
    #[arg(long, value_name = "ACCOUNT", requires = "ids")]
    account: Option<String>,

    /// A customer of the account: its `opportunityId`; may be given several times
    #[arg(long = "customer", id = "ids", value_name = "ID", requires = "account")]
    ids: Vec<String>,

    /// File with the columns `account` and `opportunityId`, in any format of an ingest; may be given several times
    #[arg(long = "customers", id = "lists", value_name = "FILE")]
    lists: Vec<PathBuf>,

    /// Let all earlier versions expire that name a file with an event of the customers, whatever else they have, and
    /// write these files again for the new version
    #[arg(long)]
    purge: bool,

    /// How long files of expired versions stay for processes that have opened these versions, such as 48h; by default
    /// 24h. A given time also applies to versions that expired before, which otherwise keep theirs. With 0s the events
    /// are gone when the command ends
    #[arg(long, value_name = "AGE", value_parser = option_values::age, requires = "purge")]
    grace: Option<Duration>,

    /// Also remove rows of the customers from this file, which `--rejects` of an ingest has written; may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    rejects: Vec<PathBuf>,

    #[command(flatten)]
    rewrite: RewriteArgs,

    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: ObjectFormat,
}

impl ForgetCommand {
    pub(super) fn run(self) -> Result<(), Failure> {
        let summary = self.rewrite.run(self.forget(), |error, stopped| match error.interruption() {
            Some(_) => Failure::stopped("the command was canceled; run it again to complete it", stopped),
            None => error.into(),
        })?;
        let named = summary.absent.get(..NAMED).unwrap_or(&summary.absent);
        // The customers are forgotten already, and a hint is not worth an error.
        let known = self.unseen(named).unwrap_or_default();
        for customer in named {
            let place = if self.purge { "in any version" } else { "in the newest version" };
            let is_same = |(account, unseen): &&(&str, UnseenValue)| {
                *account == customer.account && unseen.value == customer.opportunity_id
            };
            let similar = known.iter().find(is_same).map_or(&[][..], |(_, unseen)| unseen.similar.as_slice());
            let similar: Vec<String> = similar.iter().map(|id| format!("`{}`", Shown(id))).collect();
            let hint =
                if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(" or ")) };
            notice::warning(format!("there is no event of {customer} {place}{hint}"));
        }
        if let Some(more) = summary.absent.len().checked_sub(NAMED).filter(|more| *more > 0) {
            notice::warning(format!("nor of {more} more; --format json names all"));
        }
        match self.format {
            ObjectFormat::Json => output::print_json(&summary),
            ObjectFormat::Text => output::print(|out| self.write_summary(&summary, out)),
        }
    }

    fn forget(&self) -> Forget {
        let account = self.account.as_deref().unwrap_or_default();
        let forget = self.ids.iter().fold(Forget::new(&self.dataset), |forget, id| forget.customer(account, id));
        let forget = self.lists.iter().fold(forget, Forget::customers_in);
        let forget = self.rejects.iter().fold(forget, Forget::rejects);
        let forget = if self.purge { forget.purge() } else { forget };
        self.grace.into_iter().fold(forget, Forget::grace)
    }

    /// Returns which of some customers the newest version does not have, each with its account and the most similar
    /// customers of that account.
    fn unseen<'c>(&self, customers: &'c [Customer]) -> Result<Vec<(&'c str, UnseenValue)>, Failure> {
        let mut all = Vec::new();
        let accounts: BTreeSet<&str> = customers.iter().map(|customer| customer.account.as_str()).collect();
        if accounts.is_empty() {
            return Ok(all);
        }
        let dataset = Dataset::open(&self.dataset)?;
        let Some(days) = dataset.date_range() else { return Ok(all) };
        for account in accounts {
            let of_account = customers.iter().filter(|customer| customer.account == account);
            let ids = of_account.map(|customer| Filter::equals("opportunityId", &customer.opportunity_id));
            let query = EventsQuery::new(["eventCount"], days.start, days.end).allow_long_total().accounts([account]);
            let query = query.filter(Filter::Any(ids.collect()));
            let among = AccountFilter::Only([account.to_owned()].into());
            let unseen = dataset.unseen_values_among(&query, &among, &Execution::default())?;
            all.extend(unseen.into_iter().map(|unseen| (account, unseen)));
        }
        Ok(all)
    }

    fn write_summary(&self, summary: &ForgetSummary, out: &mut impl Write) -> io::Result<()> {
        let ForgetSummary { version, customers, events, recorded, expired, removed, waiting, rejects, .. } = summary;
        let dataset = self.dataset.display();
        let has_changed = *events + *recorded + *rejects + removed.files + waiting.files > 0 || !expired.is_empty();
        if !has_changed {
            return writeln!(
                out,
                "nothing changed: `{dataset}` stays at version {version}, which has forgotten these customers"
            );
        }
        writeln!(out, "version {version} of `{dataset}`")?;
        let (customers, events) = (number::counted(*customers, "customer"), number::counted(*events, "event"));
        writeln!(out, "forgot   {customers} with {events}")?;
        if *recorded > 0 {
            let recorded = number::counted(*recorded, "customer");
            writeln!(out, "recorded {recorded}, whose events up to today later ingests leave out")?;
        }
        if *rejects > 0 {
            writeln!(out, "rejects  {} removed", number::counted(*rejects, "row"))?;
        }
        if !self.purge {
            return writeln!(out, "earlier versions and files may still have their events; --purge removes these");
        }
        if !expired.is_empty() {
            writeln!(out, "expired  {}", version_ranges(expired))?;
        }
        writeln!(out, "removed  {}", file_count::text(*removed))?;
        if waiting.files > 0 {
            writeln!(
                out,
                "waiting  {} for the end of the grace period; until a command such as `trueup vacuum` removes them, \
                 they may have events of the customers",
                file_count::text(*waiting)
            )?;
        }
        Ok(())
    }
}
