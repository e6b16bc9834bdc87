//! An expression across fields: the parameter `filter`.

use super::condition::ParsedCondition;
use super::error::{InvalidFilter, ParseFault};
use super::expression;
use super::path::FilterPath;
use super::tree::JsonTree;
use trueup_core::query::FilterLimits;

const OPERATORS: &str = "`or`, `and`, `not`";

/// The condition that an expression across fields states, `depth` levels deep.
pub(super) fn parse(
    bounds: &mut FilterLimits,
    tree: &JsonTree,
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    match tree {
        JsonTree::List(list) => joined(bounds, list, path, depth),
        JsonTree::Object(fields) => all_fields(bounds, fields, path, depth),
        JsonTree::TooDeep => Err(ParseFault::too_deep(path)),
        scalar => {
            let wanted = "an object of fields, or a list that starts with `or`, `and` or `not`";
            Err(ParseFault::OperandKind { wanted, found: scalar.shown() }.at(path))
        }
    }
}

fn joined(
    bounds: &mut FilterLimits,
    list: &[JsonTree],
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    let (operator, operands) = expression::split(list, OPERATORS, path)?;
    if !matches!(operator, "or" | "and" | "not") {
        return Err(expression::unknown(OPERATORS, &JsonTree::Text(operator.to_owned()), path));
    }
    bounds.count_join(depth).map_err(ParseFault::beyond(path))?;
    let mut parts = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        parts.push(parse(bounds, operand, &path.entry(index + 1), depth + 1)?);
    }
    expression::join(operator, parts, path)
}

/// Several fields are an `and` of their own, one is just its condition.
fn all_fields(
    bounds: &mut FilterLimits,
    fields: &[(String, JsonTree)],
    path: &FilterPath<'_>,
    depth: usize,
) -> Result<ParsedCondition, InvalidFilter> {
    let inner = match fields.len() {
        0 => return Err(ParseFault::EmptyObject.at(path)),
        1 => depth,
        _ => {
            bounds.count_join(depth).map_err(ParseFault::beyond(path))?;
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
        parts.push(expression::parse(bounds, name, tree, &at, inner)?);
    }
    Ok(ParsedCondition::all(parts))
}
