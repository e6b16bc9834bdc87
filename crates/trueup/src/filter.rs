//! The filter language of the service: parameters of a query string to a [`Filter`].
//!
//! A parameter `<field>=<value>` is a condition on one field. A value that is a JSON array is an expression, every other value is
//! the text itself, taken whole. The parameter `filter` takes conditions across fields.
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

mod across;
mod condition;
mod error;
mod expression;
mod path;
mod tree;

#[cfg(test)]
mod tests;

pub use error::{InvalidFilter, InvalidRequest};

use condition::ParsedCondition;
use error::ParseFault;
use path::FilterPath;
use std::collections::HashMap;
use trueup_core::Interrupt;
use trueup_core::query::{CompiledPatterns, EventsQuery, Filter, FilterLimits, Operand, Predicate};

/// The parameter that takes conditions across fields.
pub const FILTER_PARAMETER: &str = "filter";

/// The parameters of an events request that are no filters; a service keeps them from [`from_parameters`].
pub const NON_FILTER_PARAMETERS: [&str; 6] = ["fields", "start", "end", "account", "accounts", "interval"];

/// The condition that a parameter `field=value` puts on the field.
///
/// # Errors
/// The value is a JSON array, but no expression; or the field is a number (a metric or `total`) and the value none.
pub fn from_parameter(field: &str, value: &str) -> Result<Filter, InvalidFilter> {
    parameter(&mut FilterLimits::default(), field, value).map(|parsed| parsed.filter)
}

/// The condition that all filters of a request state: a repeated parameter means either value, different ones are joined by AND.
///
/// [`FILTER_PARAMETER`] is read as by [`from_json`], every other name is a field. `None` if there is no parameter. Each value may be nested as
/// deep as if it stood alone; operands are counted over all of them.
///
/// # Errors
/// As for [`from_parameter`] and [`from_json`].
pub fn from_parameters(parameters: &[(String, String)]) -> Result<Option<Filter>, InvalidFilter> {
    read(&mut FilterLimits::default(), parameters)
}

fn read(bounds: &mut FilterLimits, parameters: &[(String, String)]) -> Result<Option<Filter>, InvalidFilter> {
    let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, value) in parameters {
        let place = *places.entry(name).or_insert(fields.len());
        match fields.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => fields.push((name, vec![value])),
        }
    }
    let mut conditions = Vec::new();
    for (name, values) in fields {
        let either = values.iter().map(|value| parameter(bounds, name, value)).collect::<Result<Vec<_>, _>>()?;
        conditions.push(match <[ParsedCondition; 1]>::try_from(either) {
            Ok([only]) => only,
            Err(several) => ParsedCondition::any(several, &FilterPath::parameter(name))?,
        });
    }
    Ok((!conditions.is_empty()).then(|| ParsedCondition::all(conditions).filter))
}

/// The query with the filters of a request, read as by [`from_parameters`].
///
/// ```
/// use trueup::filter::{InvalidRequest, apply};
/// use trueup::query::EventsQuery;
///
/// let query = EventsQuery::new(["campaign"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// // Two faults: no metric, and a condition that is none.
/// let refused = apply(query, &[("zip".to_owned(), "[]".to_owned())]);
/// assert!(matches!(refused, Err(InvalidRequest::Query(trueup::QueryError::MissingMetric))));
/// # Ok::<(), trueup::day::NotADay>(())
/// ```
///
/// # Errors
/// The first fault in the order of the contract: fields, range, then filters.
pub fn apply(query: EventsQuery, parameters: &[(String, String)]) -> Result<EventsQuery, InvalidRequest> {
    query.check()?;
    Ok(apply_within(&Interrupt::default(), query, parameters)?)
}

/// The query with the filters of a request, read as by [`from_parameters`] as long as the interrupt allows.
pub(crate) fn apply_within(
    interrupt: &Interrupt,
    query: EventsQuery,
    parameters: &[(String, String)],
) -> Result<EventsQuery, InvalidFilter> {
    let mut bounds = FilterLimits::with_patterns(CompiledPatterns::within(interrupt.clone()));
    let filter = read(&mut bounds, parameters)?;
    let query = query.patterns(bounds.into_patterns());
    Ok(match filter {
        Some(filter) => query.filter(filter),
        None => query,
    })
}

/// The condition that the JSON text of the parameter `filter` states.
///
/// # Errors
/// The text is no JSON, or no expression across fields; a metric and a dimension stand under one `or` or `not`.
pub fn from_json(text: &str) -> Result<Filter, InvalidFilter> {
    parameter(&mut FilterLimits::default(), FILTER_PARAMETER, text).map(|parsed| parsed.filter)
}

fn parameter(bounds: &mut FilterLimits, name: &str, value: &str) -> Result<ParsedCondition, InvalidFilter> {
    let path = FilterPath::parameter(name);
    if name == FILTER_PARAMETER {
        return across::parse(bounds, &tree::parse(value, &path)?, &path, 1);
    }
    if tree::is_list(value) {
        return expression::parse(bounds, name, &tree::parse(value, &path)?, &path, 1);
    }
    bounds.count_condition().map_err(ParseFault::beyond(&path))?;
    ParsedCondition::new(bounds, name, Predicate::Equals(Operand::Text(value.to_owned())), &path, false)
}
