//! The queries of the suite, which fit any dataset.

use crate::exit::Failure;
use serde::Serialize;
use trueup::dictionary::{self, FieldKind};
use trueup::filter;
use trueup::query::{EventsQuery, Interval};
use trueup::request::RequestError;
use trueup::{Dataset, Day};

/// A query of the suite, with its name.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BenchQuery {
    pub(super) name: &'static str,
    fields: Vec<&'static str>,
    #[serde(serialize_with = "as_text")]
    start: Day,
    #[serde(serialize_with = "as_text")]
    end: Day,
    #[serde(serialize_with = "as_text")]
    interval: Interval,
    /// Accounts to read; all if empty.
    accounts: Vec<String>,
    /// Fields, each with the filter expression that it must match.
    conditions: Vec<(&'static str, &'static str)>,
}

fn as_text<S: serde::Serializer>(value: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Metrics of each kind: counts, a ratio and a sum of money.
const FIVE_METRICS: [&str; 5] = ["leads", "customers", "bookRate", "closedRevenue", "conversions"];

/// Longest range of the interval `total`, in days.
const NINETY_DAYS: u16 = 90;

/// A year in days.
const YEAR: u16 = 365;

/// Returns the queries of the suite for a dataset; none if the dataset has no rows.
pub(super) fn queries(dataset: &Dataset) -> Result<Vec<BenchQuery>, Failure> {
    let Some(range) = dataset.date_range() else { return Ok(Vec::new()) };
    let end = range.end;
    let keys = dataset.account_keys().map_err(trueup::Error::from)?;
    let first = |count: usize| keys.iter().take(count).cloned().collect::<Vec<_>>();
    let over = |days: u16, name: &'static str, fields: &[&'static str]| BenchQuery {
        name,
        fields: fields.to_vec(),
        start: end.number().checked_sub(days - 1).map_or(range.start, Day::from_number).max(range.start),
        end,
        interval: Interval::Total,
        accounts: Vec::new(),
        conditions: Vec::new(),
    };
    let five = |dimensions: &[&'static str]| [dimensions, &FIVE_METRICS].concat();
    let metrics = dictionary::fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)));
    let metrics: Vec<&'static str> = metrics.map(|field| field.name).collect();
    Ok(vec![
        over(NINETY_DAYS, "all-metrics", &metrics),
        over(NINETY_DAYS, "channel", &five(&["attributionChannel"])),
        over(NINETY_DAYS, "campaign-spend", &["campaign", "leads", "spend", "avgCostPerLead", "roasClosed"]),
        BenchQuery { start: range.start, ..over(YEAR, "account-month", &five(&["account"])).every(Interval::Month) },
        over(YEAR, "channel-day", &five(&["attributionChannel"])).every(Interval::Day),
        over(YEAR, "unit-week", &five(&["normalizedBusinessUnit"]))
            .every(Interval::Week)
            .matching("campaign", r#"["regex", "a.*e", "i"]"#),
        over(NINETY_DAYS, "customers", &five(&["opportunityId"])).only(first(1)),
        over(NINETY_DAYS, "one-account", &five(&["attributionCategory"])).only(first(1)),
        over(NINETY_DAYS, "state-status", &five(&["adjustedType", "customerStatus"])),
        over(
            NINETY_DAYS,
            "step-rates",
            &["attributionChannel", "stepBookRate", "stepEstimateRate", "stepSoldRate", "stepCloseRate"],
        ),
        over(NINETY_DAYS, "date", &five(&["date"])),
        over(NINETY_DAYS, "large-totals", &five(&["technician"])).matching("total", r#"["gte", 500]"#),
        over(NINETY_DAYS, "parent", &five(&["account"])).only(first(keys.len().div_ceil(10))),
    ])
}

impl BenchQuery {
    fn every(self, interval: Interval) -> Self {
        Self { interval, ..self }
    }

    fn only(self, accounts: Vec<String>) -> Self {
        Self { accounts, ..self }
    }

    fn matching(mut self, field: &'static str, expression: &'static str) -> Self {
        self.conditions.push((field, expression));
        self
    }

    /// Returns the query for the engine.
    pub(super) fn query(&self) -> Result<EventsQuery, Failure> {
        let query = EventsQuery::new(self.fields.clone(), self.start, self.end).interval(self.interval);
        let query = if self.accounts.is_empty() { query } else { query.accounts(&self.accounts) };
        let conditions =
            self.conditions.iter().map(|(field, expression)| ((*field).to_owned(), (*expression).to_owned()));
        Ok(filter::apply(query, &conditions.collect::<Vec<_>>()).map_err(RequestError::from)?)
    }
}
