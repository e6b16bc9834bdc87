//! Aggregated metrics.

use super::super::content::{Answer, Content};
use super::super::error::{MissingRange, ServiceError};
use super::super::form::header_list;
use super::super::snapshot::Snapshot;
use super::super::{Service, parameters::Parameters};
use super::parameter::{ACCOUNT, ACCOUNTS, OtherParameters, Parameter, ValueType};
use super::{Endpoint, RequestContext, dates};
use crate::access::Scope;
use crate::filter::{NON_FILTER_PARAMETERS, apply_within};
use crate::query::{CompiledPatterns, EventsQuery, Interval};
use crate::{Execution, Interrupt, ResultTable, dictionary};
use std::borrow::Cow;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "events",
    summary: "Metrics over a range of days, by the dimensions named",
    parameters: &[
        Parameter::new(
            "fields",
            ValueType::Names,
            "Dimensions and metrics, at least one of them a metric. Rows are grouped by the dimensions; any name that is no \
             metric is one.",
            "attributionChannel,leads,spend,avgCostPerLead",
        )
        .needed(),
        Parameter::new("start", ValueType::Date, "The first day.", "2025-01-01").needed(),
        Parameter::new("end", ValueType::Date, "The last day, which is included.", "2025-03-31").needed(),
        ACCOUNT,
        ACCOUNTS,
        Parameter::new(
            "interval",
            ValueType::Interval,
            "How the range is cut into sub-ranges, each of which is computed as if it alone had been asked: not at all, or \
             into calendar months, weeks from Monday, or days.",
            "month",
        ),
        Parameter::new(
            "filter",
            ValueType::Filter,
            "A filter across fields: an object of fields and expressions that all have to hold, or `or`, `and`, `not` over \
             such objects.",
            r#"["or", {"attributionCategory": "Advertising"}, {"total": ["gte", 50000]}]"#,
        ),
    ],
    filters: OtherParameters::AnyField(
        "A filter on the field of its name. A value that is a JSON array is an expression, such as `[\"or\", \"a\", \"b\"]`, \
         `[\"gte\", 100]`, `[\"regex\", \"drain\", \"i\"]` or `[\"notEmpty\"]`; any other value is the text itself. A parameter \
         given twice means either value; different ones all have to hold.",
    ),
    fields: Some(|_| true),
    notes: "fields, start and end are required; fields needs at least one metric. interval is total (the default), month, week \
            or day; with total the range is at most 90 days. Any other parameter is a filter on the field of its name; filter \
            takes conditions across fields. Any column of the data is a dimension, listed here or not.",
    answer,
};

/// The parameters that have one value.
const SINGLE: [&str; 3] = ["start", "end", "interval"];

impl Service {
    /// Answers a query over the accounts in scope; accounts that the query names itself do not count, for
    /// [`Scope::narrow`] names fewer. The limits of the service hold. A name is among the answer's
    /// [unknown fields](ResultTable::unknown_fields) unless the dictionary or an event in scope, of any day, has it: the columns of
    /// others show nowhere.
    ///
    /// # Errors
    /// The query is at fault or too large, takes too long, or the dataset fails.
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
        // Of a query that was built by hand nothing is compiled yet.
        let query = query.clone().patterns(CompiledPatterns::within(interrupt.clone()));
        self.events_within(&self.snapshot(), scope, query, &interrupt)
    }

    fn events_within(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        query: EventsQuery,
        interrupt: &Interrupt,
    ) -> Result<ResultTable, ServiceError> {
        let query = query.accounts(scope.accounts());
        let (accounts, sub_ranges, limit) = (scope.len(), query.sub_ranges().len(), self.limits.account_intervals);
        if accounts.saturating_mul(sub_ranges) > limit {
            // A query that is at fault besides is told of that.
            snapshot.dataset.explain(&query).map_err(ServiceError::query)?;
            return Err(ServiceError::TooManyIntervals { accounts, sub_ranges, limit });
        }
        let columns = query.width();
        let (limit, max_rows) = (self.limits.cells, self.limits.cells / columns.max(1));
        let execution = Execution {
            max_rows: Some(self.limits.rows.min(max_rows)),
            interrupt: interrupt.clone(),
            ..Execution::default()
        };
        let table = self.run(&snapshot.dataset, &query, &execution).map_err(|error| match error {
            ServiceError::TooManyRows { limit: rows } if rows < self.limits.rows => {
                ServiceError::TooManyCells { columns, rows, limit }
            }
            other => other,
        })?;
        let unknown = snapshot.unknown_fields(scope, &query.names(), interrupt)?;
        Ok(table.with_unknown_fields(unknown))
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Content, ServiceError> {
    let query = query(context.parameters, context.interrupt)?;
    let table = service.events_within(&context.snapshot, &context.scope, query, context.interrupt)?;
    let unknown = header_list(table.unknown_fields());
    let mut content = Content::new(Answer::rows(table)?);
    if !unknown.is_empty() {
        content.headers.push(("Trueup-Unknown-Fields", Cow::Owned(unknown)));
    }
    Ok(content)
}

/// The query that the parameters state, refused for the first fault in the order of the contract.
fn query(parameters: &Parameters, interrupt: &Interrupt) -> Result<EventsQuery, ServiceError> {
    let missing = |name| ServiceError::MissingRange(MissingRange::Needed(name));
    let fields: Vec<&str> = parameters.list("fields").collect();
    if fields.is_empty() {
        return Err(ServiceError::MissingFields);
    }
    let start = dates::given(parameters, "start").ok_or_else(|| missing("start"))?;
    let end = dates::given(parameters, "end").ok_or_else(|| missing("end"))?;
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
    let range = dates::range(start, end)?;
    let query = EventsQuery::new(fields, range.start, range.end).interval(interval);
    apply_within(interrupt, query, &parameters.others(&NON_FILTER_PARAMETERS)).map_err(ServiceError::filter)
}
