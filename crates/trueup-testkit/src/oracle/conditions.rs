//! Section 8: all filters of a request together, and where each is applied.

use super::expression::{across_fields, expression};
use super::field::is_metric;
use super::filter::Condition;
use super::json::{self, Json};
use super::request::{Refusal, Request};

/// The filters of a request; both must hold.
pub(super) struct Filters {
    /// "A filter on a dimension picks enriched rows", and so does one on `total`.
    pub(super) rows: Condition,
    /// "A filter on any other metric is applied to the finished rows".
    pub(super) having: Condition,
}

/// Reads every filter of a request. "A parameter given twice means either value. Different fields combine with AND."
pub(super) fn read(request: &Request) -> Result<Filters, Refusal> {
    let mut fields: Vec<&String> = request.filters.iter().map(|(field, _)| field).collect();
    fields.sort();
    fields.dedup();

    let mut parameters = Vec::new();
    for field in fields {
        let values = request.filters.iter().filter(|(name, _)| name == field);
        parameters.push(values.map(|(_, value)| parameter(field, value)).collect::<Result<Vec<_>, _>>()?);
    }
    if !request.filter.is_empty() {
        let texts = request.filter.iter();
        parameters.push(texts.map(|text| filter_parameter(text)).collect::<Result<Vec<_>, _>>()?);
    }
    within_bounds(&parameters.iter().flatten().collect::<Vec<_>>())?;

    let (mut rows, mut having) = (Vec::new(), Vec::new());
    for values in parameters {
        split(either(values), &mut rows, &mut having)?;
    }
    Ok(Filters { rows: Condition::All(rows), having: Condition::All(having) })
}

fn either(mut parts: Vec<Condition>) -> Condition {
    if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) }
}

/// "A value that parses as a JSON array is an expression; everything else is a literal string, taken whole".
fn parameter(field: &str, value: &str) -> Result<Condition, Refusal> {
    let json = match json::parse(value) {
        Some(list @ Json::List(_)) => list,
        _ => Json::Text(value.to_owned()),
    };
    expression(field, &json)
}

fn filter_parameter(text: &str) -> Result<Condition, Refusal> {
    match json::parse(text) {
        Some(json) => across_fields(&json),
        None => Err(Refusal::InvalidFilter("`filter` is not JSON".to_owned())),
    }
}

/// "Bounds: depth 32, 1,000 operands": how deep each value of a parameter is nested, and what all of a request hold together.
/// The joints of parameters and of their values, which nobody wrote, count for neither.
fn within_bounds(values: &[&Condition]) -> Result<(), Refusal> {
    if values.iter().any(|value| depth(value) > 32) {
        return Err(Refusal::InvalidFilter("deeper than 32".to_owned()));
    }
    if values.iter().map(|value| operands(value)).sum::<usize>() > 1_000 {
        return Err(Refusal::InvalidFilter("more than 1,000 operands".to_owned()));
    }
    Ok(())
}

/// A condition has depth 1, each and, or, not around it adds 1.
fn depth(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        Condition::Not(part) => 1 + depth(part),
        Condition::All(parts) | Condition::Any(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
    }
}

/// Every entry of an and, or, not, and every condition, each counted once: all nodes of the tree but the outermost joint.
fn operands(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        joint => nodes(joint) - 1,
    }
}

fn nodes(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        Condition::Not(part) => 1 + nodes(part),
        Condition::All(parts) | Condition::Any(parts) => 1 + parts.iter().map(nodes).sum::<usize>(),
    }
}

/// "Conditions on metrics and on dimensions (or `total`) may be joined by AND at any depth; under one `or` or `not` they
/// cannot be decided together: `invalid-filter`".
fn split(condition: Condition, rows: &mut Vec<Condition>, having: &mut Vec<Condition>) -> Result<(), Refusal> {
    let on_finished_rows = |field: &&str| is_metric(field) && *field != "total";
    let fields = condition.fields();
    if !fields.iter().any(on_finished_rows) {
        rows.push(condition);
        return Ok(());
    }
    if fields.iter().all(on_finished_rows) {
        having.push(condition);
        return Ok(());
    }
    match condition {
        Condition::All(parts) => parts.into_iter().try_for_each(|part| split(part, rows, having)),
        _ => Err(Refusal::InvalidFilter("a metric and a dimension under one `or` or `not`".to_owned())),
    }
}
