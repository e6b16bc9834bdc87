//! `GET /api/{organization}/events`: aggregated metrics.

mod why;

use super::super::Service;
use super::super::error::{InvalidQuery, MissingRange, ServiceError};
use super::super::memory::UserMemory;
use super::super::negotiation::AnswerFormat;
use super::super::request::{Parameters, date_range};
use super::super::response::{Answer, header_list};
use super::super::snapshot::Snapshot;
use super::description::{ACCOUNT, ACCOUNTS, Endpoint, OtherParameters, Parameter, RequestContext, ValueType};
use crate::access::Scope;
use crate::benchmarks::BenchmarkComparison;
use crate::filter::{NON_FILTER_PARAMETERS, apply_within};
use crate::json::JsonRows;
use crate::query::{CompiledPatterns, DateRange, EventsQuery, Interval};
use crate::request::{self, ComparedWith, InvalidParameter, QueryRequest};
use crate::targets::{NotTargeted, TargetComparison};
use crate::{Dataset, Error, Execution, Interrupt, QueryError, ResultTable};
use std::borrow::Cow;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "events",
    summary: "Metrics over a range of days, grouped by dimensions",
    parameters: &[
        request::FIELDS.required(),
        request::START.required(),
        request::END.required(),
        ACCOUNT,
        ACCOUNTS,
        request::INTERVAL,
        request::FILTER,
    ],
    additions: &[
        &request::ADDITIONS,
        &request::MARKED_ADDITIONS,
        &[why::WHY, why::ROW, why::LINES],
        &[request::REMAINING],
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

/// The parameters of `API.md` that may have one value only.
const SINGLE: [&str; 3] = ["start", "end", "interval"];

/// The parameter that compares.
const COMPARE: &str = "compare";

/// The value of [`COMPARE`] that compares with benchmarks, and not with another range.
const BENCHMARKS: &str = "benchmarks";

impl Service {
    /// Answers a query over the accounts in scope. The limits of the service apply.
    ///
    /// The scope replaces the accounts that the query names; [`Scope::narrow`] selects fewer. A name is among the
    /// answer's [unknown fields](ResultTable::unknown_fields) if neither the dictionary nor the definitions of the
    /// dataset have it, and no event in scope, of any day, has a value in a column of that name. Such names are never
    /// refused.
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
        let width = query.width();
        let (snapshot, memory) = (self.snapshot(), self.memory.for_program());
        self.events_within(&snapshot, scope, query, width, &memory, &interrupt)
    }

    /// Returns the query over the accounts in scope, if these and its sub-ranges are not too many.
    fn scoped(&self, snapshot: &Snapshot, scope: &Scope, query: EventsQuery) -> Result<EventsQuery, ServiceError> {
        // A caller must not learn from a refusal which columns the data of others has.
        // `API.md` adds up amounts whatever their currency; a header says which they are of.
        let query = query.accounts(scope.accounts()).allow_unknown(true).allow_mixed_currencies(true);
        let (accounts, sub_ranges, limit) = (scope.len(), query.sub_ranges().len(), self.limits.account_intervals);
        if accounts.saturating_mul(sub_ranges) > limit {
            // An invalid query is reported as such, however large it is.
            snapshot.dataset.check(&query).map_err(|fault| ServiceError::query(fault.into()))?;
            return Err(ServiceError::TooManyIntervals { accounts, sub_ranges, limit });
        }
        Ok(query)
    }

    /// Runs the query, then looks up which of its names are unknown. `width` is the number of columns of the answer.
    fn events_within(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        query: EventsQuery,
        width: usize,
        memory: &UserMemory<'_>,
        interrupt: &Interrupt,
    ) -> Result<ResultTable, ServiceError> {
        let query = self.scoped(snapshot, scope, query)?;
        let row_limit = RowLimit::new(self, width);
        let execution =
            Execution { max_rows: Some(row_limit.rows), interrupt: interrupt.clone(), ..Execution::default() };
        let table = memory.run(&execution, &self.limits, |execution| snapshot.dataset.run(&query, execution));
        let table = table.map_err(|error| match error {
            Error::Query(QueryError::TooManyRows { .. }) => row_limit.exceeded,
            other => ServiceError::query(other),
        })?;
        let unknown = snapshot.unknown_fields(scope, &query.names(), interrupt)?;
        Ok(table.with_unknown_fields(unknown))
    }

    /// Runs the query, and adds targets to its answer.
    fn events_with_targets(
        &self,
        context: &RequestContext<'_>,
        query: &EventsQuery,
    ) -> Result<ResultTable, ServiceError> {
        let RequestContext { snapshot, scope, memory, interrupt, .. } = context;
        let query = query.clone().accounts(scope.accounts());
        let comparison = TargetComparison::new(&query, &snapshot.dataset).map_err(|error| match error {
            Error::Query(QueryError::NotTargeted(fault)) => {
                invalid(request::TARGETS_OVER_HTTP.name, format!("`true`: {fault}"))
            }
            other => ServiceError::query(other),
        })?;
        let (query, width) = (comparison.query().clone(), comparison.width());
        let answer = self.events_within(snapshot, scope, query, width, memory, interrupt)?;
        comparison.finish(answer, interrupt).map_err(ServiceError::query)
    }

    /// Runs the query, and compares the rows of its answer with benchmarks.
    fn events_with_benchmarks(
        &self,
        context: &RequestContext<'_>,
        query: EventsQuery,
    ) -> Result<ResultTable, ServiceError> {
        let RequestContext { snapshot, reach, scope, memory, interrupt, .. } = context;
        let refused = |fault| match fault {
            QueryError::NotBenchmarked(fault) => invalid(COMPARE, format!("`{BENCHMARKS}`: {fault}")),
            other => ServiceError::query(other.into()),
        };
        let comparison = BenchmarkComparison::new(&query.accounts(scope.accounts())).map_err(refused)?;
        let period = comparison.period(self.clock.today()).map_err(refused)?;
        let query = comparison.query().clone();
        let answer = self.events_within(snapshot, scope, query, comparison.width(), memory, interrupt)?;
        let data = self.benchmark_data(snapshot, period, interrupt)?;
        let _working = memory.reserve(data.working_bytes()).map_err(ServiceError::no_room)?;
        let reach = reach.accounts().accounts().map(str::to_owned).collect();
        comparison.finish(answer, &data, &reach, self.privacy, interrupt).map_err(ServiceError::query)
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
            Self { rows: limit, exceeded: ServiceError::Query(QueryError::TooManyRows { limit }) }
        }
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Answer, ServiceError> {
    let (query, has_targets) = query(context.parameters, &context.snapshot.dataset, context.interrupt)?;
    if why::is_asked(context.parameters) {
        return why::answer(service, context, query);
    }
    let (range, asked) = (query.range(), query.clone());
    let table = if has_targets {
        if context.parameters.first(COMPARE) == Some(BENCHMARKS) {
            return Err(invalid(request::TARGETS_OVER_HTTP.name, format!("`true`: {}", NotTargeted::Compared)));
        }
        service.events_with_targets(context, &query)?
    } else if context.parameters.first(COMPARE) == Some(BENCHMARKS) {
        service.events_with_benchmarks(context, query)?
    } else {
        let width = query.width();
        service.events_within(&context.snapshot, &context.scope, query, width, &context.memory, context.interrupt)?
    };
    let table = table.with_totals_row();
    let (unknown, notes) = (table.unknown_fields().to_vec(), table.notes().to_vec());
    let answer = match context.format {
        AnswerFormat::Json => Answer::rows(JsonRows::array(table)),
        AnswerFormat::JsonWithNulls => Answer::rows(JsonRows::array(table).with_nulls()),
        AnswerFormat::Csv => Answer::csv(&table, &file_name("events", range), &context.memory),
        AnswerFormat::Parquet => Answer::parquet(table, &file_name("events", range), context.interrupt),
    };
    let mut answer = with_unknown_fields(answer?, &unknown);
    if !notes.is_empty() {
        answer.headers.push(("Trueup-Notes", Cow::Owned(header_list(&notes))));
    }
    with_currencies(answer, context, asked)
}

/// Adds the header that names the currencies whose amounts the answer adds up, if there are several.
fn with_currencies(
    mut answer: Answer,
    context: &RequestContext<'_>,
    query: EventsQuery,
) -> Result<Answer, ServiceError> {
    let mixed = context.snapshot.dataset.mixed_currencies(&query.accounts(context.scope.accounts()));
    if let Some(mixed) = mixed.map_err(|fault| ServiceError::query(fault.into()))? {
        answer.headers.push(("Trueup-Currencies", Cow::Owned(mixed.names())));
    }
    Ok(answer)
}

/// Returns the name of a file with an answer, without its ending: `events-2025-01-01-2025-03-31`.
fn file_name(what: &str, range: DateRange) -> String {
    format!("{what}-{}-{}", range.start, range.end)
}

/// Adds the header that lists names which are unknown to the caller, if there are any.
fn with_unknown_fields(mut answer: Answer, unknown: &[String]) -> Answer {
    if !unknown.is_empty() {
        answer.headers.push(("Trueup-Unknown-Fields", Cow::Owned(header_list(unknown))));
    }
    answer
}

/// The parameters that `API.md` does not have, each as the description of a query names it and as a request does.
fn additions() -> impl Iterator<Item = (&'static Parameter, &'static str)> {
    let marked = request::MARKED_ADDITIONS.iter().map(|parameter| parameter.name);
    let marked = marked.filter_map(|name| Some((Parameter::named(name.strip_prefix('$')?)?, name)));
    request::ADDITIONS.iter().map(|parameter| (parameter, parameter.name)).chain(marked)
}

/// Reads the parameters that `API.md` does not have.
fn added(parameters: &Parameters) -> Result<QueryRequest, ServiceError> {
    let given = additions().filter_map(|(parameter, name)| {
        // Equal values of a parameter that takes one value are one.
        let count = if parameter.value == ValueType::Names { usize::MAX } else { 1 };
        let texts: Vec<String> = parameters.values(name).take(count).map(str::to_owned).collect();
        (!texts.is_empty()).then_some((parameter, texts))
    });
    QueryRequest::from_texts(given).map_err(|InvalidParameter { name, fault }| {
        let asked = additions().find(|(parameter, _)| parameter.name == name);
        invalid(asked.map_or(name, |(_, asked)| asked), fault)
    })
}

/// Reads the query, and whether the answer has targets. Reports the first fault in this fixed order: parameters that
/// are missing, no metric, a malformed query string, then the other values. [`EventsQuery::check`] has the faults of
/// fields in the same order, but cannot report them here, because faults of other parameters come between them.
fn query(
    parameters: &Parameters,
    dataset: &Dataset,
    interrupt: &Interrupt,
) -> Result<(EventsQuery, bool), ServiceError> {
    let missing = |name| ServiceError::MissingRange(MissingRange::Needed(name));
    let fields: Vec<&str> = parameters.list("fields").collect();
    if fields.is_empty() {
        return Err(ServiceError::Query(QueryError::MissingFields));
    }
    let start = parameters.non_empty("start").ok_or_else(|| missing("start"))?;
    let end = parameters.non_empty("end").ok_or_else(|| missing("end"))?;
    if !fields.iter().any(|name| dataset.is_metric(name)) {
        return Err(ServiceError::Query(QueryError::MissingMetric));
    }
    let single = additions().filter(|(parameter, _)| parameter.value != ValueType::Names).map(|(_, name)| name);
    parameters.check(SINGLE.into_iter().chain(single))?;
    if let Some(name) = fields.iter().find(|name| matches!(**name, "start" | "end")) {
        return Err(ServiceError::Query(QueryError::ReservedField { name: (*name).to_owned() }));
    }
    let interval = match parameters.first("interval") {
        Some(text) => text.parse().map_err(ServiceError::UnknownInterval)?,
        None => Interval::default(),
    };
    let range = date_range(start, end)?;
    let fields = fields.into_iter().map(str::to_owned).collect();
    let request = QueryRequest { fields, interval, ..added(parameters)? };
    let query = request.query(range, dataset.definitions());
    check_comparison(&query, request.compare)?;
    let mut others = parameters.others(&NON_FILTER_PARAMETERS);
    if why::is_asked(parameters) {
        others.retain(|(name, _)| *name != why::ROW.name && *name != why::LINES.name);
    }
    let query = apply_within(interrupt, query, &others).map_err(ServiceError::filter)?;
    Ok((request.ordered(query), request.targets))
}

/// Checks what a comparison adds to a query. Its other faults have been reported, or come later.
fn check_comparison(query: &EventsQuery, compare: Option<ComparedWith>) -> Result<(), ServiceError> {
    let Some(compare @ ComparedWith::Earlier(_)) = compare else { return Ok(()) };
    match query.check() {
        Err(
            fault @ (QueryError::ComparedIntervals { .. }
            | QueryError::ReversedComparison { .. }
            | QueryError::ComparedTooEarly(_)
            | QueryError::ReservedComparisonField { .. }),
        ) => Err(invalid(COMPARE, format!("`{compare}`: {fault}"))),
        _ => Ok(()),
    }
}

fn invalid(parameter: &'static str, fault: impl ToString) -> ServiceError {
    ServiceError::InvalidQuery(InvalidQuery::Value { parameter, fault: fault.to_string() })
}
