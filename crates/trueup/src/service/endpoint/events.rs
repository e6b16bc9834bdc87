//! `GET /api/{organization}/events`: aggregated metrics.

use super::super::Service;
use super::super::error::{MissingRange, ServiceError};
use super::super::request::{Parameters, date_range};
use super::super::response::{Answer, header_list};
use super::super::snapshot::Snapshot;
use super::description::{ACCOUNT, ACCOUNTS, Endpoint, OtherParameters, Parameter, RequestContext, ValueType};
use crate::access::Scope;
use crate::filter::{NON_FILTER_PARAMETERS, apply_within};
use crate::query::{CompiledPatterns, EventsQuery, Interval};
use crate::{Error, Execution, Interrupt, QueryError, ResultTable, dictionary};
use std::borrow::Cow;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "events",
    summary: "Metrics over a range of days, grouped by dimensions",
    parameters: &[
        Parameter::new(
            "fields",
            ValueType::Names,
            "Dimensions and metrics, at least one of them a metric. Rows are grouped by the dimensions. Any name that is not \
             a metric is a dimension.",
            "attributionChannel,leads,spend,avgCostPerLead",
        )
        .required(),
        Parameter::new("start", ValueType::Date, "The first day.", "2025-01-01").required(),
        Parameter::new("end", ValueType::Date, "The last day, which is included.", "2025-03-31").required(),
        ACCOUNT,
        ACCOUNTS,
        Parameter::new(
            "interval",
            ValueType::Interval,
            "How the range is cut into sub-ranges: not at all, or into calendar months, weeks from Monday, or days. Each \
             sub-range is computed independently.",
            "month",
        ),
        Parameter::new(
            "filter",
            ValueType::Filter,
            "A filter across fields: an object of fields and expressions that must all hold, or `or`, `and`, `not` over \
             such objects.",
            r#"["or", {"attributionCategory": "Advertising"}, {"total": ["gte", 50000]}]"#,
        ),
    ],
    other_parameters: OtherParameters::AnyField(
        "A filter on the field of that name. A value that is a JSON array is an expression, such as `[\"or\", \"a\", \"b\"]`, \
         `[\"gte\", 100]`, `[\"regex\", \"drain\", \"i\"]` or `[\"notEmpty\"]`; any other value is the text itself. A parameter \
         given twice matches either value. All parameters must hold.",
    ),
    fields: Some(|_| true),
    notes: "fields, start and end are required; fields needs at least one metric. interval is total (the default), month, week \
            or day; with total the range is at most 90 days. Any other parameter is a filter on the field of its name; filter \
            takes conditions across fields. Any column of the data is a dimension, listed here or not.",
    answer,
};

/// The parameters that take one value.
const SINGLE: [&str; 3] = ["start", "end", "interval"];

impl Service {
    /// Answers a query over the accounts in scope. The limits of the service apply.
    ///
    /// The scope replaces the accounts that the query names; [`Scope::narrow`] selects fewer. A name is among the
    /// answer's [unknown fields](ResultTable::unknown_fields) if the dictionary does not have it and no event in scope,
    /// of any day, has a value in a column of that name. Such names are never refused.
    ///
    /// # Errors
    /// The query is invalid or too large, takes too long, or finds no memory within [`Limits::memory_wait`]; or the
    /// dataset fails.
    ///
    /// [`Limits::memory_wait`]: crate::service::Limits::memory_wait
    ///
    /// ```
    /// use trueup::access::Scope;
    /// use trueup::query::EventsQuery;
    /// use trueup::service::{Service, ServiceError};
    ///
    /// fn leads_in_january(service: &Service, scope: &Scope) -> Result<trueup::ResultTable, ServiceError> {
    ///     let [start, end] = [20_089, 20_119].map(trueup::Day::from_number);
    ///     service.events(scope, &EventsQuery::new(["account", "leads"], start, end))
    /// }
    /// ```
    pub fn events(&self, scope: &Scope, query: &EventsQuery) -> Result<ResultTable, ServiceError> {
        let interrupt = Interrupt::after(self.limits.deadline);
        // The regular expressions of a query that was built by hand are compiled with this interrupt, too.
        let query = query.clone().patterns(CompiledPatterns::within(interrupt.clone()));
        self.events_within(&self.snapshot(), scope, query, &interrupt)
    }

    /// Runs the query, then looks up which of its names are unknown.
    fn events_within(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        query: EventsQuery,
        interrupt: &Interrupt,
    ) -> Result<ResultTable, ServiceError> {
        // A caller must not learn from a refusal which columns the data of others has.
        let query = query.accounts(scope.accounts()).allow_unknown(true);
        let (accounts, sub_ranges, limit) = (scope.len(), query.sub_ranges().len(), self.limits.account_intervals);
        if accounts.saturating_mul(sub_ranges) > limit {
            // An invalid query is reported as such, however large it is.
            snapshot.dataset.check(&query).map_err(|fault| ServiceError::query(fault.into()))?;
            return Err(ServiceError::TooManyIntervals { accounts, sub_ranges, limit });
        }
        let row_limit = RowLimit::new(self, query.width());
        let execution =
            Execution { max_rows: Some(row_limit.rows), interrupt: interrupt.clone(), ..Execution::default() };
        let table = self.memory.run(&snapshot.dataset, &query, &execution, &self.limits);
        let table = table.map_err(|error| match error {
            Error::Query(QueryError::TooManyRows { .. }) => row_limit.exceeded,
            other => ServiceError::query(other),
        })?;
        let unknown = snapshot.unknown_fields(scope, &query.names(), interrupt)?;
        Ok(table.with_unknown_fields(unknown))
    }
}

/// How many rows an answer may have, and the error if it has more: that of the stricter of two limits.
struct RowLimit {
    rows: usize,
    exceeded: ServiceError,
}

impl RowLimit {
    fn new(service: &Service, columns: usize) -> Self {
        let (limit, cells) = (service.limits.rows, service.limits.cells);
        let rows = cells / columns.max(1);
        if rows < limit {
            Self { rows, exceeded: ServiceError::TooManyCells { columns, rows, limit: cells } }
        } else {
            Self { rows: limit, exceeded: ServiceError::TooManyRows { limit } }
        }
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Answer, ServiceError> {
    let query = query(context.parameters, context.interrupt)?;
    let table = service.events_within(&context.snapshot, &context.scope, query, context.interrupt)?;
    let unknown = header_list(table.unknown_fields());
    let mut answer = Answer::rows(table)?;
    if !unknown.is_empty() {
        answer.headers.push(("Trueup-Unknown-Fields", Cow::Owned(unknown)));
    }
    Ok(answer)
}

/// Reads the query. Reports the first fault in this fixed order: parameters that are missing, no metric, a malformed
/// query string, then the other values. [`EventsQuery::check`] has the faults of fields in the same order, but cannot
/// report them here, because faults of other parameters come between them.
fn query(parameters: &Parameters, interrupt: &Interrupt) -> Result<EventsQuery, ServiceError> {
    let missing = |name| ServiceError::MissingRange(MissingRange::Needed(name));
    let fields: Vec<&str> = parameters.list("fields").collect();
    if fields.is_empty() {
        return Err(ServiceError::MissingFields);
    }
    let start = parameters.non_empty("start").ok_or_else(|| missing("start"))?;
    let end = parameters.non_empty("end").ok_or_else(|| missing("end"))?;
    if !fields.iter().any(|name| dictionary::metric(name).is_some()) {
        return Err(ServiceError::MissingMetric);
    }
    parameters.check(&SINGLE)?;
    if let Some(name) = fields.iter().find(|name| matches!(**name, "start" | "end")) {
        return Err(ServiceError::ReservedField { name: (*name).to_owned() });
    }
    let interval = match parameters.first("interval") {
        Some(text) => text.parse().map_err(ServiceError::UnknownInterval)?,
        None => Interval::default(),
    };
    let range = date_range(start, end)?;
    let query = EventsQuery::new(fields, range.start, range.end).interval(interval);
    apply_within(interrupt, query, &parameters.others(&NON_FILTER_PARAMETERS)).map_err(ServiceError::filter)
}
