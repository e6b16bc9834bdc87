//! The filter language: from the parameters of a query string to a [`Filter`].
//!
//! A parameter `<field>=<value>` is a condition on one field. A value that is a JSON array is an expression; any other
//! value is the text itself. The parameter `filter` takes an expression across fields.
//!
//! [`TypedCondition`] is a condition as people type it, such as `total >= 500`.
//!
//! [`FilterLimits`] limits the depth and the number of operands (conditions, and each `and`, `or` or `not` inside of
//! another), as the engine does for filters that were built by hand. Both are counted while the parameters are read, so
//! that an error names the place where a limit is exceeded.
//!
//! ```
//! use trueup::filter;
//! use trueup::query::Filter;
//!
//! assert_eq!(filter::from_parameter("campaign", "[Va] Drain")?, Filter::equals("campaign", "[Va] Drain"));
//!
//! let refused = filter::from_json(r#"["or", {"customerStatus": "New"}, {"zip": ["gt", true]}]"#).unwrap_err();
//! assert_eq!(refused.at(), "filter[2].zip[1]");
//! # Ok::<(), trueup::filter::InvalidFilter>(())
//! ```

mod error;
mod expression;
mod json_tree;
mod typed;

#[cfg(test)]
mod tests;

pub use error::{InvalidFilter, InvalidRequest};
pub use typed::{ParseConditionError, TypedCondition};

use crate::request::{ADDITIONS, MARKED_ADDITIONS, REMAINING};
use error::{FilterPath, ParseFault};
use expression::{ParsedCondition, parse_across, parse_field};
use std::collections::HashMap;
use trueup_core::Interrupt;
use trueup_core::query::{CompiledPatterns, EventsQuery, Filter, FilterLimits, Operand, Predicate};

/// The parameter that takes an expression across fields.
pub const FILTER_PARAMETER: &str = "filter";

/// The parameters of an events request that are not filters. Remove them before you call [`from_parameters`]. From a
/// request with `why`, remove `row` and `lines`, too.
pub const NON_FILTER_PARAMETERS: [&str; UNMARKED + MARKED_ADDITIONS.len()] = {
    let mut names = [""; UNMARKED + MARKED_ADDITIONS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = match place {
            ..OTHERS_COUNT => OTHERS[place],
            OTHERS_COUNT..UNMARKED => ADDITIONS[place - OTHERS_COUNT].name,
            _ => MARKED_ADDITIONS[place - UNMARKED].name,
        };
        place += 1;
    }
    names
};

const OTHERS: [&str; 8] = ["fields", "start", "end", "account", "accounts", "interval", "why", REMAINING.name];
const OTHERS_COUNT: usize = OTHERS.len();
const UNMARKED: usize = OTHERS_COUNT + ADDITIONS.len();

/// Parses a parameter `field=value`. If `field` is [`FILTER_PARAMETER`], the value is read like [`from_json`].
///
/// # Errors
/// The value is a JSON array, but not a valid expression, for example because a regular expression in it does not
/// compile, or because it exceeds a limit; or the field is a number (a metric or `total`), and the value is no number
/// or tests a text (`regex`, `empty`, `notEmpty`). With [`FILTER_PARAMETER`]: as for [`from_json`].
pub fn from_parameter(field: &str, value: &str) -> Result<Filter, InvalidFilter> {
    parse_parameter(&mut FilterLimits::default(), field, value).map(|parsed| parsed.filter)
}

/// Parses all filters of a request into one condition.
///
/// A repeated parameter means any of its values; different parameters are joined by `and`. [`FILTER_PARAMETER`] is read
/// like [`from_json`]; any other name is a field. Returns `None` if there is no parameter. Depth is counted for each
/// value alone, operands over all of them.
///
/// # Errors
/// As for [`from_parameter`] and [`from_json`].
pub fn from_parameters(parameters: &[(String, String)]) -> Result<Option<Filter>, InvalidFilter> {
    parse_all(&mut FilterLimits::default(), Unparsed::parameters(parameters))
}

/// A condition of a request before it is parsed.
#[derive(Clone, Copy)]
enum Unparsed<'a> {
    /// The name and one value of a parameter.
    Parameter(&'a str, &'a str),
    Typed(&'a TypedCondition),
}

impl<'a> Unparsed<'a> {
    fn parameters(parameters: &'a [(String, String)]) -> impl Iterator<Item = Self> {
        parameters.iter().map(|(name, value)| Self::Parameter(name, value))
    }

    /// Returns the name by which alternatives are found: of the conditions with the same name, at least one must hold.
    /// Returns `None` if the condition must hold by itself.
    fn alternative(self) -> Option<&'a str> {
        match self {
            Self::Parameter(name, _) => Some(name),
            Self::Typed(condition) => condition.alternative(),
        }
    }

    fn parse(self, limits: &mut FilterLimits) -> Result<ParsedCondition, InvalidFilter> {
        match self {
            Self::Parameter(name, value) => parse_parameter(limits, name, value),
            Self::Typed(condition) => condition.read(limits),
        }
    }
}

fn parse_all<'a>(
    limits: &mut FilterLimits,
    unparsed: impl Iterator<Item = Unparsed<'a>>,
) -> Result<Option<Filter>, InvalidFilter> {
    let mut groups: Vec<(&str, Vec<Unparsed<'_>>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for condition in unparsed {
        let name = condition.alternative();
        let place = name.map_or(groups.len(), |name| *places.entry(name).or_insert(groups.len()));
        match groups.get_mut(place) {
            Some((_, alternatives)) => alternatives.push(condition),
            None => groups.push((name.unwrap_or_default(), vec![condition])),
        }
    }
    let mut conditions = Vec::new();
    for (name, alternatives) in groups {
        let either = alternatives.iter().map(|one| one.parse(limits)).collect::<Result<Vec<_>, _>>()?;
        conditions.push(match <[ParsedCondition; 1]>::try_from(either) {
            Ok([only]) => only,
            Err(several) => ParsedCondition::any(several, &FilterPath::parameter(name))?,
        });
    }
    Ok((!conditions.is_empty()).then(|| ParsedCondition::all(conditions).filter))
}

/// Adds the filters of a request, read like [`from_parameters`], to a query.
///
/// ```
/// use trueup::filter::{InvalidRequest, apply};
/// use trueup::query::EventsQuery;
///
/// let query = EventsQuery::new(["campaign"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// // Two faults: there is no metric, and the filter is empty.
/// let refused = apply(query, &[("zip".to_owned(), "[]".to_owned())]);
/// assert!(matches!(refused, Err(InvalidRequest::Query(trueup::QueryError::MissingMetric))));
/// # Ok::<(), trueup::day::ParseDayError>(())
/// ```
///
/// # Errors
/// The first fault in this order: those of [`EventsQuery::check`] (fields, range, columns to sort by), then filters.
pub fn apply(query: EventsQuery, parameters: &[(String, String)]) -> Result<EventsQuery, InvalidRequest> {
    query.check()?;
    Ok(apply_within(&Interrupt::default(), query, parameters)?)
}

/// Adds conditions as people type them to a query, and a JSON expression across fields if there is one, read like
/// [`from_json`].
///
/// Conditions of the forms `field=value` and `field = value` are alternatives if they have the same field, even where
/// the value after `=` is a JSON expression. A condition `filter=...` and `across` are alternatives, too. All other
/// conditions must hold.
///
/// ```
/// use trueup::filter::{ParseConditionError, TypedCondition, apply_typed};
/// use trueup::query::EventsQuery;
///
/// let conditions = ["campaign=Drains", "campaign = Heaters", "total >= 500", "total < 900"];
/// let conditions: Result<Vec<TypedCondition>, ParseConditionError> =
///     conditions.iter().map(|text| text.parse()).collect();
/// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// let query = apply_typed(query, &conditions?, Some(r#"{"leads": ["gte", 5]}"#))?;
/// assert_eq!(query.names(), ["leads", "campaign", "campaign", "total", "total", "leads"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first fault in this order: those of [`EventsQuery::check`] (fields, range, columns to sort by), then filters.
pub fn apply_typed(
    query: EventsQuery,
    conditions: &[TypedCondition],
    across: Option<&str>,
) -> Result<EventsQuery, InvalidRequest> {
    query.check()?;
    let across = across.map(|text| Unparsed::Parameter(FILTER_PARAMETER, text));
    let unparsed = conditions.iter().map(Unparsed::Typed).chain(across);
    Ok(apply_unparsed(&Interrupt::default(), query, unparsed)?)
}

/// Adds the filters of a request to a query. The interrupt ends the compilation of regular expressions.
pub(crate) fn apply_within(
    interrupt: &Interrupt,
    query: EventsQuery,
    parameters: &[(String, String)],
) -> Result<EventsQuery, InvalidFilter> {
    apply_unparsed(interrupt, query, Unparsed::parameters(parameters))
}

fn apply_unparsed<'a>(
    interrupt: &Interrupt,
    query: EventsQuery,
    unparsed: impl Iterator<Item = Unparsed<'a>>,
) -> Result<EventsQuery, InvalidFilter> {
    let mut limits = FilterLimits::with_patterns(CompiledPatterns::within(interrupt.clone()));
    limits = limits.definitions(query.known_definitions());
    let filter = parse_all(&mut limits, unparsed)?;
    let query = query.patterns(limits.into_patterns());
    Ok(filter.into_iter().fold(query, EventsQuery::filter))
}

/// Parses the value of the parameter `filter`.
///
/// # Errors
/// The text is not JSON, or not a valid expression across fields, or exceeds a limit; a number (a metric or `total`) is
/// compared with a text that is none; or a metric and a dimension are under one `or` or `not`.
pub fn from_json(text: &str) -> Result<Filter, InvalidFilter> {
    parse_parameter(&mut FilterLimits::default(), FILTER_PARAMETER, text).map(|parsed| parsed.filter)
}

/// Parses one parameter, and counts its conditions against the limits.
fn parse_parameter(limits: &mut FilterLimits, name: &str, value: &str) -> Result<ParsedCondition, InvalidFilter> {
    let path = FilterPath::parameter(name);
    if name == FILTER_PARAMETER {
        return parse_across(limits, &json_tree::parse(value, &path)?, &path, 1);
    }
    if json_tree::is_list(value) {
        return parse_field(limits, name, &json_tree::parse(value, &path)?, &path, 1);
    }
    limits.count_condition().map_err(ParseFault::found_at(&path))?;
    ParsedCondition::new(limits, name, Predicate::Equals(Operand::Text(value.to_owned())), &path, false)
}
