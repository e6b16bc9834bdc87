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
mod bounds;
mod condition;
mod error;
mod expression;
mod path;
mod tree;

#[cfg(test)]
mod tests;

pub use error::InvalidFilter;

use bounds::Bounds;
use condition::Parsed;
use path::Path;
use trueup_core::query::{Filter, Operand, Test};

/// The parameter that takes conditions across fields.
pub const ACROSS: &str = "filter";

/// The parameters of an events request that are no filters; a service keeps them from [`from_parameters`].
pub const NO_FILTERS: [&str; 6] = ["fields", "start", "end", "account", "accounts", "interval"];

/// The condition that a parameter `field=value` puts on the field.
///
/// # Errors
/// The value is a JSON array, but no expression; or the field is a number (a metric or `total`) and the value none.
pub fn from_parameter(field: &str, value: &str) -> Result<Filter, InvalidFilter> {
    parameter(&mut Bounds::default(), field, value, 1).map(|parsed| parsed.filter)
}

/// The condition that all filters of a request state: a repeated parameter means either value, different ones are joined by AND.
///
/// [`ACROSS`] is read as by [`from_json`], every other name is a field. `None` if there is no parameter. The bounds hold for all
/// parameters together.
///
/// # Errors
/// As for [`from_parameter`] and [`from_json`].
pub fn from_parameters(parameters: &[(String, String)]) -> Result<Option<Filter>, InvalidFilter> {
    let mut bounds = Bounds::default();
    let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in parameters {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => fields.push((name, vec![value])),
        }
    }
    // The `and` of several fields, and the `or` of several values, are levels of the filter like those that are written.
    let depth = if fields.len() > 1 { 2 } else { 1 };
    let mut conditions = Vec::new();
    for (name, values) in fields {
        let path = Path::parameter(name);
        let condition = match values.as_slice() {
            [value] => parameter(&mut bounds, name, value, depth)?,
            several => {
                bounds.join(depth, &path)?;
                let either = several.iter().map(|value| parameter(&mut bounds, name, value, depth + 1));
                Parsed::any(either.collect::<Result<_, _>>()?, &path)?
            }
        };
        conditions.push(condition);
    }
    Ok((!conditions.is_empty()).then(|| Parsed::all(conditions).filter))
}

/// The condition that the JSON text of the parameter `filter` states.
///
/// # Errors
/// The text is no JSON, or no expression across fields; a metric and a dimension stand under one `or` or `not`.
pub fn from_json(text: &str) -> Result<Filter, InvalidFilter> {
    parameter(&mut Bounds::default(), ACROSS, text, 1).map(|parsed| parsed.filter)
}

fn parameter(bounds: &mut Bounds, name: &str, value: &str, depth: usize) -> Result<Parsed, InvalidFilter> {
    let path = Path::parameter(name);
    if name == ACROSS {
        return across::parse(bounds, &tree::parse(value, &path)?, &path, depth);
    }
    if tree::is_list(value) {
        return expression::parse(bounds, name, &tree::parse(value, &path)?, &path, depth);
    }
    bounds.condition(&path)?;
    Parsed::new(name, Test::Equals(Operand::Text(value.to_owned())), &path, false)
}
