//! A question about a dataset: metrics, dimensions, days, accounts, conditions.

use super::{accounts, suggestion};
use crate::exit::Failure;
use crate::notice;
use clap::Args;
use trueup::filter::{self, FILTER_PARAMETER};
use trueup_core::dictionary::{self, FieldKind};
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Dataset, Day, QueryError, ResultTable, Shown};

/// What is asked, from the command line or from a file of jobs.
#[derive(Clone, Debug, Args)]
pub(super) struct QuerySpec {
    /// Metrics, and dimensions to group by, separated by commas; `trueup query --help` lists them
    #[arg(long, required = true, value_delimiter = ',')]
    pub(super) fields: Vec<String>,

    /// The first day, YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    pub(super) start: Day,

    /// The last day, YYYY-MM-DD; it is part of the range
    #[arg(long, value_name = "DATE")]
    pub(super) end: Day,

    /// Cut the range into sub-ranges: total, month, week or day
    #[arg(long, default_value = "total")]
    pub(super) interval: Interval,

    /// Read this account only; repeat it for several
    #[arg(long = "account", value_name = "KEY")]
    pub(super) accounts: Vec<String>,

    /// Keep rows whose field has this value, or passes a JSON expression such as 'campaign=["regex", "drain", "i"]'; several
    /// values of one field mean either, several fields all
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = condition)]
    pub(super) conditions: Vec<(String, String)>,

    /// Keep rows by conditions across fields, such as '["or", {"zip": "00123"}, {"total": ["gte", 500]}]'
    #[arg(long, value_name = "JSON")]
    pub(super) filter: Option<String>,

    /// Let the interval total span more than the attribution window of 90 days
    #[arg(long)]
    pub(super) allow_long_total: bool,
}

impl QuerySpec {
    /// The question, if `dataset` has the accounts that it names.
    pub(super) fn query(&self, dataset: &Dataset) -> Result<EventsQuery, Failure> {
        let mut query = EventsQuery::new(self.fields(), self.start, self.end).interval(self.interval);
        if !self.accounts.is_empty() {
            accounts::check(dataset, &self.accounts)?;
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
        let across = self.filter.iter().map(|text| (FILTER_PARAMETER.to_owned(), text.clone()));
        let parameters: Vec<(String, String)> = self.conditions.iter().cloned().chain(across).collect();
        let query = filter::apply(query, &parameters)?;
        Ok(if self.allow_long_total { query.allow_long_total() } else { query })
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|name| name.trim()).filter(|name| !name.is_empty())
    }
}

/// Warns of the names of a query that its answer could make nothing of; `of` says first which query it is, if it is one of many.
pub(super) fn warn_of_unknown(of: &str, answer: &ResultTable, dataset: &Dataset) {
    for name in answer.unknown_fields() {
        let meant = suggestion::meant(name, dataset).map(|meant| format!("; {meant}")).unwrap_or_default();
        notice::warning(format_args!(
            "{of}neither the dictionary nor the dataset knows `{}`; it is empty on every row{meant}",
            Shown(name)
        ));
    }
}

/// The fields that every dataset has, as the end of a help text.
pub(super) fn fields() -> String {
    let names = |is_metric: bool| {
        let fields = dictionary::fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)) == is_metric);
        fields.map(|field| field.name).collect::<Vec<_>>().join(", ")
    };
    format!("Metrics:\n{}\n\nDimensions (and any further column of your events):\n{}", names(true), names(false))
}

/// Reads `field=value`.
pub(super) fn condition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, value)) if !field.is_empty() => Ok((field.to_owned(), value.to_owned())),
        _ => Err(format!("expected `field=value`, but found `{}`", Shown(text))),
    }
}
