//! What `query` and `explain` have in common: a dataset and a question about it.

use super::{suggestion, threads};
use crate::exit::Failure;
use crate::notice;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use trueup::filter::{self, ACROSS};
use trueup_core::dictionary::{self, Kind};
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Dataset, Day, Execution, QueryError, ResultTable};

/// A dataset and a question about it.
#[derive(Debug, Args)]
pub(super) struct Selection {
    /// The folder of the dataset
    dataset: PathBuf,

    /// Metrics, and dimensions to group by, separated by commas; `trueup query --help` lists them
    #[arg(long, required = true, value_delimiter = ',')]
    fields: Vec<String>,

    /// The first day, YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    start: Day,

    /// The last day, YYYY-MM-DD; it is part of the range
    #[arg(long, value_name = "DATE")]
    end: Day,

    /// Cut the range into sub-ranges: total, month, week or day
    #[arg(long, default_value = "total")]
    interval: Interval,

    /// Read this account only; repeat it for several
    #[arg(long = "account", value_name = "KEY")]
    accounts: Vec<String>,

    /// Keep rows whose field has this value, or passes a JSON expression such as 'campaign=["regex", "drain", "i"]'; several
    /// values of one field mean either, several fields all
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = condition)]
    conditions: Vec<(String, String)>,

    /// Keep rows by conditions across fields, such as '["or", {"zip": "00123"}, {"total": ["gte", 500]}]'
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,

    /// Let the interval total span more than the attribution window of 90 days
    #[arg(long)]
    allow_long_total: bool,

    /// Read an earlier version of the dataset; `trueup inspect` names them
    #[arg(long, value_name = "VERSION")]
    as_of: Option<u64>,

    /// Work with so many threads; by default one per core
    #[arg(long, value_name = "COUNT", value_parser = threads::parse)]
    threads: Option<NonZeroUsize>,
}

impl Selection {
    pub(super) fn open(&self) -> Result<Dataset, Failure> {
        Ok(match self.as_of {
            Some(version) => Dataset::open_version(&self.dataset, version)?,
            None => Dataset::open(&self.dataset)?,
        })
    }

    /// The question, if `dataset` has the accounts that it names.
    pub(super) fn query(&self, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        let mut query = EventsQuery::new(self.fields(), self.start, self.end).interval(self.interval);
        if !self.accounts.is_empty() {
            known(dataset, &self.accounts)?;
            query = query.accounts(&self.accounts);
        }
        if let Err(fault @ QueryError::MissingMetric) = query.check() {
            return Err(match suggestion::unknown(self.fields(), dataset) {
                Some(unknown) => {
                    Failure::request(format!("{fault}; neither the dictionary nor the dataset knows {unknown}"))
                }
                None => Failure::request(format!("{fault}, such as `leads`; `trueup query --help` lists all")),
            });
        }
        let across = self.filter.iter().map(|text| (ACROSS.to_owned(), text.clone()));
        let parameters: Vec<(String, String)> = self.conditions.iter().cloned().chain(across).collect();
        let query = filter::filtered(query, &parameters)?;
        Ok(if self.allow_long_total { query.allow_long_total() } else { query })
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|name| name.trim()).filter(|name| !name.is_empty())
    }

    pub(super) fn execution(&self) -> Execution {
        Execution { threads: self.threads, ..Execution::default() }
    }
}

/// Warns of the names of a query that its answer could make nothing of.
pub(super) fn warn_of_unknown(answer: &ResultTable, dataset: &Dataset) {
    for name in answer.unknown_fields() {
        let meant = suggestion::meant(name, dataset).map(|meant| format!("; {meant}")).unwrap_or_default();
        notice::warning(format_args!(
            "neither the dictionary nor the dataset knows `{name}`; it is empty on every row{meant}"
        ));
    }
}

/// The fields that every dataset has, as the end of a help text.
pub(super) fn fields() -> String {
    let names = |is_metric: bool| {
        let fields = dictionary::fields().filter(|field| matches!(field.kind, Kind::Metric(_)) == is_metric);
        fields.map(|field| field.name).collect::<Vec<_>>().join(", ")
    };
    format!("Metrics:\n{}\n\nDimensions (and any further column of your events):\n{}", names(true), names(false))
}

fn condition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, value)) if !field.is_empty() => Ok((field.to_owned(), value.to_owned())),
        _ => Err(format!("expected `field=value`, but found `{text}`")),
    }
}

/// Whether the dataset has every account named.
fn known(dataset: &Dataset, accounts: &[String]) -> Result<(), Failure> {
    const SHOWN: usize = 8;
    // Accounts that only events or spend name are found by reading those, which most questions need not do.
    if accounts.iter().all(|key| dataset.accounts().get(key).is_some()) {
        return Ok(());
    }
    let keys = dataset.account_keys().map_err(trueup_core::Error::from)?;
    let Some(missing) = accounts.iter().find(|key| !keys.contains(*key)) else { return Ok(()) };
    let listed: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
    let has = match (listed.is_empty(), keys.len().saturating_sub(SHOWN)) {
        (true, _) => "no account at all".to_owned(),
        (false, 0) => listed.join(", "),
        (false, more) => format!("{} and {more} more", listed.join(", ")),
    };
    Err(Failure::request(format!("the dataset has no account `{missing}`; it has {has}")))
}
