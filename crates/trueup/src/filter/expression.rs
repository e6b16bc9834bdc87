//! From a JSON tree to a condition: expressions on one field, and expressions across fields.

use super::error::{FilterPath, InvalidFilter, ParseFault};
use super::json_tree::JsonTree;
use trueup_core::query::{Comparison, Filter, FilterFault, FilterLimits, Operand, Predicate, is_result_metric};

/// The operators of an expression across fields, for messages.
const JOIN_OPERATORS: &str = "`or`, `and`, `not`";

/// Parses an expression across fields, at the given depth.
pub(super) fn parse_across(
    limits: &mut FilterLimits,
    tree: &JsonTree,
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    match tree {
        JsonTree::List(list) => parse_join(limits, list, path, depth),
        JsonTree::Object(fields) => parse_object(limits, fields, path, depth),
        JsonTree::TooDeep => Err(ParseFault::too_deep(path)),
        scalar => {
            let wanted = "an object of fields, or a list that starts with `or`, `and` or `not`";
            Err(ParseFault::OperandKind { wanted, found: scalar.shown() }.at(path))
        }
    }
}

fn parse_join(
    limits: &mut FilterLimits,
    list: &[JsonTree],
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    let (operator, operands) = split(list, JOIN_OPERATORS, path)?;
    if !matches!(operator, "or" | "and" | "not") {
        return Err(unknown(JOIN_OPERATORS, &JsonTree::Text(operator.to_owned()), path));
    }
    limits.count_join(depth).map_err(ParseFault::beyond(path))?;
    let mut parts = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        parts.push(parse_across(limits, operand, &path.entry(index + 1), depth + 1)?);
    }
    join(operator, parts, path)
}

/// Parses an object of fields. Several fields are joined by `and`, which counts as a level.
fn parse_object(
    limits: &mut FilterLimits,
    fields: &[(String, JsonTree)],
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    let inner = match fields.len() {
        0 => return Err(ParseFault::EmptyObject.at(path)),
        1 => depth,
        _ => {
            limits.count_join(depth).map_err(ParseFault::beyond(path))?;
            depth + 1
        }
    };
    let mut parts = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (name, tree) in fields {
        let at = path.key(name);
        if !seen.insert(name) {
            return Err(ParseFault::DuplicateKey(name.clone()).at(&at));
        }
        parts.push(parse_field(limits, name, tree, &at, inner)?);
    }
    Ok(ParsedCondition::all(parts))
}

/// The operators of an expression on one field, for messages.
const OPERATORS: &str = "`or`, `and`, `not`, `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `regex`, `empty`, `notEmpty`";

/// Parses an expression on one field, at the given depth.
pub(super) fn parse_field(
    limits: &mut FilterLimits,
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
            limits.count_condition().map_err(ParseFault::beyond(path))?;
            return ParsedCondition::new(limits, field, Predicate::Equals(operand(scalar, path)?), path, false);
        }
    };
    let (operator, operands) = split(list, OPERATORS, path)?;
    if matches!(operator, "or" | "and" | "not") {
        limits.count_join(depth).map_err(ParseFault::beyond(path))?;
        let mut parts = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            parts.push(parse_field(limits, field, operand, &path.entry(index + 1), depth + 1)?);
        }
        return join(operator, parts, path);
    }
    limits.count_condition().map_err(ParseFault::beyond(path))?;
    ParsedCondition::new(limits, field, predicate(operator, operands, path)?, path, true)
}

/// Splits a list into its operator and its operands.
fn split<'t>(
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

/// Returns the error of a list that does not start with a known operator.
fn unknown(known: &'static str, found: &JsonTree, path: &FilterPath<'_>) -> InvalidFilter {
    let single = known == OPERATORS && matches!(found, JsonTree::Text(_));
    let hint = if single { "; for either of several texts write `[\"or\", \"a\", \"b\"]`" } else { "" };
    ParseFault::UnknownOperator { known, found: found.shown(), hint }.at(&path.entry(0))
}

/// Joins conditions by `or`, `and` or `not`.
fn join(
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

fn predicate(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Predicate, InvalidFilter> {
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
        return Err(count("regex", "a pattern and optional flags", operands, path));
    }
    Ok(Predicate::Matches { pattern: text(0, "a pattern as text")?, flags: text(1, "flags as text")? })
}

/// A condition, and whether it is decided on events, on finished rows, or on both.
///
/// The engine refuses a filter that mixes the two under `or` or `not` as well. It is checked here so that the error
/// names the place in the parameter.
#[derive(Clone, Debug)]
pub(super) struct ParsedCondition {
    pub(super) filter: Filter,
    /// The first field in it that is decided on finished rows: a metric other than `total`.
    metric: Option<String>,
    /// The first field in it that is decided on events.
    dimension: Option<String>,
}

impl ParsedCondition {
    /// Returns the condition that `field` passes `test`. `path` is its place; `listed` says whether it is an operator
    /// and operands.
    pub(super) fn new(
        limits: &mut FilterLimits,
        field: &str,
        test: Predicate,
        path: &FilterPath<'_>,
        listed: bool,
    ) -> Result<Self, InvalidFilter> {
        if let Err(fault) = limits.check_predicate(field, &test) {
            let fault_at = |entry| if listed { path.entry(entry) } else { *path };
            let at = match fault {
                FilterFault::UnknownFlag(_) => fault_at(2),
                FilterFault::NotAText => fault_at(0),
                _ => fault_at(1),
            };
            return Err(ParseFault::Test(fault).at(&at));
        }
        let name = Some(field.to_owned());
        let (metric, dimension) = if is_result_metric(field) { (name, None) } else { (None, name) };
        Ok(Self { filter: Filter::field(field, test), metric, dimension })
    }

    /// Returns the condition that all of `parts` hold. A single part is returned as it is.
    pub(super) fn all(mut parts: Vec<Self>) -> Self {
        match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => {
                parts.extend(last);
                Self::joined(parts, Filter::All)
            }
        }
    }

    /// Returns the condition that at least one of `parts` holds.
    pub(super) fn any(parts: Vec<Self>, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        Self::joined(parts, Filter::Any).decided_together(path)
    }

    /// Returns the condition that this one does not hold.
    fn not(self, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        Self { filter: Filter::Not(Box::new(self.filter)), ..self }.decided_together(path)
    }

    fn joined(parts: Vec<Self>, join: impl FnOnce(Vec<Filter>) -> Filter) -> Self {
        let mut filters = Vec::new();
        let (mut metric, mut dimension) = (None, None);
        for part in parts {
            filters.push(part.filter);
            metric = metric.or(part.metric);
            dimension = dimension.or(part.dimension);
        }
        Self { filter: join(filters), metric, dimension }
    }

    /// Refuses a condition on metrics and dimensions together.
    fn decided_together(self, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
        match (&self.metric, &self.dimension) {
            (Some(metric), Some(dimension)) => {
                Err(ParseFault::Mixed { metric: metric.clone(), dimension: dimension.clone() }.at(path))
            }
            _ => Ok(self),
        }
    }
}
