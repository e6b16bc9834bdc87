//! One JSON object per line.
//!
//! Every value becomes text: words and whole numbers as written, other numbers as ECMAScript writes them. So a column may mix types,
//! and its type need not be known before the last line is read.

use super::ReadLimits;
use super::blocks::TextBlock;
use super::piece::{self, DecodedBatch, RowLocations, into_text};
use crate::error::InputFault;
use crate::place::{InputLocation, RowFault, shortened};
use arrow_array::builder::{ArrayBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use hashbrown::{HashMap, HashSet};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use trueup_core::Shown;

/// The rows of a block, piece by piece.
pub(crate) struct NdjsonDecoder {
    text: String,
    at: usize,
    line: u64,
    /// Columns that are there even if no object has them.
    known: &'static [&'static str],
    /// Columns that keep a decimal number as it is written, since a double could not hold all its digits.
    exact: &'static [&'static str],
    limits: ReadLimits,
}

impl NdjsonDecoder {
    pub(crate) fn new(
        block: TextBlock,
        known: &'static [&'static str],
        exact: &'static [&'static str],
        limits: ReadLimits,
    ) -> Result<Self, InputFault> {
        let line = block.line;
        Ok(Self { text: into_text(block)?, at: 0, line, known, exact, limits })
    }

    /// The next rows; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
        if self.at == self.text.len() {
            return Ok(None);
        }
        let mut table = TableBuilder::new(self.known, self.exact, self.limits.max_columns);
        let (mut lines, mut torn, mut broken) = (Vec::new(), piece::MalformedRecords::default(), None);
        while lines.len() < self.limits.rows && table.cells() < self.limits.cells() && !torn.are_many() {
            let Some(text) = self.text[self.at..].split_inclusive('\n').next() else { break };
            let (record, line) = (text.trim_end_matches(['\r', '\n']), self.line);
            self.at += text.len();
            self.line += 1;
            if record.trim_ascii().is_empty() {
                continue;
            }
            match Members::read(record)
                .map_err(|error| RecordFault::Row(MalformedRecord::NoObject(error)))
                .and_then(|members| table.push(&members))
            {
                Ok(()) => lines.push(line),
                Err(RecordFault::Columns(fault)) => {
                    // Nothing after it is read.
                    self.at = self.text.len();
                    broken = Some(fault);
                }
                Err(RecordFault::Row(fault)) => torn.push(fault.at(line, record, self.limits.max_text_bytes)),
            }
        }
        let batch = table.finish().map_err(|error| InputFault::Schema(error.to_string()))?;
        Ok(Some(DecodedBatch { batch, places: RowLocations::Lines(lines), torn: torn.rows, broken }))
    }
}

/// The columns seen so far.
struct TableBuilder<'k> {
    exact: &'k [&'k str],
    columns: Vec<ColumnBuilder>,
    /// The places of the columns by name.
    places: HashMap<String, usize>,
    most_columns: usize,
    rows: usize,
    /// Objects so far, torn ones included.
    objects: usize,
}

struct ColumnBuilder {
    name: String,
    /// Of the rows up to the last that has a value here.
    texts: StringBuilder,
    /// The number of the last object that has a member of this name.
    object: usize,
}

impl<'k> TableBuilder<'k> {
    fn new(known: &[&str], exact: &'k [&'k str], most_columns: usize) -> Self {
        let (columns, places) = (Vec::new(), HashMap::new());
        let mut table = Self { exact, columns, places, most_columns, rows: 0, objects: 0 };
        for name in known {
            table.add(name);
        }
        table
    }

    /// Cells so far, including empty ones.
    fn cells(&self) -> usize {
        self.columns.len() * self.rows
    }

    /// The place of the column with that name; objects mostly name their members in the same order, so `hint` is tried first.
    fn find(&self, name: &str, hint: usize) -> Option<usize> {
        if self.columns.get(hint).is_some_and(|column| column.name == name) {
            return Some(hint);
        }
        self.places.get(name).copied()
    }

    fn add(&mut self, name: &str) -> usize {
        let at = self.columns.len();
        self.places.insert(name.to_owned(), at);
        self.columns.push(ColumnBuilder { name: name.to_owned(), texts: StringBuilder::new(), object: 0 });
        at
    }

    fn push(&mut self, members: &Members<'_>) -> Result<(), RecordFault> {
        self.objects += 1;
        // Rendered first: a row that is torn in the middle must leave nothing behind.
        let mut cells = Vec::with_capacity(members.0.len());
        let mut new = HashSet::new();
        let mut hint = 0;
        for (name, value) in &members.0 {
            if name.is_empty() {
                return Err(RecordFault::Row(MalformedRecord::Nameless));
            }
            let place = self.find(name, hint);
            let repeated = match place {
                Some(at) => {
                    hint = at + 1;
                    std::mem::replace(&mut self.columns[at].object, self.objects) == self.objects
                }
                None => !new.insert(name.as_ref()),
            };
            if repeated {
                return Err(RecordFault::Row(MalformedRecord::Repeated(name.to_string())));
            }
            let cell = render(value.get(), self.exact.contains(&name.as_ref())).map_err(|reason| {
                RecordFault::Row(MalformedRecord::Value {
                    column: name.to_string(),
                    value: value.get().to_owned(),
                    reason,
                })
            })?;
            cells.push((place, name, cell));
        }
        for (place, name, cell) in cells {
            let at = place.unwrap_or_else(|| self.add(name));
            let texts = &mut self.columns[at].texts;
            pad(texts, self.rows);
            texts.append_option(cell.filter(|cell| !cell.is_empty()));
        }
        self.rows += 1;
        match self.columns.len() > self.most_columns {
            true => Err(RecordFault::Columns(InputFault::ManyColumns { limit: self.most_columns })),
            false => Ok(()),
        }
    }

    fn finish(self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let rows = self.rows;
        let finish = |ColumnBuilder { name, mut texts, .. }: ColumnBuilder| {
            pad(&mut texts, rows);
            (Field::new(name, DataType::Utf8, true), Arc::new(texts.finish()) as ArrayRef)
        };
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = self.columns.into_iter().map(finish).unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}

/// Fills a column with nulls up to that row.
fn pad(texts: &mut StringBuilder, rows: usize) {
    texts.append_nulls(rows.saturating_sub(texts.len()));
}

/// The text of a JSON value; `None` for null.
fn render(value: &str, exact: bool) -> Result<Option<Cow<'_, str>>, &'static str> {
    match value.as_bytes() {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Ok(Some(Cow::Borrowed(&value[1..value.len() - 1]))),
        [b'"', ..] => serde_json::from_str(value).map(Some).map_err(|_| "expected a text, but found a broken escape"),
        [b'{', ..] => Err("expected a single value, but found an object"),
        [b'[', ..] => Err("expected a single value, but found a list"),
        [b'n', ..] => Ok(None),
        [b'-' | b'0'..=b'9', ..] => Ok(Some(number(value, exact))),
        _ => Ok(Some(Cow::Borrowed(value))),
    }
}

fn number(value: &str, exact: bool) -> Cow<'_, str> {
    let whole = !value.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let decimal = exact && !value.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    if decimal || whole && value != "-0" {
        return Cow::Borrowed(value);
    }
    match value.parse::<f64>() {
        // An amount is a plain decimal number, whatever its size.
        Ok(number) if exact && number.is_finite() => Cow::Owned(number.to_string()),
        Ok(number) if number.is_finite() => Cow::Owned(ryu_js::Buffer::new().format(number).to_owned()),
        _ => Cow::Borrowed(value),
    }
}

/// Why a line cannot be taken.
enum RecordFault {
    Row(MalformedRecord),
    /// The file as a whole is at fault.
    Columns(InputFault),
}

/// Why a line is no row.
enum MalformedRecord {
    NoObject(serde_json::Error),
    Nameless,
    Repeated(String),
    Value { column: String, value: String, reason: &'static str },
}

impl MalformedRecord {
    fn at(self, line: u64, record: &str, longest: usize) -> RowFault {
        let short = |text: &str| shortened(text, longest).to_owned();
        let (column, value, reason) = match self {
            Self::NoObject(error) => {
                (None, short(record), format!("expected a JSON object, but: {}", Shown(&error.to_string())))
            }
            Self::Nameless => (None, short(record), "a member has no name".to_owned()),
            Self::Repeated(name) => (None, short(record), format!("the member `{}` stands there twice", Shown(&name))),
            Self::Value { column, value, reason } => {
                let reason = format!("{reason}: `{}`", Shown(&value));
                (Some(column), short(&value), reason)
            }
        };
        let members = Members::read(record).map(|members| members.0).unwrap_or_default();
        let cells = members.iter().map(|(name, value)| (name.to_string(), Some(short(value.get())))).collect();
        RowFault { place: InputLocation::Line(line), column, value: Some(value), reason, cells }
    }
}

/// The members of an object, in its own order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    fn read(record: &'a str) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(record);
        let members = deserializer.deserialize_map(MembersVisitor)?;
        deserializer.end()?;
        Ok(members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::with_capacity(map.size_hint().unwrap_or(16));
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// A member's name, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests;
