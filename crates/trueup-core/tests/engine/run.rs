//! Runs requests of the testkit on the engine.

use chrono::NaiveDate;
use trueup::filter::{self, InvalidRequest};
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::definitions::Definitions;
use trueup_core::query::{Attribution, CohortWindow, EventsQuery, Filter};
use trueup_core::{Day, Error, Execution, QueryError, ResultTable};
use trueup_testkit::cases::{account_batches, event_batches, spend_batches};
use trueup_testkit::oracle::{self, Refusal, Request, Tables, Window};

/// Why the engine refused a request, in the oracle's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Filter(String),
    Metric(String),
    Fields(String),
    Interval(String),
    Range(String),
    Cohort(String),
}

/// Returns whether both refuse for the same reason: the first in the fixed order of faults.
pub(crate) fn same_refusal(engine: &Refused, oracle: &Refusal) -> bool {
    matches!(
        (engine, oracle),
        (Refused::Filter(_), Refusal::InvalidFilter(_))
            | (Refused::Metric(_), Refusal::MissingMetric)
            | (Refused::Fields(_), Refusal::InvalidFields(_))
            | (Refused::Interval(_), Refusal::UnknownInterval(_))
            | (Refused::Range(_), Refusal::InvalidRange)
            | (Refused::Cohort(_), Refusal::OpenLeadsOutsideCohorts)
    )
}

/// Returns a dataset of the tables in memory, in row groups of about `row_group_rows` events.
pub(crate) fn dataset(tables: &Tables, row_group_rows: usize) -> Dataset {
    let canonical = CanonicalTables {
        events: event_batches(tables),
        spend: spend_batches(tables),
        accounts: account_batches(tables),
        targets: Vec::new(),
        row_group_rows,
    };
    Dataset::from_tables(&canonical).unwrap()
}

/// Returns a dataset of the tables with the definitions of the oracle, written as a file.
pub(crate) fn defined(tables: &Tables, definitions: &oracle::Definitions, row_group_rows: usize) -> Dataset {
    let text = definitions.toml();
    let definitions = Definitions::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let dataset = dataset(tables, row_group_rows).with_definitions(definitions);
    dataset.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn day(date: NaiveDate) -> Day {
    Day::from_date(date).unwrap()
}

/// Converts a request to a query without its filters.
pub(crate) fn unfiltered(request: &Request) -> Result<EventsQuery, Refused> {
    let interval = request.interval.parse().map_err(|_| Refused::Interval(request.interval.clone()))?;
    let query = EventsQuery::new(request.fields.clone(), day(request.start), day(request.end));
    // As the service does.
    let query = query.interval(interval).allow_long_total().allow_unknown(true).allow_mixed_currencies(true);
    let query = match &request.accounts {
        Some(accounts) => query.accounts(accounts.clone()),
        None => query,
    };
    let query = query.attribution(match request.attribution {
        oracle::Attribution::Recorded => Attribution::Recorded,
        oracle::Attribution::First => Attribution::First,
        oracle::Attribution::Last => Attribution::Last,
    });
    Ok(match request.cohort {
        Some(Window::Days(days)) => query.cohort(CohortWindow::Days(days)),
        Some(Window::All) => query.cohort(CohortWindow::All),
        None => query,
    })
}

/// Returns the filters of a request.
pub(crate) fn filter(request: &Request) -> Result<Option<Filter>, Refused> {
    filter::from_parameters(&parameters(request)).map_err(|error| Refused::Filter(error.to_string()))
}

fn parameters(request: &Request) -> Vec<(String, String)> {
    let across = request.filter.iter().map(|text| (filter::FILTER_PARAMETER.to_owned(), text.clone()));
    request.filters.iter().cloned().chain(across).collect()
}

/// Runs a request on the engine, and returns the rows of the answer as JSON.
pub(crate) fn run(dataset: &Dataset, request: &Request, execution: Execution) -> Result<String, Refused> {
    ask(dataset, &requested(request)?, execution).map(|table| json(&table))
}

/// Converts a request to a query. The facade parses the filters of the request.
pub(crate) fn requested(request: &Request) -> Result<EventsQuery, Refused> {
    requested_of(&Definitions::default(), request)
}

/// Converts a request to a query that knows the definitions of a dataset, as the service does.
pub(crate) fn requested_of(definitions: &Definitions, request: &Request) -> Result<EventsQuery, Refused> {
    filter::apply(unfiltered(request)?.definitions(definitions), &parameters(request)).map_err(|error| match error {
        InvalidRequest::Query(error) => reason(&error),
        error => Refused::Filter(error.to_string()),
    })
}

/// Runs a query on the engine.
pub(crate) fn ask(dataset: &Dataset, query: &EventsQuery, execution: Execution) -> Result<ResultTable, Refused> {
    dataset.run(query, execution).map_err(|error| match error {
        Error::Query(error) => reason(&error),
        other => panic!("{other}"),
    })
}

/// Returns why the engine refuses a query. Panics if it does not.
pub(crate) fn refused(dataset: &Dataset, query: &EventsQuery) -> QueryError {
    match dataset.query(query) {
        Err(Error::Query(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn reason(error: &QueryError) -> Refused {
    let text = error.to_string();
    match error {
        QueryError::MissingFields | QueryError::MissingMetric => Refused::Metric(text),
        QueryError::ReservedField { .. } => Refused::Fields(text),
        QueryError::Filter { .. } => Refused::Filter(text),
        QueryError::ReversedRange { .. } => Refused::Range(text),
        QueryError::NotACohort { .. } => Refused::Cohort(text),
        other => panic!("{other}"),
    }
}

/// Returns the rows of an answer as JSON.
pub(crate) fn json(table: &ResultTable) -> String {
    let mut out = Vec::new();
    trueup::json::write_rows(table, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
