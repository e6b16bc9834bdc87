//! `GET /api/{organization}/insights`: published insight documents.

use super::super::Service;
use super::super::body::{CHUNK_BYTES, ChunkSource, write_buffer};
use super::super::error::{MissingRange, ServiceError};
use super::super::memory::UserMemory;
use super::super::request::{Parameters, date_range};
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use super::description::{ACCOUNT, ACCOUNTS, Endpoint, OtherParameters, Parameter, RequestContext, ValueType};
use crate::access::Scope;
use crate::query::{AccountFilter, DateRange};
use crate::{Insight, Insights, Interrupt, Reservation, request};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::io;

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
    additions: &[&[request::REMAINING]],
    other_parameters: OtherParameters::Ignored,
    fields: None,
    notes: "Without start and end: the most recent insight of each account; with both: every insight published in that range. \
            fields names sections of the document; without it the whole document is returned.",
    answer,
};

/// The parameters that take one value.
const SINGLE: [&str; 2] = ["start", "end"];

/// The insight documents of an answer, ordered by account, then by date. Each is read when the iterator reaches it.
/// Memory for reading them is reserved until the iterator is dropped; drop each document before the next one.
#[derive(Debug)]
pub struct InsightDocuments {
    documents: Insights,
    /// `None` if nothing is counted.
    _memory: Option<Reservation>,
}

impl Iterator for InsightDocuments {
    type Item = Result<Insight, ServiceError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.documents.next()?.map_err(ServiceError::query))
    }
}

impl Service {
    /// Returns the insight documents of the accounts in scope, ordered by account, then by date.
    ///
    /// With a range, these are all documents that were published in it, both days included; without one, the most
    /// recent document of each account. An account without a document is absent.
    ///
    /// # Errors
    /// More documents match than the limits allow, there is no memory for reading them, the call takes too long, or the
    /// dataset fails. The first documents are read during the call, and the errors of others are in the iterator, which
    /// then ends.
    ///
    /// ```
    /// use trueup::access::Scope;
    /// use trueup::service::{Service, ServiceError};
    ///
    /// fn latest_dates(service: &Service, scope: &Scope) -> Result<Vec<trueup::Day>, ServiceError> {
    ///     service.insights(scope, None)?.map(|insight| Ok(insight?.date)).collect()
    /// }
    /// ```
    pub fn insights(&self, scope: &Scope, range: Option<DateRange>) -> Result<InsightDocuments, ServiceError> {
        let (snapshot, interrupt) = (self.snapshot(), Interrupt::after(self.limits.deadline));
        let documents = self.find_insights(&snapshot, scope, range, &interrupt)?;
        let needed = documents.bytes();
        read_first(documents, needed, &self.memory.for_program(), &interrupt)
    }

    /// Finds the documents, and reads none.
    fn find_insights(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        range: Option<DateRange>,
        interrupt: &Interrupt,
    ) -> Result<Insights, ServiceError> {
        let limit = self.limits.documents;
        let accounts = AccountFilter::Only(scope.accounts().map(str::to_owned).collect());
        let found = snapshot.dataset.insights(&accounts, range, limit, interrupt).map_err(ServiceError::query)?;
        match found.matched() {
            matched if matched > limit => Err(ServiceError::TooManyDocuments { matched, limit }),
            _ => Ok(found),
        }
    }
}

/// Reserves the needed bytes, then reads the first documents, so that most damage is found before the answer begins.
fn read_first(
    mut documents: Insights,
    needed: usize,
    memory: &UserMemory<'_>,
    interrupt: &Interrupt,
) -> Result<InsightDocuments, ServiceError> {
    let _memory = memory.reserve(needed).map_err(ServiceError::no_room)?;
    documents.read_first(interrupt).map_err(ServiceError::query)?;
    Ok(InsightDocuments { documents, _memory })
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Answer, ServiceError> {
    let range = range(context.parameters)?;
    let wanted: HashSet<String> = context.parameters.list("fields").map(str::to_owned).collect();
    let documents = service.find_insights(&context.snapshot, &context.scope, range, context.interrupt)?;
    // Selected sections are written next to the document that they are part of.
    let sections = if wanted.is_empty() { 0 } else { documents.longest() };
    let needed = documents.bytes() + sections + write_buffer(documents.bytes());
    let InsightDocuments { documents, _memory } = read_first(documents, needed, &context.memory, context.interrupt)?;
    Ok(Answer::chunks(InsightArray { documents, wanted, current: None, is_begun: false }, _memory))
}

/// Writes documents as one JSON array.
struct InsightArray {
    documents: Insights,
    /// The names of the wanted sections; empty for whole documents.
    wanted: HashSet<String>,
    /// The document that is being written, and how many of its bytes are.
    current: Option<(String, usize)>,
    /// Whether the array has an element.
    is_begun: bool,
}

impl ChunkSource for InsightArray {
    fn append(&mut self, chunk: &mut Vec<u8>) -> io::Result<bool> {
        while chunk.len() < CHUNK_BYTES {
            if let Some((document, written)) = &mut self.current {
                let rest = document.as_bytes().get(*written..).unwrap_or_default();
                let now = rest.len().min(CHUNK_BYTES - chunk.len());
                chunk.extend_from_slice(&rest[..now]);
                *written += now;
                if now == rest.len() {
                    chunk.push(b'}');
                    self.current = None;
                }
                continue;
            }
            let Some(insight) = self.documents.next() else {
                chunk.extend_from_slice(if self.is_begun { b"]" } else { b"[]" });
                return Ok(false);
            };
            let Insight { account, date, document } = insight.map_err(io::Error::other)?;
            chunk.push(if self.is_begun { b',' } else { b'[' });
            self.is_begun = true;
            let account = serde_json::to_string(&account)?;
            chunk.extend_from_slice(format!("{{\"account\":{account},\"date\":\"{date}\",\"insight\":").as_bytes());
            let text = if self.wanted.is_empty() { document } else { sections(&document, &self.wanted)? };
            self.current = Some((text, 0));
        }
        Ok(true)
    }
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
    parameters.check(SINGLE)?;
    pair.map(|(start, end)| date_range(start, end)).transpose()
}

/// Returns the wanted sections of a document, byte for byte and in the document's order. Sections that it does not have
/// are skipped.
fn sections(document: &str, wanted: &HashSet<String>) -> Result<String, serde_json::Error> {
    // The sections are part of the document, so nothing grows. Pages that are not written take no memory.
    let mut selection = SectionWriter { wanted, text: String::with_capacity(document.len()) };
    let mut deserializer = serde_json::Deserializer::from_str(document);
    deserializer.deserialize_map(&mut selection)?;
    deserializer.end()?;
    let mut text = selection.text;
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    Ok(text)
}

/// Reads an object, and writes the wanted ones of its names and values, each as it is spelled.
struct SectionWriter<'a> {
    wanted: &'a HashSet<String>,
    text: String,
}

impl<'de> Visitor<'de> for &mut SectionWriter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            // A name that is not Unicode, such as `"\ud800"`, is not one that a request can name.
            let plain = serde_json::from_str::<Cow<'_, str>>(name.get());
            if plain.is_ok_and(|plain| self.wanted.contains(&*plain)) {
                self.text.push(if self.text.is_empty() { '{' } else { ',' });
                self.text.push_str(name.get());
                self.text.push(':');
                self.text.push_str(value.get());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    fn kept(document: &str, wanted: &[&str]) -> String {
        super::sections(document, &wanted.iter().map(|name| (*name).to_owned()).collect()).unwrap()
    }

    #[test]
    fn sections_keep_their_bytes_and_order() {
        let document = r#"{"b": 1.50e1 , "a":{"z":1, "a":"\u00e9"},"c\u0061":[ ],"period":"May"}"#;
        assert_eq!(kept(document, &["a", "b"]), r#"{"b":1.50e1,"a":{"z":1, "a":"\u00e9"}}"#);
        assert_eq!(kept(document, &["ca"]), r#"{"c\u0061":[ ]}"#);
        assert_eq!(kept(document, &["none"]), "{}");
        assert_eq!(kept(r#"{"\ud800":1,"a":2}"#, &["a"]), r#"{"a":2}"#);
    }
}
