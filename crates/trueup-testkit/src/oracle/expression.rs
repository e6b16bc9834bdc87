//! Section 8: reading the expression on one field, and the object or list of `filter=`.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use super::field::is_metric;
use super::filter::{Comparison, Condition, Operand, Test};
use super::json::Json;
use super::number::decimal_number;
use super::request::Refusal;

fn refuse<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::InvalidFilter(why.into()))
}

/// The expression table of section 8, for one field.
pub(super) fn expression(field: &str, json: &Json) -> Result<Condition, Refusal> {
    let leaf = |test| Ok(Condition::Leaf(field.to_owned(), test));
    let items = match json {
        Json::Object(_) => return refuse(format!("`{field}`: an object is no expression")),
        Json::List(items) => items,
        x => return leaf(Test::Compare(Comparison::Eq, operand(field, x)?)),
    };
    // `[]` and a list that does not begin with a word have no operator.
    let Some((Json::Text(operator), operands)) = items.split_first() else {
        return refuse(format!("`{field}`: expected an operator first"));
    };
    match operator.as_str() {
        "or" | "and" | "not" => join(operator, operands, |part| expression(field, part)),
        "regex" | "empty" | "notEmpty" if is_metric(field) => {
            refuse(format!("`{field}` is a number, which `{operator}` does not take"))
        }
        "regex" => leaf(Test::Regex(regex(operands)?)),
        "empty" if operands.is_empty() => leaf(Test::Empty),
        "notEmpty" if operands.is_empty() => leaf(Test::NotEmpty),
        _ => {
            let [x] = operands else { return refuse(format!("`{operator}`: wrong number of operands")) };
            leaf(Test::Compare(comparison(operator, x)?, operand(field, x)?))
        }
    }
}

/// `["or", a, b, ...]`, `["and", a, b, ...]`, `["not", a]`: "one or more operands; `not` exactly one".
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

/// `eq` and `ne` take "a string, number, true, false or null"; the others a number or a string.
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

/// "On `total` and metrics an operand is a number, or a string that is a decimal number; anything else is
/// `invalid-filter`."
fn operand(field: &str, json: &Json) -> Result<Operand, Refusal> {
    let operand = match json {
        // Beyond all doubles there is nothing to compare with.
        Json::Number(number) if !number.is_finite() => return refuse(format!("`{field}`: a number too large")),
        Json::Number(number) => Operand::Number(*number),
        Json::Text(text) => Operand::Word(text.clone()),
        Json::Bool(word) => Operand::Word(word.to_string()),
        Json::Null => Operand::Word(String::new()),
        Json::List(_) | Json::Object(_) => return refuse(format!("`{field}`: an operand is a single value")),
    };
    if !is_metric(field) {
        return Ok(operand);
    }
    match (json, operand) {
        (_, number @ Operand::Number(_)) => Ok(number),
        (Json::Text(_), Operand::Word(text)) => match decimal_number(&text) {
            Some(number) if number.is_finite() => Ok(Operand::Number(number)),
            _ => refuse(format!("`{field}` is a number, which `{text}` is not")),
        },
        _ => refuse(format!("`{field}` is a number")),
    }
}

/// `["regex", pattern]`, `["regex", pattern, flags]`; "pattern 1,000 characters, compiled regex 1 MiB".
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

/// `filter=`: "an object `{"field": expression, ...}` (all must hold), or `["or"|"and"|"not", ...]` over such objects and
/// nested lists".
pub(super) fn across_fields(json: &Json) -> Result<Condition, Refusal> {
    match json {
        Json::Object(entries) => {
            let keys: BTreeSet<&String> = entries.iter().map(|(key, _)| key).collect();
            if keys.len() < entries.len() {
                return refuse("a duplicate key");
            }
            let mut parts = Vec::new();
            for (field, json) in entries {
                parts.push(expression(field, json)?);
            }
            match parts.len() {
                0 => refuse("`{}` has no condition"),
                1 => Ok(parts.remove(0)),
                _ => Ok(Condition::All(parts)),
            }
        }
        Json::List(items) => match items.split_first() {
            Some((Json::Text(operator), operands)) if matches!(operator.as_str(), "or" | "and" | "not") => {
                join(operator, operands, across_fields)
            }
            _ => refuse("expected `or`, `and` or `not` first"),
        },
        _ => refuse("expected an object or a list"),
    }
}
