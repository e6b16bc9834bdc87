//! An expression on one field.

use super::condition::ParsedCondition;
use super::error::{InvalidFilter, ParseFault};
use super::path::FilterPath;
use super::tree::JsonTree;
use trueup_core::query::{Comparison, FilterLimits, Operand, Predicate};

const OPERATORS: &str = "`or`, `and`, `not`, `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `regex`, `empty`, `notEmpty`";

/// The condition that an expression, `depth` levels deep, puts on a field.
pub(super) fn parse(
    bounds: &mut FilterLimits,
    field: &str,
    tree: &JsonTree,
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    let list = match tree {
        JsonTree::List(list) => list,
        JsonTree::TooDeep => return Err(ParseFault::too_deep(path)),
        JsonTree::Object(_) => {
            let wanted = "a text, a number, `true`, `false`, `null` or a list that starts with an operator";
            return Err(ParseFault::OperandKind { wanted, found: tree.shown() }.at(path));
        }
        scalar => {
            bounds.count_condition().map_err(ParseFault::beyond(path))?;
            return ParsedCondition::new(bounds, field, Predicate::Equals(operand(scalar, path)?), path, false);
        }
    };
    let (operator, operands) = split(list, OPERATORS, path)?;
    if matches!(operator, "or" | "and" | "not") {
        bounds.count_join(depth).map_err(ParseFault::beyond(path))?;
        let mut parts = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            parts.push(parse(bounds, field, operand, &path.entry(index + 1), depth + 1)?);
        }
        return join(operator, parts, path);
    }
    bounds.count_condition().map_err(ParseFault::beyond(path))?;
    ParsedCondition::new(bounds, field, test(operator, operands, path)?, path, true)
}

/// The operator that starts a list, and what follows it.
pub(super) fn split<'t>(
    list: &'t [JsonTree],
    known: &'static str,
    path: &FilterPath<'_>,
) -> Result<(&'t str, &'t [JsonTree]), InvalidFilter> {
    match list.split_first() {
        None => Err(ParseFault::EmptyList.at(path)),
        Some((JsonTree::Text(operator), operands)) => Ok((operator, operands)),
        Some((first, _)) => Err(unknown(known, first, path)),
    }
}

/// The list starts with something else than an operator.
pub(super) fn unknown(known: &'static str, found: &JsonTree, path: &FilterPath<'_>) -> InvalidFilter {
    let single = known == OPERATORS && matches!(found, JsonTree::Text(_));
    let hint = if single { "; for either of several texts write `[\"or\", \"a\", \"b\"]`" } else { "" };
    ParseFault::UnknownOperator { known, found: found.shown(), hint }.at(&path.entry(0))
}

/// Joins conditions by `or`, `and` or `not`.
pub(super) fn join(
    operator: &str,
    mut parts: Vec<ParsedCondition>,
    path: &FilterPath<'_>,
) -> Result<ParsedCondition, InvalidFilter> {
    let count =
        |wanted| ParseFault::OperandCount { operator: operator.to_owned(), wanted, found: parts.len() }.at(path);
    match operator {
        "not" if parts.len() != 1 => Err(count("one operand")),
        _ if parts.is_empty() => Err(count("one or more operands")),
        "or" => ParsedCondition::any(parts, path),
        "and" => Ok(ParsedCondition::all(parts)),
        _ => parts.remove(0).not(path),
    }
}

fn test(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Predicate, InvalidFilter> {
    let comparison = match operator {
        "eq" => return equality(operator, operands, path).map(Predicate::Equals),
        "ne" => return equality(operator, operands, path).map(Predicate::NotEquals),
        "empty" => return none(operator, operands, path).map(|()| Predicate::Empty),
        "notEmpty" => return none(operator, operands, path).map(|()| Predicate::NotEmpty),
        "regex" => return pattern(operands, path),
        "gt" => Comparison::Greater,
        "gte" => Comparison::GreaterOrEqual,
        "lt" => Comparison::Less,
        "lte" => Comparison::LessOrEqual,
        _ => return Err(unknown(OPERATORS, &JsonTree::Text(operator.to_owned()), path)),
    };
    let tree = one(operator, operands, path)?;
    let at = path.entry(1);
    match tree {
        JsonTree::Text(_) | JsonTree::Number(_) => Ok(Predicate::Compare(comparison, operand(tree, &at)?)),
        other => Err(ParseFault::OperandKind { wanted: "a text or a number", found: other.shown() }.at(&at)),
    }
}

fn equality(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Operand, InvalidFilter> {
    operand(one(operator, operands, path)?, &path.entry(1))
}

fn one<'t>(operator: &str, operands: &'t [JsonTree], path: &FilterPath<'_>) -> Result<&'t JsonTree, InvalidFilter> {
    match operands {
        [only] => Ok(only),
        _ => Err(count(operator, "one operand", operands, path)),
    }
}

fn none(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<(), InvalidFilter> {
    if operands.is_empty() { Ok(()) } else { Err(count(operator, "no operand", operands, path)) }
}

fn count(operator: &str, wanted: &'static str, operands: &[JsonTree], path: &FilterPath<'_>) -> InvalidFilter {
    ParseFault::OperandCount { operator: operator.to_owned(), wanted, found: operands.len() }.at(path)
}

fn operand(tree: &JsonTree, path: &FilterPath<'_>) -> Result<Operand, InvalidFilter> {
    match tree {
        JsonTree::Null => Ok(Operand::Text(String::new())),
        JsonTree::Bool(value) => Ok(Operand::Text(value.to_string())),
        JsonTree::Number(value) => Ok(Operand::Number(*value)),
        JsonTree::Text(text) => Ok(Operand::Text(text.clone())),
        JsonTree::List(_) | JsonTree::Object(_) | JsonTree::TooDeep => {
            let wanted = "a text, a number, `true`, `false` or `null`";
            Err(ParseFault::OperandKind { wanted, found: tree.shown() }.at(path))
        }
    }
}

fn pattern(operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Predicate, InvalidFilter> {
    let text = |index: usize, wanted| match operands.get(index) {
        Some(JsonTree::Text(text)) => Ok(text.clone()),
        Some(other) => Err(ParseFault::OperandKind { wanted, found: other.shown() }.at(&path.entry(index + 1))),
        None => Ok(String::new()),
    };
    if !(1..=2).contains(&operands.len()) {
        return Err(count("regex", "a pattern, and flags at most,", operands, path));
    }
    Ok(Predicate::Matches { pattern: text(0, "a pattern as text")?, flags: text(1, "flags as text")? })
}
