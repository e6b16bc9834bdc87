//! Decodes NDJSON: one JSON object per line.
//!
//! Every value becomes text: a text without its quotes and escapes, `true`, `false` and whole numbers (except `-0`) as
//! written, other numbers as ECMAScript writes them (amounts, and for a mapping all numbers, keep their digits if they
//! have no exponent, and are otherwise written without it). A column may therefore mix types, and its type need not be
//! known before the last line is read. For a mapping, [`value_marks`] say which cells are not texts in the file.

mod json_array;

use super::{Content, FileFormat, Setting};
use crate::error::{CellText, FileFault, InputLocation, RowCells, RowFault, Rule, shortened};
use crate::source::chunk::{FormatReader, ReadFault};
use crate::source::decoded::{DecodedBatch, MalformedRecords, ReadLimits, RowLocations};
use crate::source::header::FileHead;
use crate::source::input::{Input, ReadOptions};
use crate::source::text_input::{BlockText, InputBlocks, TextInput, TextRows};
use crate::table::Table;
use crate::value_marks::value_marks;
use arrow_array::builder::{ArrayBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use hashbrown::{HashMap, HashSet};
use json_array::JsonArray;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use trueup_core::Shown;

impl FileFormat {
    /// A JSON object on each line, or a JSON array of objects.
    pub const NDJSON: Self = Self {
        name: "ndjson",
        endings: &["ndjson", "jsonl", "json"],
        other_names: &["jsonl", "json"],
        title: "NDJSON",
        settings: &[Setting::Encoding],
        content: Content::Text { begins, open },
    };
}

fn begins(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{") || json_array::begins(text)
}

/// A column may first occur in the last object, so that the file declares none.
fn open(mut text: TextInput, input: &Input, limits: ReadLimits) -> Result<FormatReader, ReadFault> {
    let is_array = json_array::begins(&text.begin);
    if is_array {
        text.reader = Box::new(JsonArray::new(text.reader));
    }
    let format = NdjsonFormat { options: input.options.clone(), is_array };
    Ok(InputBlocks::new(text, false, location(is_array), limits).reader(None, FileHead::default(), None, format))
}

/// How the objects of a file are read.
struct NdjsonFormat {
    options: Arc<ReadOptions>,
    /// Whether each line is an element of a JSON array, whose lines in the file are not known.
    is_array: bool,
}

/// Returns what makes a location of a line, which is an element if the file is a JSON array.
const fn location(is_array: bool) -> fn(u64) -> InputLocation {
    if is_array { InputLocation::Record } else { InputLocation::Line }
}

impl TextRows for NdjsonFormat {
    /// A JSON null, an empty text, and a missing member are null.
    fn decode(&self, block: &mut BlockText, table: Table, limits: ReadLimits) -> Result<DecodedBatch, FileFault> {
        let mut builder = BatchBuilder::new(table, &self.options, limits.max_columns);
        let (mut lines, mut malformed, mut fatal) = (Vec::new(), MalformedRecords::default(), None);
        while lines.len() < limits.rows && builder.cells() < limits.cells() && !malformed.is_full() {
            let Some(text) = block.text[block.at..].split_inclusive('\n').next() else { break };
            let (record, line) = (text.trim_end_matches(['\r', '\n']), block.line);
            block.at += text.len();
            block.line += 1;
            if record.trim_ascii().is_empty() {
                continue;
            }
            let pushed = Members::read(record)
                .map_err(|error| RecordFault::Row(MalformedRecord::NotAnObject(error)))
                .and_then(|members| builder.push(&members));
            match pushed {
                Ok(()) => lines.push(line),
                Err(RecordFault::Row(fault)) => {
                    let location = location(self.is_array)(line);
                    malformed.push(fault.at(location, record, limits.max_text_bytes));
                }
                Err(RecordFault::File(fault)) => {
                    block.at = block.text.len();
                    fatal = Some(fault);
                }
            }
        }
        let batch = builder.finish().map_err(|error| FileFault::Unreadable(Box::new(error)))?;
        let locations = if self.is_array { RowLocations::Records(lines) } else { RowLocations::Lines(lines) };
        Ok(DecodedBatch { batch, locations, malformed: malformed.faults, fatal, outcomes: Box::default() })
    }

    /// Lines that are not objects have no members.
    fn names(&self, text: &str) -> Vec<String> {
        let mut seen = HashSet::new();
        for record in text.lines() {
            for (name, _) in Members::read(record).map(|members| members.0).unwrap_or_default() {
                if !seen.contains(name.as_ref()) {
                    seen.insert(name.into_owned());
                }
            }
        }
        seen.into_iter().collect()
    }
}

/// The columns of a batch while its objects are read.
struct BatchBuilder<'o> {
    /// The canonical table that the rows belong to, unless `options` names columns.
    table: Table,
    options: &'o ReadOptions,
    columns: Vec<ColumnBuilder>,
    /// Indexes in `columns`, by name.
    indexes: HashMap<String, usize>,
    max_columns: usize,
    rows: usize,
    /// Objects so far, including malformed ones.
    objects: usize,
}

struct ColumnBuilder {
    name: String,
    /// The cells of the rows up to the last row that has a value in this column.
    texts: StringBuilder,
    /// The rows whose cells are not texts in the file, but numbers, booleans or null; only for a mapping.
    values: Vec<usize>,
    /// The number of the last object that has a member of this name.
    last_object: usize,
}

impl<'o> BatchBuilder<'o> {
    /// Begins with the columns that every batch has, even if no object has such a member.
    fn new(table: Table, options: &'o ReadOptions, max_columns: usize) -> Self {
        let (columns, indexes) = (Vec::new(), HashMap::new());
        let mut builder = Self { table, options, columns, indexes, max_columns, rows: 0, objects: 0 };
        let required: Vec<&str> = match &options.columns {
            Some(columns) => columns.iter().map(String::as_str).collect(),
            None => table.required().to_vec(),
        };
        for name in required.into_iter().filter(|name| !options.is_of_folder(name)) {
            builder.add(name);
        }
        builder
    }

    /// Returns whether numbers of a column that have a point and no exponent stay as written, because a double does not
    /// hold all their digits.
    fn is_exact(&self, name: &str) -> bool {
        self.options.columns.is_some() || self.table.amounts().contains(&name)
    }

    /// Returns the number of cells so far, including empty ones.
    fn cells(&self) -> usize {
        self.columns.len() * self.rows
    }

    /// Finds a column by name. Tries `hint` first, because objects usually list their members in the same order.
    fn find(&self, name: &str, hint: usize) -> Option<usize> {
        if self.columns.get(hint).is_some_and(|column| column.name == name) {
            return Some(hint);
        }
        self.indexes.get(name).copied()
    }

    fn add(&mut self, name: &str) -> usize {
        let at = self.columns.len();
        self.indexes.insert(name.to_owned(), at);
        self.columns.push(ColumnBuilder {
            name: name.to_owned(),
            texts: StringBuilder::new(),
            values: Vec::new(),
            last_object: 0,
        });
        at
    }

    /// Adds an object as a row. An object that is malformed or has too many new members adds nothing, because all its
    /// cells are rendered before the first is added.
    fn push(&mut self, members: &Members<'_>) -> Result<(), RecordFault> {
        self.objects += 1;
        let mut cells = Vec::with_capacity(members.0.len());
        let mut new = HashSet::new();
        let mut hint = 0;
        for (name, value) in &members.0 {
            if name.is_empty() {
                return Err(RecordFault::Row(MalformedRecord::NamelessMember));
            }
            if !self.options.decodes(name) {
                continue;
            }
            let index = self.find(name, hint);
            let is_repeated = match index {
                Some(at) => {
                    hint = at + 1;
                    std::mem::replace(&mut self.columns[at].last_object, self.objects) == self.objects
                }
                None => !new.insert(name.as_ref()),
            };
            if is_repeated {
                return Err(RecordFault::Row(MalformedRecord::RepeatedMember(name.to_string())));
            }
            let cell = render(value.get(), self.is_exact(name)).map_err(|reason| {
                let (column, value) = (name.to_string(), value.get().to_owned());
                RecordFault::Row(MalformedRecord::Value { column, value, reason })
            })?;
            cells.push((index, name, cell, !value.get().starts_with('"')));
        }
        if self.columns.len() + new.len() > self.max_columns {
            return Err(RecordFault::File(FileFault::ManyColumns(self.max_columns)));
        }
        let marks_values = self.options.columns.is_some();
        for (index, name, cell, is_value) in cells {
            let at = index.unwrap_or_else(|| self.add(name));
            let column = &mut self.columns[at];
            if marks_values && is_value {
                column.values.push(self.rows);
            }
            pad(&mut column.texts, self.rows);
            column.texts.append_option(cell.filter(|cell| !cell.is_empty()));
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows;
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for ColumnBuilder { name, mut texts, values, .. } in self.columns {
            if !values.is_empty() {
                let mut marks = vec![false; rows];
                values.into_iter().for_each(|row| marks[row] = true);
                fields.push(Field::new(value_marks(&name), DataType::Boolean, false));
                columns.push(Arc::new(BooleanArray::from(marks)));
            }
            pad(&mut texts, rows);
            fields.push(Field::new(name, DataType::Utf8, true));
            columns.push(Arc::new(texts.finish()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}

/// Appends nulls to a column until it has `rows` cells.
fn pad(texts: &mut StringBuilder, rows: usize) {
    texts.append_nulls(rows.saturating_sub(texts.len()));
}

/// Returns a JSON value as text; `None` for null. An `exact` number without an exponent keeps all its digits.
fn render(value: &str, exact: bool) -> Result<Option<Cow<'_, str>>, &'static str> {
    match value.as_bytes() {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Ok(Some(Cow::Borrowed(&value[1..value.len() - 1]))),
        [b'"', ..] => serde_json::from_str(value).map(Some).map_err(|_| "expected a text, but found a broken escape"),
        [b'{', ..] => Err("expected a single value, but found an object"),
        [b'[', ..] => Err("expected a single value, but found an array"),
        [b'n', ..] => Ok(None),
        [b'-' | b'0'..=b'9', ..] => Ok(Some(render_number(value, exact))),
        _ => Ok(Some(Cow::Borrowed(value))),
    }
}

fn render_number(value: &str, exact: bool) -> Cow<'_, str> {
    let has_exponent = value.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    let is_whole = !has_exponent && !value.contains('.');
    if exact && !has_exponent || is_whole && value != "-0" {
        return Cow::Borrowed(value);
    }
    match value.parse::<f64>() {
        // Amounts have no exponent, whatever their size.
        Ok(number) if exact && number.is_finite() => Cow::Owned(number.to_string()),
        Ok(number) if number.is_finite() => Cow::Owned(ryu_js::Buffer::new().format(number).to_owned()),
        _ => Cow::Borrowed(value),
    }
}

/// The fault that a line reveals.
enum RecordFault {
    /// The line is not a row; the lines after it are read.
    Row(MalformedRecord),
    /// The file as a whole is at fault; nothing more of it is read.
    File(FileFault),
}

/// Why a line is not a row.
enum MalformedRecord {
    NotAnObject(serde_json::Error),
    NamelessMember,
    RepeatedMember(String),
    Value { column: String, value: String, reason: &'static str },
}

impl MalformedRecord {
    fn at(self, location: InputLocation, record: &str, longest: usize) -> RowFault {
        let short = |text: &str| shortened(text, longest).to_owned();
        let (column, value, rule, found) = match self {
            Self::NotAnObject(error) => {
                (None, short(record), Rule::JsonObject, format!(": {}", Shown(&error.to_string())))
            }
            Self::NamelessMember => (None, short(record), Rule::MemberName, String::new()),
            Self::RepeatedMember(name) => {
                (None, short(record), Rule::RepeatedMember, format!(", but found `{}` twice", Shown(&name)))
            }
            Self::Value { column, value, reason } => {
                let found = format!(": `{}`", Shown(&value));
                (Some(column), short(&value), Rule::MemberValue(reason), found)
            }
        };
        let cells = RowCells::Strings(member_cells(record, longest));
        RowFault { location, column, value: Some(value), rule, found, cells, joined: None, totals: None }
    }
}

/// Returns the members of an object as texts, as those of a sound row are; an object or an array is as it is written.
/// Texts of more than `longest` bytes are shortened. A text that is no object has no members.
pub(crate) fn member_cells(record: &str, longest: usize) -> Vec<CellText> {
    let members = Members::read(record).map(|members| members.0).unwrap_or_default();
    let text = |value: &str| {
        let text = render(value, true).unwrap_or(Some(Cow::Borrowed(value)))?;
        Some(shortened(&text, longest).to_owned())
    };
    members.into_iter().map(|(name, value)| (name.into_owned(), text(value.get()))).collect()
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

/// A member's name, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests;
