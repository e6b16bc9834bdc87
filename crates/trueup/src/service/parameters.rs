//! The parameters of a query, in the order in which they are sent.

use super::error::{InvalidQuery, ServiceError};
use super::form::query_text;

/// The parameters of a query.
#[derive(Debug)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    /// The first parameter that is not UTF-8, as it was sent; it is not among the pairs.
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

    /// The values of a parameter.
    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// The names in a list with commas, trimmed, without empty ones; several lists are one.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values(name).flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty())
    }

    /// The accounts named by `account` and `accounts`.
    pub(super) fn accounts(&self) -> Vec<&str> {
        let single = self.values("account").map(str::trim).filter(|name| !name.is_empty());
        single.chain(self.list("accounts")).collect()
    }

    /// Checks that the query reads, and that none of the parameters named has two different values.
    pub(super) fn check(&self, single: &[&'static str]) -> Result<(), ServiceError> {
        if let Some(parameter) = &self.undecoded {
            return Err(ServiceError::InvalidQuery(InvalidQuery::NotUtf8 { parameter: parameter.clone() }));
        }
        for parameter in single.iter().copied() {
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

    /// The parameters that are none of those named.
    pub(super) fn others(&self, named: &[&str]) -> Vec<(String, String)> {
        self.pairs.iter().filter(|(name, _)| !named.contains(&&**name)).cloned().collect()
    }
}
