//! A request of the testkit, asked of the engine.

use chrono::NaiveDate;
use trueup::filter;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::query::{EventsQuery, Filter};
use trueup_core::{Day, Error, Execution, QueryError, ResultTable};
use trueup_testkit::cases::{account_batches, event_batches, spend_batches};
use trueup_testkit::oracle::{Request, Tables};

/// Why the engine refused, as the oracle names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Filter(String),
    Metric(String),
    Fields(String),
    Interval(String),
    Range(String),
}

/// The tables in memory, in parts of about `part_rows` events.
pub(crate) fn dataset(tables: &Tables, part_rows: usize) -> Dataset {
    let canonical = CanonicalTables {
        events: event_batches(tables),
        spend: spend_batches(tables),
        accounts: account_batches(tables),
        part_rows,
    };
    Dataset::from_tables(&canonical).unwrap()
}

pub(crate) fn day(date: NaiveDate) -> Day {
    Day::from_date(date).unwrap()
}

/// The request as a query, without its filters.
pub(crate) fn unfiltered(request: &Request) -> Result<EventsQuery, Refused> {
    let interval = request.interval.parse().map_err(|_| Refused::Interval(request.interval.clone()))?;
    let query = EventsQuery::new(request.fields.clone(), day(request.start), day(request.end));
    let query = query.interval(interval).allow_long_total();
    Ok(match &request.accounts {
        Some(accounts) => query.accounts(accounts.clone()),
        None => query,
    })
}

/// The request's filters.
pub(crate) fn filter(request: &Request) -> Result<Option<Filter>, Refused> {
    let across = request.filter.iter().map(|text| (filter::ACROSS.to_owned(), text.clone()));
    let parameters: Vec<_> = request.filters.iter().cloned().chain(across).collect();
    filter::from_parameters(&parameters).map_err(|error| Refused::Filter(error.to_string()))
}

/// Asks the engine; a filter that does not parse is the last of the reasons to refuse.
pub(crate) fn run(dataset: &Dataset, request: &Request, execution: Execution) -> Result<ResultTable, Refused> {
    let query = unfiltered(request)?;
    match filter(request) {
        Ok(None) => ask(dataset, &query, execution),
        Ok(Some(filter)) => ask(dataset, &query.filter(filter), execution),
        Err(refused) => ask(dataset, &query, execution).and(Err(refused)),
    }
}

pub(crate) fn ask(dataset: &Dataset, query: &EventsQuery, execution: Execution) -> Result<ResultTable, Refused> {
    dataset.run(query, execution).map_err(|error| {
        let text = error.to_string();
        match error {
            Error::Query(QueryError::MissingFields | QueryError::MissingMetric) => Refused::Metric(text),
            Error::Query(QueryError::ReservedField { .. }) => Refused::Fields(text),
            Error::Query(QueryError::Filter { .. }) => Refused::Filter(text),
            Error::Query(QueryError::ReversedRange { .. }) => Refused::Range(text),
            other => panic!("{other}"),
        }
    })
}

pub(crate) fn json(table: &ResultTable) -> String {
    let mut out = Vec::new();
    trueup::json::write_rows(table, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
