//! Decodes comma-separated text as RFC 4180 defines it, with any separator.
//!
//! If quoting is broken, common CSV readers guess: a quote that is never closed swallows the rest of the file, and text
//! after a closing quote becomes part of the cell. Here both are errors that name the line.

use super::{Content, FileFormat, Setting};
use crate::error::{FileFault, InputLocation, RowCells, RowFault, Rule, shortened};
use crate::source::chunk::{FormatReader, ReadFault};
use crate::source::columns::text_schema;
use crate::source::compression::unpacked_name;
use crate::source::decoded::{DecodedBatch, MalformedRecords, ReadLimits, RowLocations};
use crate::source::header::{FileHead, HeadLine, HeaderRow};
use crate::source::input::{Input, ReadOptions};
use crate::source::left_out::LeftOutCount;
use crate::source::text_blocks::{TextBlock, count_lines};
use crate::source::text_input::{BlockText, InputBlocks, TextInput, TextRows};
use crate::table::Table;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use hashbrown::HashSet;
use std::borrow::Cow;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

impl FileFormat {
    /// Cells that are separated by commas or by another character.
    pub const CSV: Self = Self {
        name: "csv",
        endings: &["csv", TABS_ENDING, "txt"],
        other_names: &[],
        title: "CSV",
        settings: &[
            Setting::Separator,
            Setting::Header,
            Setting::HeaderRow,
            Setting::ShortRows,
            Setting::Empty,
            Setting::Encoding,
        ],
        // Anything may be the first line of CSV, so that nothing shows it.
        content: Content::Text { begins: |_| false, open },
    };
}

/// The ending of files whose cells are separated by tabs.
const TABS_ENDING: &str = "tsv";

/// Returns what separates cells, as the name of a file says it.
pub(crate) fn named_separator(name: &Path) -> u8 {
    let name = unpacked_name(name);
    if name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(TABS_ENDING)) { b'\t' } else { b',' }
}

/// Returns a character as the byte that separates cells; `None` if it is not ASCII, or is a quote, a line end or NUL.
pub(crate) fn separator(char: char) -> Option<u8> {
    u8::try_from(char).ok().filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0))
}

/// The bytes of a text in which a header is looked for at first, and at most.
const HEAD_BYTES: (usize, usize) = (64 << 10, 4 << 20);

/// Finds the header at the beginning of a text, and passes over the lines before it. They need not be CSV.
fn pass_titles(text: &mut TextInput, rule: &HeaderRow, separator: u8) -> Result<FileHead, ReadFault> {
    let (mut head, mut wanted) = (Vec::new(), HEAD_BYTES.0);
    let (lines, starts) = loop {
        let missing = wanted - head.len();
        text.reader.by_ref().take(missing as u64).read_to_end(&mut head)?;
        let is_whole = head.len() < wanted;
        let (lines, starts) = head_lines(&head, is_whole, separator, rule);
        if is_whole || wanted >= HEAD_BYTES.1 || !rule.needs_more(&lines) {
            break (lines, starts);
        }
        wanted *= 2;
    };
    let mut found = FileHead::default();
    let mut rest = 0;
    // A text without a line has no header; what reads the header says so.
    if !lines.is_empty() {
        let at;
        (at, found) = rule.find(&lines)?;
        rest = starts[at];
        text.line = lines[at].number;
    }
    text.skipped += rest;
    let reader = std::mem::replace(&mut text.reader, Box::new(io::empty()));
    text.reader = Box::new(Cursor::new(head.split_off(rest)).chain(reader));
    Ok(found)
}

/// Returns the lines that are not blank at the beginning of a text, as far as `rule` needs them, and where each begins.
/// A line with a broken quote is a single cell.
fn head_lines(head: &[u8], is_whole: bool, separator: u8, rule: &HeaderRow) -> (Vec<HeadLine>, Vec<usize>) {
    let sound = str::from_utf8(head).map_or_else(|error| error.valid_up_to(), str::len);
    let text = str::from_utf8(&head[..sound]).unwrap_or_default();
    // The last line may go on after what was read.
    let end = if is_whole { text.len() } else { text.rfind('\n').map_or(0, |at| at + 1) };
    let mut records = CsvRecords { text: &text[..end], at: 0, line: 1, separator, blank_lines: 0 };
    let (mut lines, mut starts, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    while rule.needs_more(&lines) && records.pass_empty_lines() {
        let (start, number) = (records.at, records.line);
        let cells = match records.read(&mut cells) {
            Ok(_) => cells.iter().map(ToString::to_string).collect(),
            Err(_) => {
                let line = text[start..end].split_inclusive('\n').next().unwrap_or_default();
                (records.at, records.line) = (start + line.len(), number + 1);
                vec![line.trim_end().to_owned()]
            }
        };
        if cells.iter().any(|cell: &String| !cell.trim().is_empty()) {
            lines.push(HeadLine { number, cells });
            starts.push(start);
        }
    }
    (lines, starts)
}

/// Reads the header of the first block. Returns the columns, all of them text, and the block of the rows that follow.
/// A separator `is_assumed` if nobody gave it.
fn read_header(block: &TextBlock, separator: u8, is_assumed: bool) -> Result<(SchemaRef, TextBlock), FileFault> {
    let mut records = CsvRecords::new(block.text()?, block, separator);
    let mut cells = Vec::new();
    let line = records.read(&mut cells)?.ok_or(FileFault::NoHeader)?;
    let location = InputLocation::Line(line);
    if let ([cell], true) = (cells.as_slice(), is_assumed) {
        check_separator(cell, separator)?;
    }
    let mut names = HashSet::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        if cell.is_empty() {
            return Err(FileFault::NamelessColumn { location, at: at + 1 });
        }
        // Without this, a file whose lines end in carriage returns alone would be a header without rows.
        if cell.contains('\r') && !cell.contains('\n') {
            let what = "a column name has a carriage return; end each line with a line feed";
            return Err(FileFault::Record { line, what });
        }
        if !names.insert(cell.as_ref()) {
            return Err(FileFault::RepeatedColumn { location, name: cell.to_string() });
        }
    }
    let rows = block.bytes[block.bytes.len() - records.rest().len()..].to_vec();
    let offset = block.offset + (block.bytes.len() - rows.len()) as u64;
    Ok((text_schema(&cells), TextBlock { bytes: rows, line: records.line, offset }))
}

/// Refuses a header of one column that has other separators.
fn check_separator(header: &str, separator: u8) -> Result<(), FileFault> {
    let count = |candidate: u8| header.bytes().filter(|byte| *byte == candidate).count();
    let others: Vec<(char, usize)> = b",;\t|"
        .iter()
        .copied()
        .filter(|candidate| *candidate != separator)
        .map(|candidate| (char::from(candidate), count(candidate)))
        .collect();
    let most = others.iter().copied().max_by_key(|(_, count)| *count);
    match most.filter(|(_, count)| *count > 0) {
        Some((candidate, _)) => {
            Err(FileFault::OtherSeparator { assumed: char::from(separator), found: others, candidate })
        }
        None => Ok(()),
    }
}

/// Checks the first record of a file without a header, which has the columns `header`. Returns the columns, all of them
/// text.
fn check_first(block: &TextBlock, separator: u8, header: &[String]) -> Result<SchemaRef, FileFault> {
    let mut cells = Vec::new();
    let first = CsvRecords::new(block.text()?, block, separator).read(&mut cells)?;
    if first.is_some() && cells.len() != header.len() {
        return Err(FileFault::OtherWidth { expected: header.len(), found: cells.len() });
    }
    Ok(text_schema(header))
}

/// Reads the header from the first block, unless the columns are given.
fn open(mut text: TextInput, input: &Input, limits: ReadLimits) -> Result<FormatReader, ReadFault> {
    let options = &input.options;
    let separator = options.separator.unwrap_or_else(|| named_separator(&input.shown));
    let head = match &options.header_row {
        Some(rule) if options.header.is_none() => pass_titles(&mut text, rule, separator)?,
        _ => FileHead::default(),
    };
    let mut blocks = InputBlocks::new(text, true, InputLocation::Line, limits);
    let first = blocks.next().transpose()?.ok_or(FileFault::NoHeader)?;
    let (schema, first) = match &options.header {
        Some(header) => (check_first(&first, separator, header)?, first),
        None => read_header(&first, separator, options.separator.is_none())?,
    };
    let left_out = LeftOutCount::new(options, head.title_lines);
    let format = CsvFormat { schema: schema.clone(), separator, options: options.clone(), left_out };
    Ok(blocks.reader(Some(schema), head, Some(first), format))
}

/// The columns of a file, and how it is written.
struct CsvFormat {
    schema: SchemaRef,
    separator: u8,
    options: Arc<ReadOptions>,
    left_out: LeftOutCount,
}

impl TextRows for CsvFormat {
    /// An empty cell is null, and so is one that the options list as empty.
    fn decode(&self, block: &mut BlockText, _: Table, limits: ReadLimits) -> Result<DecodedBatch, FileFault> {
        let Self { schema, separator, options, left_out } = self;
        let mut records =
            CsvRecords { text: &block.text, at: block.at, line: block.line, separator: *separator, blank_lines: 0 };
        let (is_mapped, mut short_rows) = (options.columns.is_some(), 0);
        let width = schema.fields().len();
        let means_nothing = |cell: &str| cell.is_empty() || options.empty.iter().any(|empty| empty == cell);
        let mut builders: Vec<StringBuilder> = (0..width).map(|_| StringBuilder::new()).collect();
        let (mut lines, mut malformed) = (Vec::new(), MalformedRecords::default());
        let mut cells = Vec::with_capacity(width);
        let fatal = loop {
            if lines.len() >= limits.rows || malformed.is_full() {
                break None;
            }
            let line = match records.read(&mut cells) {
                Ok(Some(line)) => line,
                Ok(None) => break None,
                Err(fault) => {
                    // After a broken quote it is unknown where records begin.
                    records.at = block.text.len();
                    break Some(fault);
                }
            };
            // Programs write blank lines with all their separators, too. An empty cell alone may be a quoted one.
            if is_mapped && cells.len() > 1 && cells.iter().all(|cell| cell.trim().is_empty()) {
                records.blank_lines += 1;
                continue;
            }
            if cells.len() != width {
                if cells.len() < width && options.skips_short_rows {
                    short_rows += 1;
                } else {
                    malformed.push(wrong_width(line, &cells, schema, is_mapped, limits.max_text_bytes));
                }
                continue;
            }
            lines.push(line);
            for (cell, builder) in cells.iter().zip(&mut builders) {
                if means_nothing(cell) { builder.append_null() } else { builder.append_value(cell) }
            }
        };
        (block.at, block.line) = (records.at, records.line);
        left_out.add(records.blank_lines, short_rows);
        let columns = builders.iter_mut().map(|builder| Arc::new(builder.finish()) as ArrayRef).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(|error| FileFault::Unreadable(Box::new(error)))?;
        let decoded = DecodedBatch::new(batch, RowLocations::Lines(lines));
        Ok(DecodedBatch { malformed: malformed.faults, fatal, ..decoded })
    }
}

/// Returns the fault of a record with too few or too many cells. If a mapping reads the file, the fault names its key
/// for files with such lines.
fn wrong_width(line: u64, cells: &[Cow<'_, str>], schema: &SchemaRef, is_mapped: bool, longest: usize) -> RowFault {
    let names = schema.fields().iter().map(|field| field.name().clone()).chain(std::iter::repeat(String::new()));
    let expected = schema.fields().len();
    let hint = match cells.len() {
        _ if !is_mapped => String::new(),
        found if found < expected => {
            "; if such lines are no rows, as below the last one, write `short_rows = \"skip\"` for this input"
                .to_owned()
        }
        _ => format!("; if this line is the header, write `header_row = {line}` for this input"),
    };
    RowFault {
        location: InputLocation::Line(line),
        column: None,
        value: None,
        rule: Rule::CellCount(expected),
        found: format!(", but found {}{hint}", cells.len()),
        cells: RowCells::Strings(
            names.zip(cells.iter().map(|cell| Some(shortened(cell, longest).to_owned()))).collect(),
        ),
        joined: None,
        totals: None,
    }
}

/// The records of a text, read one after the other.
struct CsvRecords<'a> {
    text: &'a str,
    at: usize,
    /// The physical line of `at`.
    line: u64,
    separator: u8,
    /// The blank lines so far.
    blank_lines: u64,
}

impl<'a> CsvRecords<'a> {
    fn new(text: &'a str, block: &TextBlock, separator: u8) -> Self {
        Self { text, at: 0, line: block.line, separator, blank_lines: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads the next record that is not an empty line. Returns the line on which it begins, or `None` at the end.
    fn read(&mut self, cells: &mut Vec<Cow<'a, str>>) -> Result<Option<u64>, FileFault> {
        cells.clear();
        if !self.pass_empty_lines() {
            return Ok(None);
        }
        let line = self.line;
        while self.read_cell(cells)? {}
        Ok(Some(line))
    }

    /// Passes over empty lines. Returns whether a record follows.
    fn pass_empty_lines(&mut self) -> bool {
        loop {
            match self.rest().as_bytes() {
                [] => return false,
                [b'\n', ..] => self.at += 1,
                [b'\r', b'\n', ..] => self.at += 2,
                _ => return true,
            }
            self.line += 1;
            self.blank_lines += 1;
        }
    }

    /// Reads a cell and the separator or line end after it. Returns whether the record has another cell.
    fn read_cell(&mut self, cells: &mut Vec<Cow<'a, str>>) -> Result<bool, FileFault> {
        let (rest, separator) = (self.rest(), self.separator);
        if let Some(quoted) = rest.strip_prefix('"') {
            let (cell, length) = self.unquote(quoted)?;
            cells.push(cell);
            self.at += 1 + length;
        } else {
            let bytes = rest.as_bytes();
            let length =
                bytes.iter().position(|byte| matches!(byte, b'\n' | b'"') || *byte == separator).unwrap_or(bytes.len());
            if bytes.get(length) == Some(&b'"') {
                return Err(
                    self.broken("a quote inside a cell that is not quoted; quote the cell and double the quote")
                );
            }
            let ended_by_line = bytes.get(length) != Some(&separator);
            let cell = &rest[..length];
            // A carriage return before the line feed belongs to the line end.
            let cell = if ended_by_line { cell.strip_suffix('\r').unwrap_or(cell) } else { cell };
            cells.push(Cow::Borrowed(cell));
            self.at += length;
        }
        match self.rest().as_bytes() {
            [first, ..] if *first == separator => {
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

    /// Passes the line end of a record, which has `length` bytes. Returns false, because the record has no other cell.
    fn end_record(&mut self, length: usize) -> Result<bool, FileFault> {
        self.at += length;
        self.line += 1;
        Ok(false)
    }

    /// Returns the cell that follows an opening quote, and its length in the file including the closing quote.
    fn unquote(&mut self, quoted: &'a str) -> Result<(Cow<'a, str>, usize), FileFault> {
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

    /// Returns the fault of a file in which it is unknown where records end.
    fn broken(&self, what: &'static str) -> FileFault {
        FileFault::Record { line: self.line, what }
    }
}

#[cfg(test)]
mod tests;
