//! Checks a CSV file before polars reads it, because polars silently fills short records, renames repeated columns, and
//! guesses at broken quoting.

use super::declaration::InputDeclaration;
use super::error::MappingError;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The parts of a CSV file that polars needs to know.
pub(super) struct CsvOutline {
    pub(super) header: Vec<String>,
    /// The numbers, counted from 1, of the rows that polars makes of empty lines.
    pub(super) blank: BTreeSet<u64>,
}

/// Checks that a file is UTF-8, well quoted, and has as many cells in every record as in its header.
pub(super) fn check(path: &Path, input: &InputDeclaration, separator: u8) -> Result<CsvOutline, MappingError> {
    let failed = |source| MappingError::Io { path: path.to_owned(), source };
    let refused = |reason: String| MappingError::File { path: path.to_owned(), reason };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let (mut bytes, mut line, mut records) = (Vec::new(), 0_u64, RecordScanner::new(separator, input.header.is_none()));
    while reader.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
        line += 1;
        let text = std::str::from_utf8(&bytes).map_err(|_| refused(format!("line {line} is not UTF-8")))?;
        let text = if line == 1 { text.trim_start_matches('\u{feff}') } else { text };
        records.read(text, line).map_err(refused)?;
        bytes.clear();
    }
    let (first, blank) = records.finish().map_err(refused)?;
    let header = match (&input.header, first) {
        (Some(header), Some(first)) if header.len() != first.len() => {
            let reason =
                format!("the mapping's header has {} columns, but the first line has {}", header.len(), first.len());
            return Err(refused(reason));
        }
        (Some(header), _) => header.clone(),
        (None, Some(first)) => first,
        (None, None) => return Err(refused("expected a header, but the file is empty".to_owned())),
    };
    let mut names = BTreeSet::new();
    match header.iter().find(|name| !names.insert(*name)) {
        Some(twice) => Err(refused(format!("the header has the column `{twice}` twice"))),
        None => Ok(CsvOutline { header, blank }),
    }
}

/// Scans records line by line.
struct RecordScanner {
    separator: char,
    /// The cells of the first record, once it has ended.
    first: Option<Vec<String>>,
    /// The cells of the current record. Only those of the first record have their texts.
    cells: Vec<String>,
    /// The line of the quote that is open.
    open: Option<u64>,
    /// The number of rows so far, including empty lines; `None` before the header.
    rows: Option<u64>,
    blank: BTreeSet<u64>,
}

impl RecordScanner {
    const fn new(separator: u8, has_header: bool) -> Self {
        let rows = if has_header { None } else { Some(0) };
        let separator = separator as char;
        Self { separator, first: None, cells: Vec::new(), open: None, rows, blank: BTreeSet::new() }
    }

    /// Takes a line with its line end. A quoted cell may continue on the next line.
    fn read(&mut self, text: &str, line: u64) -> Result<(), String> {
        let end = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        let mut rest = end;
        if self.open.is_some() {
            match self.quoted(text, line)? {
                Some(after) => rest = after,
                None => return Ok(()),
            }
        } else if end.is_empty() {
            if let Some(rows) = &mut self.rows {
                *rows += 1;
                self.blank.insert(*rows);
            }
            return Ok(());
        } else {
            self.cells.push(String::new());
        }
        loop {
            // A cell has begun. `rest` begins with its text, or follows its closing quote.
            if let Some(quoted) = rest.strip_prefix('"') {
                self.open = Some(line);
                let from = text.len() - end.len() + quoted.len();
                match self.quoted(&text[text.len() - from..], line)? {
                    Some(after) => rest = after,
                    None => return Ok(()),
                }
            } else if !rest.starts_with(self.separator) && !rest.is_empty() {
                let length = rest.find([self.separator, '"']).unwrap_or(rest.len());
                if rest[length..].starts_with('"') {
                    return Err(format!("line {line} has a quote inside a cell that is not quoted"));
                }
                self.add(&rest[..length]);
                rest = &rest[length..];
            }
            match rest.strip_prefix(self.separator) {
                Some(after) => {
                    self.cells.push(String::new());
                    rest = after;
                }
                None => return self.end(line),
            }
        }
    }

    /// Takes text inside quotes. Returns the rest of the line after the closing quote, or `None` if the line has none.
    fn quoted<'a>(&mut self, text: &'a str, line: u64) -> Result<Option<&'a str>, String> {
        let mut rest = text;
        loop {
            let Some((inside, after)) = rest.split_once('"') else {
                self.add(rest);
                return Ok(None);
            };
            self.add(inside);
            if let Some(doubled) = after.strip_prefix('"') {
                self.add("\"");
                rest = doubled;
                continue;
            }
            self.open = None;
            let after = after.trim_end_matches(['\n', '\r']);
            if !after.is_empty() && !after.starts_with(self.separator) {
                return Err(format!("line {line} has text after a closing quote"));
            }
            return Ok(Some(after));
        }
    }

    fn add(&mut self, text: &str) {
        if let (None, Some(cell)) = (&self.first, self.cells.last_mut()) {
            cell.push_str(text);
        }
    }

    fn end(&mut self, line: u64) -> Result<(), String> {
        let cells = std::mem::take(&mut self.cells);
        self.rows = Some(self.rows.map_or(0, |rows| rows + 1));
        match &self.first {
            None => self.first = Some(cells),
            Some(first) if first.len() != cells.len() => {
                return Err(format!("line {line} has {} cells, but the first line has {}", cells.len(), first.len()));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Returns the cells of the first record, if there is one, and the numbers of empty lines.
    fn finish(self) -> Result<(Option<Vec<String>>, BTreeSet<u64>), String> {
        match self.open {
            Some(line) => Err(format!("line {line} has a quote that is never closed")),
            None => Ok((self.first, self.blank)),
        }
    }
}
