//! Section 8: reading the filters of a request, and deciding where each is applied.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use super::condition::{Comparison, Condition, Operand, ValueTest};
use super::definitions::Definitions;
use super::json::{self, Json};
use super::request::{Refusal, Request};
use super::values::decimal_number;

/// The filters of a request. Both conditions must hold.
pub(super) struct RequestFilters {
    /// "A filter on a dimension picks enriched rows", and so does one on `total`.
    pub(super) rows: Condition,
    /// "A filter on any other metric is applied to the finished rows".
    pub(super) having: Condition,
}

/// Reads every filter of a request. "A parameter given twice means either value. Different fields combine with AND."
pub(super) fn read(request: &Request, definitions: &Definitions) -> Result<RequestFilters, Refusal> {
    let mut fields: Vec<&String> = request.filters.iter().map(|(field, _)| field).collect();
    fields.sort();
    fields.dedup();

    let mut parameters = Vec::new();
    for field in fields {
        let values = request.filters.iter().filter(|(name, _)| name == field);
        parameters.push(values.map(|(_, value)| parameter(field, value, definitions)).collect::<Result<Vec<_>, _>>()?);
    }
    if !request.filter.is_empty() {
        let texts = request.filter.iter();
        parameters.push(texts.map(|text| filter_parameter(text, definitions)).collect::<Result<Vec<_>, _>>()?);
    }
    within_bounds(&parameters.iter().flatten().collect::<Vec<_>>())?;

    let (mut rows, mut having) = (Vec::new(), Vec::new());
    for values in parameters {
        split(either(values), definitions, &mut rows, &mut having)?;
    }
    Ok(RequestFilters { rows: Condition::All(rows), having: Condition::All(having) })
}

/// Returns the condition that one of the parts holds.
fn either(mut parts: Vec<Condition>) -> Condition {
    if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) }
}

/// Reads one value of a parameter `<field>=<value>`: "A value that parses as a JSON array is an expression; everything
/// else is a literal string, taken whole".
fn parameter(field: &str, value: &str, definitions: &Definitions) -> Result<Condition, Refusal> {
    let json = match json::parse(value) {
        Some(list @ Json::List(_)) => list,
        _ => Json::Text(value.to_owned()),
    };
    expression(field, &json, definitions)
}

/// Parses a value of the parameter `filter`.
fn filter_parameter(text: &str, definitions: &Definitions) -> Result<Condition, Refusal> {
    match json::parse(text) {
        Some(json) => across_fields(&json, definitions),
        None => Err(Refusal::InvalidFilter("`filter` is not JSON".to_owned())),
    }
}

/// Refuses filters that are too large. "Bounds: depth 32, 1,000 operands": the depth of each value of a parameter, and
/// the number of operands of the whole request. The implicit `and`s between parameters and `or`s between their values
/// count towards neither.
fn within_bounds(values: &[&Condition]) -> Result<(), Refusal> {
    if values.iter().any(|value| depth(value) > 32) {
        return Err(Refusal::InvalidFilter("deeper than 32".to_owned()));
    }
    if values.iter().map(|value| operands(value)).sum::<usize>() > 1_000 {
        return Err(Refusal::InvalidFilter("more than 1,000 operands".to_owned()));
    }
    Ok(())
}

/// Returns the depth: 1 for a condition, and 1 more for each `and`, `or` or `not` around it.
fn depth(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        Condition::Not(part) => 1 + depth(part),
        Condition::All(parts) | Condition::Any(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
    }
}

/// Returns the number of operands: all nodes of the tree except an outermost `and`, `or` or `not`.
fn operands(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        join => nodes(join) - 1,
    }
}

fn nodes(condition: &Condition) -> usize {
    match condition {
        Condition::Leaf(..) => 1,
        Condition::Not(part) => 1 + nodes(part),
        Condition::All(parts) | Condition::Any(parts) => 1 + parts.iter().map(nodes).sum::<usize>(),
    }
}

/// Divides a condition into parts for events and parts for finished rows. "Conditions on metrics and on dimensions (or
/// `total`) may be joined by AND at any depth; under one `or` or `not` they cannot be decided together:
/// `invalid-filter`".
fn split(
    condition: Condition,
    definitions: &Definitions,
    rows: &mut Vec<Condition>,
    having: &mut Vec<Condition>,
) -> Result<(), Refusal> {
    let on_finished_rows = |field: &&str| definitions.is_metric(field) && *field != "total";
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
        Condition::All(parts) => parts.into_iter().try_for_each(|part| split(part, definitions, rows, having)),
        _ => Err(Refusal::InvalidFilter("a metric and a dimension under one `or` or `not`".to_owned())),
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::InvalidFilter(why.into()))
}

/// Reads an expression on one field, by the table of section 8.
fn expression(field: &str, json: &Json, definitions: &Definitions) -> Result<Condition, Refusal> {
    let leaf = |test| Ok(Condition::Leaf(field.to_owned(), test));
    let items = match json {
        Json::Object(_) => return refuse(format!("`{field}`: an object is no expression")),
        Json::List(items) => items,
        x => return leaf(ValueTest::Compare(Comparison::Eq, operand(field, x, definitions)?)),
    };
    // `[]` and a list that does not start with a text have no operator.
    let Some((Json::Text(operator), operands)) = items.split_first() else {
        return refuse(format!("`{field}`: expected an operator first"));
    };
    match operator.as_str() {
        "or" | "and" | "not" => join(operator, operands, |part| expression(field, part, definitions)),
        "regex" | "empty" | "notEmpty" if definitions.is_metric(field) => {
            refuse(format!("`{field}` is a number, which `{operator}` does not take"))
        }
        "regex" => leaf(ValueTest::Regex(regex(operands)?)),
        "empty" if operands.is_empty() => leaf(ValueTest::Empty),
        "notEmpty" if operands.is_empty() => leaf(ValueTest::NotEmpty),
        _ => {
            let [x] = operands else { return refuse(format!("`{operator}`: wrong number of operands")) };
            leaf(ValueTest::Compare(comparison(operator, x)?, operand(field, x, definitions)?))
        }
    }
}

/// Reads a join of expressions: `["or", a, b, ...]`, `["and", a, b, ...]`, `["not", a]`: "one or more operands; `not`
/// exactly one".
fn join(
    operator: &str,
    operands: &[Json],
    read: impl Fn(&Json) -> Result<Condition, Refusal>,
) -> Result<Condition, Refusal> {
    let mut parts = operands.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    match (operator, parts.len()) {
        ("not", 1) => Ok(Condition::Not(Box::new(parts.remove(0)))),
        ("or", 1..) => Ok(Condition::Any(parts)),
        ("and", 1..) => Ok(Condition::All(parts)),
        _ => refuse(format!("`{operator}`: wrong number of operands")),
    }
}

/// Reads an operator of comparison. `eq` and `ne` take "a string, number, true, false or null"; the others a number or
/// a string.
fn comparison(operator: &str, x: &Json) -> Result<Comparison, Refusal> {
    let ordered = matches!(x, Json::Text(_) | Json::Number(_));
    match operator {
        "eq" => Ok(Comparison::Eq),
        "ne" => Ok(Comparison::Ne),
        "gt" if ordered => Ok(Comparison::Gt),
        "gte" if ordered => Ok(Comparison::Gte),
        "lt" if ordered => Ok(Comparison::Lt),
        "lte" if ordered => Ok(Comparison::Lte),
        _ => refuse(format!("`{operator}`: an unknown operator or a wrong kind of operand")),
    }
}

/// Reads an operand. "On `total` and metrics an operand is a number, or a string that is a decimal number; anything
/// else is `invalid-filter`."
fn operand(field: &str, json: &Json, definitions: &Definitions) -> Result<Operand, Refusal> {
    let operand = match json {
        // A number beyond all doubles cannot be compared with anything.
        Json::Number(number) if !number.is_finite() => return refuse(format!("`{field}`: a number too large")),
        Json::Number(number) => Operand::Number(*number),
        Json::Text(text) => Operand::Text(text.clone()),
        Json::Bool(word) => Operand::Text(word.to_string()),
        Json::Null => Operand::Text(String::new()),
        Json::List(_) | Json::Object(_) => return refuse(format!("`{field}`: an operand is a single value")),
    };
    if !definitions.is_metric(field) {
        return Ok(operand);
    }
    match (json, operand) {
        (_, number @ Operand::Number(_)) => Ok(number),
        (Json::Text(_), Operand::Text(text)) => match decimal_number(&text) {
            Some(number) if number.is_finite() => Ok(Operand::Number(number)),
            _ => refuse(format!("`{field}` is a number, which `{text}` is not")),
        },
        _ => refuse(format!("`{field}` is a number")),
    }
}

/// Compiles the pattern of `["regex", pattern]` or `["regex", pattern, flags]`; "pattern 1,000 characters, compiled
/// regex 1 MiB".
fn regex(operands: &[Json]) -> Result<Regex, Refusal> {
    let (pattern, flags) = match operands {
        [Json::Text(pattern)] => (pattern, ""),
        [Json::Text(pattern), Json::Text(flags)] => (pattern, flags.as_str()),
        _ => return refuse("`regex` takes a pattern and flags"),
    };
    if pattern.chars().count() > 1_000 {
        return refuse("a pattern of more than 1,000 characters");
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(1 << 20);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            'u' => &mut builder,
            unknown => return refuse(format!("unknown flag `{unknown}`")),
        };
    }
    builder.build().map_err(|error| Refusal::InvalidFilter(error.to_string()))
}

/// Reads a value of the parameter `filter`: "an object `{"field": expression, ...}` (all must hold), or
/// `["or"|"and"|"not", ...]` over such objects and nested lists".
fn across_fields(json: &Json, definitions: &Definitions) -> Result<Condition, Refusal> {
    match json {
        Json::Object(entries) => {
            let keys: BTreeSet<&String> = entries.iter().map(|(key, _)| key).collect();
            if keys.len() < entries.len() {
                return refuse("a duplicate key");
            }
            let mut parts = Vec::new();
            for (field, json) in entries {
                parts.push(expression(field, json, definitions)?);
            }
            match parts.len() {
                0 => refuse("`{}` has no condition"),
                1 => Ok(parts.remove(0)),
                _ => Ok(Condition::All(parts)),
            }
        }
        Json::List(items) => match items.split_first() {
            Some((Json::Text(operator), operands)) if matches!(operator.as_str(), "or" | "and" | "not") => {
                join(operator, operands, |part| across_fields(part, definitions))
            }
            _ => refuse("expected `or`, `and` or `not` first"),
        },
        _ => refuse("expected an object or a list"),
    }
}
