//! From a JSON tree to a condition: expressions on one field, and expressions across fields.

use super::error::{FilterPath, InvalidFilter, ParseFault};
use super::json_tree::JsonTree;
use trueup_core::query::{ComparisonOperator, Filter, FilterFault, FilterLimits, Operand, Predicate};

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
        return Err(unknown_operator(JOIN_OPERATORS, &JsonTree::Text(operator.to_owned()), path));
    }
    parse_operands(limits, operator, operands, path, depth, parse_across)
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
            limits.count_join(depth).map_err(ParseFault::found_at(path))?;
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
            limits.count_condition().map_err(ParseFault::found_at(path))?;
            return ParsedCondition::new(limits, field, Predicate::Equals(operand(scalar, path)?), path, false);
        }
    };
    let (operator, operands) = split(list, OPERATORS, path)?;
    if matches!(operator, "or" | "and" | "not") {
        return parse_operands(limits, operator, operands, path, depth, |limits, operand, path, depth| {
            parse_field(limits, field, operand, path, depth)
        });
    }
    limits.count_condition().map_err(ParseFault::found_at(path))?;
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
        Some((first, _)) => Err(unknown_operator(known, first, path)),
    }
}

/// Returns the error of a list that does not start with a known operator.
fn unknown_operator(known: &'static str, found: &JsonTree, path: &FilterPath<'_>) -> InvalidFilter {
    // A list of texts such as `["a", "b"]`: its caller probably means any of them.
    let is_list_of_texts = known == OPERATORS && matches!(found, JsonTree::Text(_));
    let hint = if is_list_of_texts { "; for any of several texts write `[\"or\", \"a\", \"b\"]`" } else { "" };
    ParseFault::UnknownOperator { known, found: found.shown(), hint }.at(&path.entry(0))
}

/// Parses the operands of `or`, `and` or `not`, each with `parse`, and joins them.
fn parse_operands(
    limits: &mut FilterLimits,
    operator: &str,
    operands: &[JsonTree],
    path: &FilterPath<'_>,
    depth: usize,
    parse: impl Fn(&mut FilterLimits, &JsonTree, &FilterPath<'_>, usize) -> Result<ParsedCondition, InvalidFilter>,
) -> Result<ParsedCondition, InvalidFilter> {
    limits.count_join(depth).map_err(ParseFault::found_at(path))?;
    let mut parts = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        parts.push(parse(limits, operand, &path.entry(index + 1), depth + 1)?);
    }
    match operator {
        "not" if parts.len() != 1 => Err(operand_count(operator, "one operand", parts.len(), path)),
        _ if parts.is_empty() => Err(operand_count(operator, "one or more operands", 0, path)),
        "or" => ParsedCondition::any(parts, path),
        "and" => Ok(ParsedCondition::all(parts)),
        _ => parts.remove(0).not(path),
    }
}

/// Returns the predicate of an operator that does not join expressions.
fn predicate(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Predicate, InvalidFilter> {
    let comparison = match operator {
        "eq" => return equality(operator, operands, path).map(Predicate::Equals),
        "ne" => return equality(operator, operands, path).map(Predicate::NotEquals),
        "empty" => return no_operand(operator, operands, path).map(|()| Predicate::Empty),
        "notEmpty" => return no_operand(operator, operands, path).map(|()| Predicate::NotEmpty),
        "regex" => return pattern(operands, path),
        "gt" => ComparisonOperator::Greater,
        "gte" => ComparisonOperator::GreaterOrEqual,
        "lt" => ComparisonOperator::Less,
        "lte" => ComparisonOperator::LessOrEqual,
        _ => return Err(unknown_operator(OPERATORS, &JsonTree::Text(operator.to_owned()), path)),
    };
    let tree = only_operand(operator, operands, path)?;
    let at = path.entry(1);
    match tree {
        JsonTree::Text(_) | JsonTree::Number(_) => Ok(Predicate::Compare(comparison, operand(tree, &at)?)),
        other => Err(ParseFault::OperandKind { wanted: "a text or a number", found: other.shown() }.at(&at)),
    }
}

fn equality(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Operand, InvalidFilter> {
    operand(only_operand(operator, operands, path)?, &path.entry(1))
}

fn only_operand<'t>(
    operator: &str,
    operands: &'t [JsonTree],
    path: &FilterPath<'_>,
) -> Result<&'t JsonTree, InvalidFilter> {
    match operands {
        [only] => Ok(only),
        _ => Err(operand_count(operator, "one operand", operands.len(), path)),
    }
}

fn no_operand(operator: &str, operands: &[JsonTree], path: &FilterPath<'_>) -> Result<(), InvalidFilter> {
    if operands.is_empty() { Ok(()) } else { Err(operand_count(operator, "no operand", operands.len(), path)) }
}

/// Returns the error of an operator with the wrong number of operands.
fn operand_count(operator: &str, wanted: &'static str, found: usize, path: &FilterPath<'_>) -> InvalidFilter {
    ParseFault::OperandCount { operator: operator.to_owned(), wanted, found }.at(path)
}

/// Converts a scalar. `null` is the empty text, and `true` and `false` are texts.
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

/// Returns the predicate of `regex`. Flags that are not given are the empty text.
fn pattern(operands: &[JsonTree], path: &FilterPath<'_>) -> Result<Predicate, InvalidFilter> {
    let text = |index: usize, wanted| match operands.get(index) {
        Some(JsonTree::Text(text)) => Ok(text.clone()),
        Some(other) => Err(ParseFault::OperandKind { wanted, found: other.shown() }.at(&path.entry(index + 1))),
        None => Ok(String::new()),
    };
    if !(1..=2).contains(&operands.len()) {
        return Err(operand_count("regex", "a pattern and optional flags", operands.len(), path));
    }
    Ok(Predicate::Matches { pattern: text(0, "a pattern as text")?, flags: text(1, "flags as text")? })
}

/// A condition, and whether it is decided on events, on finished rows, or on both.
///
/// The engine, too, refuses a filter that mixes the two under `or` or `not`. The parser checks it first, so that the
/// error names the place in the parameter.
#[derive(Clone, Debug)]
pub(super) struct ParsedCondition {
    pub(super) filter: Filter,
    /// The first field in it that is decided on finished rows: a metric other than `total`.
    metric: Option<String>,
    /// The first field in it that is decided on events.
    dimension: Option<String>,
}

impl ParsedCondition {
    /// Returns the condition that `field` satisfies `predicate`. The condition was found at `path`; `is_list` says
    /// whether it is spelled as a list of operator and operands, so that an error can name an entry of the list.
    pub(super) fn new(
        limits: &mut FilterLimits,
        field: &str,
        predicate: Predicate,
        path: &FilterPath<'_>,
        is_list: bool,
    ) -> Result<Self, InvalidFilter> {
        if let Err(fault) = limits.check_predicate(field, &predicate) {
            let fault_at = |entry| if is_list { path.entry(entry) } else { *path };
            let at = match fault {
                FilterFault::UnknownFlag(_) => fault_at(2),
                FilterFault::NotAText => fault_at(0),
                _ => fault_at(1),
            };
            return Err(ParseFault::Filter(fault).at(&at));
        }
        let name = Some(field.to_owned());
        let (metric, dimension) = if limits.is_result_metric(field) { (name, None) } else { (None, name) };
        Ok(Self { filter: Filter::field(field, predicate), metric, dimension })
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
    pub(super) fn not(self, path: &FilterPath<'_>) -> Result<Self, InvalidFilter> {
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
