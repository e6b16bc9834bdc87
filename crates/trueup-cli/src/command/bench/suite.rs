//! The questions that are timed, put to whatever data there is.

use crate::exit::Failure;
use serde::Serialize;
use trueup::filter;
use trueup_core::dictionary::{self, FieldKind};
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Dataset, Day};

/// A question with a name.
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
    /// The accounts that are asked for; all if there is none.
    accounts: Vec<String>,
    /// Fields, and the expressions that they have to pass.
    conditions: Vec<(&'static str, &'static str)>,
}

fn as_text<S: serde::Serializer>(value: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Five counts, ratios and sums of money.
const FIVE: [&str; 5] = ["leads", "customers", "bookRate", "closedRevenue", "conversions"];

/// Days of a range that an answer without sub-ranges may have.
const QUARTER: u16 = 90;

const YEAR: u16 = 365;

/// The suite, for the last days of the dataset and its accounts; none if it has no rows.
pub(super) fn cases(dataset: &Dataset) -> Result<Vec<BenchQuery>, Failure> {
    let Some(range) = dataset.date_range() else { return Ok(Vec::new()) };
    let end = range.end;
    let keys = dataset.account_keys().map_err(trueup_core::Error::from)?;
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
    let five = |dimensions: &[&'static str]| [dimensions, &FIVE].concat();
    let metrics = dictionary::fields().filter(|field| matches!(field.kind, FieldKind::Metric(_)));
    let metrics: Vec<&'static str> = metrics.map(|field| field.name).collect();
    Ok(vec![
        over(QUARTER, "all-metrics", &metrics),
        over(QUARTER, "channel", &five(&["attributionChannel"])),
        over(QUARTER, "campaign-spend", &["campaign", "leads", "spend", "avgCostPerLead", "roasClosed"]),
        BenchQuery { start: range.start, ..over(YEAR, "account-month", &five(&["account"])).every(Interval::Month) },
        over(YEAR, "channel-day", &five(&["attributionChannel"])).every(Interval::Day),
        over(YEAR, "unit-week", &five(&["normalizedBusinessUnit"]))
            .every(Interval::Week)
            .having("campaign", r#"["regex", "a.*e", "i"]"#),
        over(QUARTER, "customers", &five(&["opportunityId"])).of(first(1)),
        over(QUARTER, "one-account", &five(&["attributionCategory"])).of(first(1)),
        over(QUARTER, "state-status", &five(&["adjustedType", "customerStatus"])),
        over(
            QUARTER,
            "step-rates",
            &["attributionChannel", "stepBookRate", "stepEstimateRate", "stepSoldRate", "stepCloseRate"],
        ),
        over(QUARTER, "date", &five(&["date"])),
        over(QUARTER, "large-totals", &five(&["technician"])).having("total", r#"["gte", 500]"#),
        over(QUARTER, "parent", &five(&["account"])).of(first(keys.len().div_ceil(10))),
    ])
}

impl BenchQuery {
    fn every(self, interval: Interval) -> Self {
        Self { interval, ..self }
    }

    fn of(self, accounts: Vec<String>) -> Self {
        Self { accounts, ..self }
    }

    fn having(mut self, field: &'static str, expression: &'static str) -> Self {
        self.conditions.push((field, expression));
        self
    }

    /// The question, as the engine takes it.
    pub(super) fn query(&self) -> Result<EventsQuery, Failure> {
        let query = EventsQuery::new(self.fields.clone(), self.start, self.end).interval(self.interval);
        let query = if self.accounts.is_empty() { query } else { query.accounts(&self.accounts) };
        let conditions =
            self.conditions.iter().map(|(field, expression)| ((*field).to_owned(), (*expression).to_owned()));
        Ok(filter::apply(query, &conditions.collect::<Vec<_>>())?)
    }
}
