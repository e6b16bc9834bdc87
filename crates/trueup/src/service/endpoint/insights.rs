//! `GET /api/{organization}/insights`: published insight documents.

use super::super::Service;
use super::super::error::{MissingRange, ServiceError, Upstream};
use super::super::request::{Parameters, date_range};
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use super::description::{ACCOUNT, ACCOUNTS, Endpoint, OtherParameters, Parameter, RequestContext, ValueType};
use crate::access::Scope;
use crate::query::{AccountFilter, DateRange};
use crate::{Insight, Interrupt};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "insights",
    summary: "Published insight documents",
    parameters: &[
        ACCOUNT,
        ACCOUNTS,
        Parameter::new("start", ValueType::Date, "The first day of publication. Requires `end`.", "2025-01-01"),
        Parameter::new(
            "end",
            ValueType::Date,
            "The last day of publication, which is included. Requires `start`.",
            "2025-03-31",
        ),
        Parameter::new(
            "fields",
            ValueType::Names,
            "Sections of the document; by default the whole document. A section that a document does not have is \
             ignored.",
            "period,action_items",
        ),
    ],
    additions: &[],
    other_parameters: OtherParameters::Ignored,
    fields: None,
    notes: "Without start and end: the most recent insight of each account; with both: every insight published in that range. \
            fields names sections of the document; without it the whole document is returned.",
    answer,
};

/// The parameters that take one value.
const SINGLE: [&str; 2] = ["start", "end"];

impl Service {
    /// Returns the insight documents of the accounts in scope, ordered by account, then by date.
    ///
    /// With a range, these are all documents that were published in it, both days included; without one, the most
    /// recent document of each account. An account without a document is absent.
    ///
    /// # Errors
    /// More documents match than the limits allow, the call takes too long, or the dataset fails.
    ///
    /// ```
    /// use trueup::access::Scope;
    /// use trueup::service::{Service, ServiceError};
    ///
    /// fn latest_dates(service: &Service, scope: &Scope) -> Result<Vec<trueup::Day>, ServiceError> {
    ///     Ok(service.insights(scope, None)?.iter().map(|insight| insight.date).collect())
    /// }
    /// ```
    pub fn insights(&self, scope: &Scope, range: Option<DateRange>) -> Result<Vec<Insight>, ServiceError> {
        self.insights_within(&self.snapshot(), scope, range, &Interrupt::after(self.limits.deadline))
    }

    fn insights_within(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        range: Option<DateRange>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Insight>, ServiceError> {
        let limit = self.limits.documents;
        let accounts = AccountFilter::Only(scope.accounts().map(str::to_owned).collect());
        let found = snapshot.dataset.insights(&accounts, range, limit, interrupt).map_err(ServiceError::query)?;
        if found.matched > limit {
            return Err(ServiceError::TooManyDocuments { matched: found.matched, limit });
        }
        Ok(found.documents)
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Answer, ServiceError> {
    let range = range(context.parameters)?;
    let wanted: HashSet<&str> = context.parameters.list("fields").collect();
    let mut text = String::from("[");
    for insight in service.insights_within(&context.snapshot, &context.scope, range, context.interrupt)? {
        if text.len() > 1 {
            text.push(',');
        }
        write(&insight, &wanted, &mut text).map_err(|source| {
            let (account, date) = (insight.account.clone(), insight.date);
            ServiceError::Upstream(Upstream::Document { account, date, source })
        })?;
    }
    text.push(']');
    Answer::text(text, &service.memory)
}

/// Reads the range. Reports the first fault in this fixed order: `start` or `end` alone, a malformed query string, then
/// the dates.
fn range(parameters: &Parameters) -> Result<Option<DateRange>, ServiceError> {
    let unpaired = |name| ServiceError::MissingRange(MissingRange::Unpaired(name));
    let pair = match (parameters.non_empty("start"), parameters.non_empty("end")) {
        (Some(start), Some(end)) => Some((start, end)),
        (None, None) => None,
        (None, Some(_)) => return Err(unpaired("start")),
        (Some(_), None) => return Err(unpaired("end")),
    };
    parameters.check(&SINGLE)?;
    pair.map(|(start, end)| date_range(start, end)).transpose()
}

/// Appends an element of the answer.
fn write(insight: &Insight, wanted: &HashSet<&str>, text: &mut String) -> Result<(), serde_json::Error> {
    text.push_str("{\"account\":");
    text.push_str(&serde_json::to_string(&insight.account)?);
    text.push_str(",\"date\":\"");
    text.push_str(&insight.date.to_string());
    text.push_str("\",\"insight\":");
    if wanted.is_empty() {
        text.push_str(&insight.document);
    } else {
        write_sections(&insight.document, wanted, text)?;
    }
    text.push('}');
    Ok(())
}

/// Appends the wanted sections of a document, byte for byte and in the document's order. Sections that it does not have
/// are skipped.
fn write_sections(document: &str, wanted: &HashSet<&str>, text: &mut String) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(document);
    let sections = deserializer.deserialize_map(Sections)?;
    deserializer.end()?;
    let mut separator = '{';
    for (name, value) in sections {
        let plain: String = serde_json::from_str(name.get())?;
        if wanted.contains(&*plain) {
            text.push(separator);
            text.push_str(name.get());
            text.push(':');
            text.push_str(value.get());
            separator = ',';
        }
    }
    text.push_str(if separator == '{' { "{}" } else { "}" });
    Ok(())
}

/// Reads an object as its names and values, each as it is spelled.
struct Sections;

impl<'de> Visitor<'de> for Sections {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut sections = Vec::new();
        while let Some(section) = map.next_entry()? {
            sections.push(section);
        }
        Ok(sections)
    }
}

#[cfg(test)]
mod tests {
    fn kept(document: &str, wanted: &[&str]) -> String {
        let mut text = String::new();
        super::write_sections(document, &wanted.iter().copied().collect(), &mut text).unwrap();
        text
    }

    #[test]
    fn sections_keep_their_bytes_and_order() {
        let document = r#"{"b": 1.50e1 , "a":{"z":1, "a":"\u00e9"},"c\u0061":[ ],"period":"May"}"#;
        assert_eq!(kept(document, &["a", "b"]), r#"{"b":1.50e1,"a":{"z":1, "a":"\u00e9"}}"#);
        assert_eq!(kept(document, &["ca"]), r#"{"c\u0061":[ ]}"#);
        assert_eq!(kept(document, &["none"]), "{}");
    }
}
