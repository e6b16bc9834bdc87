//! Decodes comma-separated text as RFC 4180 defines it.
//!
//! Common CSV readers guess if quoting is broken: a quote that is never closed swallows the rest of the file, and text
//! after a closing quote becomes part of the cell. Here both are errors that name the line.

use super::decoded::{DecodedBatch, MalformedRecords, ReadLimits, RowLocations};
use super::text_blocks::{TextBlock, count_lines};
use crate::error::InputFault;
use crate::row_fault::{InputLocation, RowFault, shortened};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hashbrown::HashSet;
use std::borrow::Cow;
use std::sync::Arc;

/// Reads the header of the first block. Returns the columns, all of them text, and the block of the rows that follow.
pub(crate) fn read_header(block: &TextBlock) -> Result<(SchemaRef, TextBlock), InputFault> {
    let mut records = CsvRecords::new(block.text()?, block.line);
    let mut cells = Vec::new();
    let Some(line) = records.read(&mut cells)? else { return Err(InputFault::NoHeader) };
    let mut names = HashSet::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        if cell.is_empty() {
            return Err(InputFault::NamelessColumn { line, at: at + 1 });
        }
        if !names.insert(cell.as_ref()) {
            return Err(InputFault::RepeatedColumn { line, name: cell.to_string() });
        }
    }
    let fields: Vec<Field> = cells.iter().map(|cell| Field::new(cell.as_ref(), DataType::Utf8, true)).collect();
    let rows = block.bytes[block.bytes.len() - records.rest().len()..].to_vec();
    Ok((Arc::new(Schema::new(fields)), TextBlock { bytes: rows, line: records.line }))
}

/// The rows of a block, batch by batch.
pub(crate) struct CsvDecoder {
    text: String,
    /// Where the next record begins, and its line.
    at: usize,
    line: u64,
    schema: SchemaRef,
    limits: ReadLimits,
}

impl CsvDecoder {
    pub(crate) fn new(block: TextBlock, schema: SchemaRef, limits: ReadLimits) -> Result<Self, InputFault> {
        let line = block.line;
        Ok(Self { text: block.into_text()?, at: 0, line, schema, limits })
    }

    /// Returns the next rows, or `None` after the last. An empty cell is null.
    pub(crate) fn next(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
        if self.at == self.text.len() {
            return Ok(None);
        }
        let mut records = CsvRecords { text: &self.text, at: self.at, line: self.line };
        let width = self.schema.fields().len();
        let mut builders: Vec<StringBuilder> = (0..width).map(|_| StringBuilder::new()).collect();
        let (mut lines, mut malformed) = (Vec::new(), MalformedRecords::default());
        let mut cells = Vec::with_capacity(width);
        let fatal = loop {
            if lines.len() >= self.limits.rows || malformed.is_full() {
                break None;
            }
            let line = match records.read(&mut cells) {
                Ok(Some(line)) => line,
                Ok(None) => break None,
                Err(fault) => {
                    // After a broken quote it is unknown where records begin.
                    records.at = self.text.len();
                    break Some(fault);
                }
            };
            if cells.len() != width {
                malformed.push(wrong_width(line, &cells, &self.schema, self.limits.max_text_bytes));
                continue;
            }
            lines.push(line);
            for (cell, builder) in cells.iter().zip(&mut builders) {
                if cell.is_empty() { builder.append_null() } else { builder.append_value(cell) }
            }
        };
        (self.at, self.line) = (records.at, records.line);
        let columns = builders.iter_mut().map(|builder| Arc::new(builder.finish()) as ArrayRef).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| InputFault::Schema(error.to_string()))?;
        Ok(Some(DecodedBatch { batch, locations: RowLocations::Lines(lines), malformed: malformed.faults, fatal }))
    }
}

fn wrong_width(line: u64, cells: &[Cow<'_, str>], schema: &SchemaRef, longest: usize) -> RowFault {
    let names = schema.fields().iter().map(|field| field.name().clone()).chain(std::iter::repeat(String::new()));
    RowFault {
        location: InputLocation::Line(line),
        column: None,
        value: None,
        reason: format!("expected {} cells as in the header, but found {}", schema.fields().len(), cells.len()),
        cells: names.zip(cells.iter().map(|cell| Some(shortened(cell, longest).to_owned()))).collect(),
    }
}

/// The records of a text, read one after the other.
struct CsvRecords<'a> {
    text: &'a str,
    at: usize,
    /// The physical line of `at`.
    line: u64,
}

impl<'a> CsvRecords<'a> {
    fn new(text: &'a str, line: u64) -> Self {
        Self { text, at: 0, line }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads the next record that is not an empty line. Returns the line on which it begins, or `None` at the end.
    fn read(&mut self, cells: &mut Vec<Cow<'a, str>>) -> Result<Option<u64>, InputFault> {
        cells.clear();
        loop {
            match self.rest().as_bytes() {
                [] => return Ok(None),
                [b'\n', ..] => self.at += 1,
                [b'\r', b'\n', ..] => self.at += 2,
                _ => break,
            }
            self.line += 1;
        }
        let line = self.line;
        while self.read_cell(cells)? {}
        Ok(Some(line))
    }

    /// Reads a cell and the comma or line end after it. Returns whether the record has another cell.
    fn read_cell(&mut self, cells: &mut Vec<Cow<'a, str>>) -> Result<bool, InputFault> {
        let rest = self.rest();
        if let Some(quoted) = rest.strip_prefix('"') {
            let (cell, length) = self.unquote(quoted)?;
            cells.push(cell);
            self.at += 1 + length;
        } else {
            let bytes = rest.as_bytes();
            let length = bytes.iter().position(|byte| matches!(byte, b',' | b'\n' | b'"')).unwrap_or(bytes.len());
            if bytes.get(length) == Some(&b'"') {
                return Err(
                    self.broken("a quote inside a cell that is not quoted; quote the cell and double the quote")
                );
            }
            let ended_by_line = bytes.get(length) != Some(&b',');
            let cell = &rest[..length];
            // A carriage return before the line feed belongs to the line end.
            let cell = if ended_by_line { cell.strip_suffix('\r').unwrap_or(cell) } else { cell };
            cells.push(Cow::Borrowed(cell));
            self.at += length;
        }
        match self.rest().as_bytes() {
            [b',', ..] => {
                self.at += 1;
                Ok(true)
            }
            [b'\n', ..] => self.end_record(1),
            [b'\r', b'\n', ..] => self.end_record(2),
            [] | [b'\r'] => {
                self.at = self.text.len();
                Ok(false)
            }
            _ => Err(self.broken("text after a closing quote; a quote inside a quoted cell is written twice")),
        }
    }

    fn end_record(&mut self, length: usize) -> Result<bool, InputFault> {
        self.at += length;
        self.line += 1;
        Ok(false)
    }

    /// Returns the cell that follows an opening quote, and its length in the file including the closing quote.
    fn unquote(&mut self, quoted: &'a str) -> Result<(Cow<'a, str>, usize), InputFault> {
        let (mut from, mut doubled) = (0, false);
        let end = loop {
            let Some(at) = quoted[from..].find('"') else {
                return Err(self.broken("a quote is opened and never closed"));
            };
            let at = from + at;
            if quoted.as_bytes().get(at + 1) != Some(&b'"') {
                break at;
            }
            doubled = true;
            from = at + 2;
        };
        let cell = &quoted[..end];
        self.line += count_lines(cell.as_bytes());
        let cell = if doubled { Cow::Owned(cell.replace("\"\"", "\"")) } else { Cow::Borrowed(cell) };
        Ok((cell, end + 1))
    }

    fn broken(&self, what: &'static str) -> InputFault {
        InputFault::Record { line: self.line, what }
    }
}
