//! One JSON object per line.
//!
//! Every value becomes text: words and whole numbers as written, other numbers as ECMAScript writes them. So a column may mix types,
//! and its type need not be known before the last line is read.

use super::blocks::Block;
use super::piece::{Piece, Places, text};
use crate::error::InputFault;
use crate::place::{Place, RowFault};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use trueup_core::Shown;

/// The rows of a block. `known` columns are there even if no object has them; `exact` ones keep a decimal number as it is written,
/// since a double could not hold all its digits.
pub(crate) fn parse(block: &Block, known: &[&str], exact: &[&str]) -> Result<Piece, InputFault> {
    let text = text(block)?;
    let mut table = Table { exact, columns: Vec::new(), rows: 0 };
    for name in known {
        table.column(name, 0);
    }
    let (mut lines, mut torn) = (Vec::new(), Vec::new());
    for (line, record) in (block.line..).zip(text.lines()).filter(|(_, record)| !record.trim_ascii().is_empty()) {
        match Members::read(record).map_err(Torn::NoObject).and_then(|members| table.push(&members)) {
            Ok(()) => lines.push(line),
            Err(fault) => torn.push(fault.at(line, record)),
        }
    }
    let batch = table.finish(lines.len()).map_err(|error| InputFault::Schema(error.to_string()))?;
    Ok(Piece { batch, places: Places::Lines(lines), torn, broken: None })
}

/// The columns met so far.
struct Table<'k> {
    exact: &'k [&'k str],
    columns: Vec<(String, StringBuilder)>,
    rows: usize,
}

impl Table<'_> {
    /// Where the column of that name stands; objects mostly name their members in the same order, so `hint` is tried first.
    fn column(&mut self, name: &str, hint: usize) -> usize {
        if self.columns.get(hint).is_some_and(|(known, _)| known == name) {
            return hint;
        }
        if let Some(at) = self.columns.iter().position(|(known, _)| known == name) {
            return at;
        }
        let mut builder = StringBuilder::new();
        builder.append_nulls(self.rows);
        self.columns.push((name.to_owned(), builder));
        self.columns.len() - 1
    }

    fn push(&mut self, members: &Members<'_>) -> Result<(), Torn> {
        // Rendered first: a row that is torn in the middle must leave nothing behind.
        let mut cells: Vec<(&str, Option<Cow<'_, str>>)> = Vec::with_capacity(members.0.len());
        for (name, value) in &members.0 {
            if name.is_empty() {
                return Err(Torn::Nameless);
            }
            if cells.iter().any(|(known, _)| known == name) {
                return Err(Torn::Repeated(name.to_string()));
            }
            let cell = render(value.get(), self.exact.contains(&name.as_ref())).map_err(|reason| Torn::Value {
                column: name.to_string(),
                value: value.get().to_owned(),
                reason,
            })?;
            cells.push((name, cell));
        }
        let mut hint = 0;
        for (name, cell) in cells {
            let at = self.column(name, hint);
            hint = at + 1;
            self.columns[at].1.append_option(cell.filter(|cell| !cell.is_empty()));
        }
        self.rows += 1;
        for (_, builder) in &mut self.columns {
            if arrow_array::builder::ArrayBuilder::len(builder) < self.rows {
                builder.append_null();
            }
        }
        Ok(())
    }

    fn finish(self, rows: usize) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = self
            .columns
            .into_iter()
            .map(|(name, mut builder)| (Field::new(name, DataType::Utf8, true), Arc::new(builder.finish()) as ArrayRef))
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
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

/// Why a line is no row.
enum Torn {
    NoObject(serde_json::Error),
    Nameless,
    Repeated(String),
    Value { column: String, value: String, reason: &'static str },
}

impl Torn {
    fn at(self, line: u64, record: &str) -> RowFault {
        let (column, value, reason) = match self {
            Self::NoObject(error) => {
                let reason = format!("expected a JSON object, but: {}", Shown(&error.to_string()));
                (None, record.to_owned(), reason)
            }
            Self::Nameless => (None, record.to_owned(), "a member has no name".to_owned()),
            Self::Repeated(name) => {
                (None, record.to_owned(), format!("the member `{}` stands there twice", Shown(&name)))
            }
            Self::Value { column, value, reason } => {
                let reason = format!("{reason}: `{}`", Shown(&value));
                (Some(column), value, reason)
            }
        };
        let members = Members::read(record).map(|members| members.0).unwrap_or_default();
        let cells = members.iter().map(|(name, value)| (name.to_string(), Some(value.get().to_owned()))).collect();
        RowFault { place: Place::Line(line), column, value: Some(value), reason, cells }
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
#[path = "ndjson_tests.rs"]
mod tests;
