//! `why=`: what the numbers of one row of an answer are made of. Such a request also has the parameters of the request
//! for that answer.

use super::super::super::Service;
use super::super::super::error::ServiceError;
use super::super::super::negotiation::AnswerFormat;
use super::super::super::request::Parameters;
use super::super::super::response::Answer;
use super::super::description::{Parameter, RequestContext, ValueType};
use super::{file_name, invalid, with_currencies, with_unknown_fields};
use crate::json;
use crate::query::{EventsQuery, RowValues, WhyQuery, WhyRowFault};
use crate::{Execution, Shown};

/// Lines of each measure that are listed, unless the request sets another number.
const DEFAULT_LINES: usize = 100;
/// The most lines of each measure that a request may ask for.
const MAX_LINES: usize = 10_000;

/// Asks for an explanation. Without this parameter, `row` and `lines` are filters on the fields of these names.
pub(super) const WHY: Parameter = Parameter::new(
    "why",
    ValueType::Names,
    "Metrics of `fields`. The answer is one object, which says what their values in one row of the answer are made of: \
     measures, and the customers, events and rows of spend that each counts. `row` names the row.",
    "bookRate",
);
pub(super) const ROW: Parameter = Parameter::new(
    "row",
    ValueType::Strings,
    "Only with `why`. A value by which the row is known, as `dimension=value`: one for each dimension of `fields` and, with an \
     interval, `start=YYYY-MM-DD`. Or the whole row of the answer, as a JSON object.",
    "attributionChannel=Paid Search",
);
pub(super) const LINES: Parameter = Parameter::new(
    "lines",
    ValueType::Count { default: DEFAULT_LINES, most: MAX_LINES },
    "Only with `why`. The most lines of each measure that are listed, the first days first. The sums are of all lines.",
    "20",
);

/// Returns whether a request asks for an explanation.
pub(super) fn is_asked(parameters: &Parameters) -> bool {
    parameters.first(WHY.name).is_some()
}

/// Answers with the explanation of a row of the answer to the query.
pub(super) fn answer(
    service: &Service,
    context: &RequestContext<'_>,
    query: EventsQuery,
) -> Result<Answer, ServiceError> {
    let RequestContext { snapshot, scope, parameters, memory, interrupt, .. } = context;
    let rows = parameters.values(ROW.name).map(str::parse).collect::<Result<Vec<RowValues>, WhyRowFault>>();
    let (rows, lines) = (rows.map_err(|fault| ServiceError::Query(fault.into()))?, lines(parameters)?);
    let query = service.scoped(snapshot, scope, query)?;
    let mut question = rows.iter().fold(WhyQuery::new(query.clone()).limit(lines), WhyQuery::values);
    let metrics: Vec<&str> = parameters.list(WHY.name).collect();
    // An empty `why` becomes an empty name, which is refused like any other that is no metric of the query.
    for name in if metrics.is_empty() { &[""] } else { metrics.as_slice() } {
        question = question.metric(*name);
    }
    let execution = Execution { interrupt: (*interrupt).clone(), ..Execution::default() };
    let run = |execution| snapshot.dataset.why(&question, execution);
    let why = memory.run(&execution, &service.limits, run).map_err(ServiceError::query)?;
    let unknown = snapshot.unknown_fields(scope, &query.names(), interrupt)?;
    let answer = match context.format {
        AnswerFormat::Json | AnswerFormat::JsonWithNulls => Answer::rows(json::explanation(why)),
        AnswerFormat::Csv => Answer::csv(why.lines(), &file_name(WHY.name, why.range), memory),
        AnswerFormat::Parquet => {
            let name = file_name(WHY.name, why.range);
            Answer::parquet(why.into_lines(), &name, interrupt)
        }
    };
    with_currencies(with_unknown_fields(answer?, &unknown), context, query)
}

/// Returns the most lines of each measure that are listed.
fn lines(parameters: &Parameters) -> Result<usize, ServiceError> {
    parameters.check([LINES.name])?;
    let Some(text) = parameters.first(LINES.name) else { return Ok(DEFAULT_LINES) };
    text.parse().ok().filter(|lines| *lines <= MAX_LINES).ok_or_else(|| {
        invalid(LINES.name, format!("expected a number of lines from 0 to {MAX_LINES}, but found `{}`", Shown(text)))
    })
}
