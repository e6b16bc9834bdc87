//! What a caller sends: a request, and the parameters of its query string.

use super::error::{InvalidQuery, ServiceError};
use crate::day::ParseDayError;
use crate::query::DateRange;
use crate::request::{InvalidParameter, Parameter};
use crate::{Interrupt, QueryError};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;

/// One request, as plain text. An HTTP server copies what it receives and interprets nothing.
///
/// `Debug` hides the credentials.
///
/// ```
/// use trueup::service::Request;
///
/// let request = Request { authorization: Some("tu_0123".into()), ..Request::get("/api") };
/// assert!(!format!("{request:?}").contains("tu_0123"));
/// ```
#[derive(Clone, Default)]
pub struct Request {
    /// The method in capitals, for example `GET`.
    pub method: String,
    /// The path, and the query after `?`; both as they were sent, percent-encoded.
    pub path_and_query: String,
    /// The header `Authorization`: the key alone.
    pub authorization: Option<String>,
    /// The header `Accept`. Several such headers are joined by commas; `None` if there is none.
    pub accept: Option<String>,
    /// The header `Accept-Encoding`. Several such headers are joined by commas; `None` if there is none.
    pub accept_encoding: Option<String>,
    /// The header `Cookie`.
    pub cookie: Option<String>,
    /// Ends the request early, for example when the caller has hung up. The deadline of the service's
    /// [`Limits`](super::Limits) applies as well.
    pub interrupt: Interrupt,
}

impl Request {
    /// Returns a `GET` request without headers.
    pub fn get(path_and_query: impl Into<String>) -> Self {
        Self { method: "GET".to_owned(), path_and_query: path_and_query.into(), ..Self::default() }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path_and_query", &self.path_and_query)
            .field("accept", &self.accept)
            .field("accept_encoding", &self.accept_encoding)
            .finish_non_exhaustive()
    }
}

/// The parameters of a query string, decoded, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    /// The first parameter that is not UTF-8, as it was sent. `pairs` has no such parameter.
    undecoded: Option<String>,
}

impl Parameters {
    pub(super) fn new(query: &str) -> Self {
        let mut parameters = Self { pairs: Vec::new(), undecoded: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match query_text(name).zip(query_text(value)) {
                Some(pair) => parameters.pairs.push(pair),
                None => parameters.undecoded = parameters.undecoded.or_else(|| Some(pair.to_owned())),
            }
        }
        parameters
    }

    /// Returns all values of a parameter.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// Returns the first value of a parameter, or `None` if that value is empty.
    pub(super) fn non_empty(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|text| !text.is_empty())
    }

    /// Removes a parameter that is `true` or `false`, and returns whether it is `true`. The other parameters lack it.
    pub(super) fn take_flag(&mut self, parameter: &Parameter) -> Result<bool, ServiceError> {
        let checked = self.check_single([parameter.name]);
        let value = self.first(parameter.name).map(|text| parameter.json(&[text.to_owned()]));
        self.pairs.retain(|(name, _)| name != parameter.name);
        checked?;
        let value = value.transpose().map_err(|InvalidParameter { name, fault }| {
            ServiceError::InvalidQuery(InvalidQuery::Value { parameter: name, fault })
        })?;
        Ok(value == Some(true.into()))
    }

    /// Returns the names of a comma-separated list, trimmed and without empty ones. A repeated parameter adds to the
    /// list.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values(name).flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty())
    }

    /// Returns the accounts that `account` and `accounts` name.
    pub(super) fn accounts(&self) -> Vec<&str> {
        let single = self.values("account").map(str::trim).filter(|name| !name.is_empty());
        single.chain(self.list("accounts")).collect()
    }

    /// Checks that all parameters are UTF-8, and that no parameter in `single` has two different values.
    pub(super) fn check(&self, single: impl IntoIterator<Item = &'static str>) -> Result<(), ServiceError> {
        if let Some(parameter) = &self.undecoded {
            return Err(ServiceError::InvalidQuery(InvalidQuery::NotUtf8(parameter.clone())));
        }
        self.check_single(single)
    }

    /// Checks that no parameter in `single` has two different values.
    fn check_single(&self, single: impl IntoIterator<Item = &'static str>) -> Result<(), ServiceError> {
        for parameter in single {
            let mut values = self.values(parameter);
            if let Some(first) = values.next()
                && let Some(second) = values.find(|value| *value != first)
            {
                let (first, second) = (first.to_owned(), second.to_owned());
                return Err(ServiceError::InvalidQuery(InvalidQuery::Repeated { parameter, first, second }));
            }
        }
        Ok(())
    }

    /// Returns all parameters except those in `named`.
    pub(super) fn others(&self, named: &[&str]) -> Vec<(String, String)> {
        self.pairs.iter().filter(|(name, _)| !named.contains(&&**name)).cloned().collect()
    }
}

/// Parses the values of `start` and `end`, both of which the range includes. Reports a day that is not a calendar date,
/// or that [`Day`](crate::Day) cannot represent, first, then a range that ends before it starts.
pub(super) fn date_range(start: &str, end: &str) -> Result<DateRange, ServiceError> {
    let day = |parameter, text: &str| {
        text.parse().map_err(|error: ParseDayError| match error {
            error if error.is_out_of_range() => ServiceError::DateOutOfRange { parameter, text: error.0 },
            ParseDayError(text) => ServiceError::InvalidDate { parameter, text },
        })
    };
    let (start, end) = (day("start", start)?, day("end", end)?);
    if end < start {
        Err(ServiceError::Query(QueryError::ReversedRange { start, end }))
    } else {
        Ok(DateRange { start, end })
    }
}

/// Decodes a name or a value of a query, in which `+` is a space.
fn query_text(encoded: &str) -> Option<String> {
    percent_decoded(&encoded.replace('+', " "))
}

/// Decodes a segment of a path: `%` with two hexadecimal digits is a byte, and any other `%` stays as it is. Returns
/// `None` if the bytes are not UTF-8.
pub(super) fn percent_decoded(encoded: &str) -> Option<String> {
    percent_decode_str(encoded).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_and_other_percent_signs_are_kept() {
        assert_eq!(query_text("a+b%20c%2C%c3%A9").as_deref(), Some("a b c,é"));
        assert_eq!(query_text("100%+%4+%zz%").as_deref(), Some("100% %4 %zz%"));
        assert_eq!(query_text("%FF"), None);
        assert_eq!(percent_decoded("a+b").as_deref(), Some("a+b"));
    }
}
