//! Answers as JSON: numbers as ECMAScript writes them, keys in the order of the query's fields, no white space.
//!
//! Counts are integers. Money is in currency units, and ratios are doubles. A dimension without a value is the empty
//! text, and a ratio whose denominator is 0 is 0; only a number of a comparison that a row does not have is `null`. A
//! count above 2^53 is written as the nearest double, because ECMAScript has no other number.

#[cfg(feature = "service")]
mod response;
#[cfg(test)]
mod tests;
#[cfg(feature = "service")]
mod why;

#[cfg(feature = "service")]
pub(crate) use why::explanation;

use std::borrow::Borrow;
use std::io;
use trueup_core::{Column, Day, ResultTable, StringColumn, Values, money};

/// Writes the rows as one JSON array, like the body of an events response.
///
/// ```
/// use trueup::{Column, ResultTable, Values, json};
///
/// let table = ResultTable::from_columns(vec![
///     Column { name: "leads".to_owned(), values: Values::Counts(vec![12]) },
///     Column { name: "spend".to_owned(), values: Values::Money(vec![1_234_500_000]) },
/// ]);
/// let mut body = Vec::new();
/// json::write_rows(&table, &mut body)?;
/// assert_eq!(body, br#"[{"leads":12,"spend":1234.5}]"#);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Writing to `out` fails.
pub fn write_rows(table: &ResultTable, out: &mut impl io::Write) -> io::Result<()> {
    write(JsonRows::array(table), out)
}

/// Writes the rows as newline-delimited JSON, one object per line. An empty table writes nothing.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_ndjson(table: &ResultTable, out: &mut impl io::Write) -> io::Result<()> {
    let after: &[u8] = if table.is_empty() { b"" } else { b"\n" };
    write(JsonRows::new(table, Frame { before: Vec::new(), between: b"\n", after }), out)
}

fn write(mut rows: JsonRows<&ResultTable>, out: &mut impl io::Write) -> io::Result<()> {
    let mut chunk = Vec::new();
    while rows.next_chunk(&mut chunk) {
        out.write_all(&chunk)?;
    }
    Ok(())
}

/// How long a chunk gets, in bytes, before the next one begins.
const CHUNK_BYTES: usize = 1 << 16;

/// What is written before, between and after the rows.
struct Frame {
    /// Empty as soon as it is written.
    before: Vec<u8>,
    between: &'static [u8],
    after: &'static [u8],
}

/// The rows of a table, and how far they are written.
pub(crate) struct JsonRows<T> {
    table: T,
    writers: Vec<ColumnWriter>,
    frame: Frame,
    /// What is written for a ratio over nothing.
    nothing: &'static [u8],
    /// The next row; `None` at the end.
    next: Option<usize>,
}

impl<T: Borrow<ResultTable>> JsonRows<T> {
    /// Returns the rows as one array.
    pub(crate) fn array(table: T) -> Self {
        Self::new(table, Frame { before: b"[".to_vec(), between: b",", after: b"]" })
    }

    fn new(table: T, frame: Frame) -> Self {
        let writers = table.borrow().columns().iter().enumerate().map(ColumnWriter::new).collect();
        Self { table, writers, frame, nothing: b"0", next: Some(0) }
    }

    /// Replaces the contents of `chunk` by the next bytes. Returns false at the end.
    pub(crate) fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> bool {
        chunk.clear();
        let Some(first) = self.next else { return false };
        let table = self.table.borrow();
        chunk.append(&mut self.frame.before);
        for row in first..table.len() {
            if chunk.len() >= CHUNK_BYTES {
                self.next = Some(row);
                return true;
            }
            if row > 0 {
                chunk.extend_from_slice(self.frame.between);
            }
            chunk.push(b'{');
            for (writer, column) in self.writers.iter_mut().zip(table.columns()) {
                writer.write(column, row, self.nothing, chunk);
            }
            chunk.push(b'}');
        }
        chunk.extend_from_slice(self.frame.after);
        self.next = None;
        true
    }
}

/// Writes the key and value of one column, row by row.
struct ColumnWriter {
    /// The key, escaped, with the comma before it and the colon after it.
    key: Vec<u8>,
    /// The last day that was written, and its text.
    day: Option<(Day, Vec<u8>)>,
    texts: Escaped,
}

impl ColumnWriter {
    /// Returns the writer of a column, with the position of the column in the row.
    fn new((place, column): (usize, &Column)) -> Self {
        let mut key = Vec::new();
        if place > 0 {
            key.push(b',');
        }
        escape(&column.name, &mut key);
        key.push(b':');
        let texts = match &column.values {
            Values::Strings(texts) => Escaped::new(texts),
            _ => Escaped::default(),
        };
        Self { key, day: None, texts }
    }

    /// Writes one row of the writer's column. `nothing` is what a ratio over nothing becomes.
    fn write(&mut self, column: &Column, row: usize, nothing: &[u8], chunk: &mut Vec<u8>) {
        chunk.extend_from_slice(&self.key);
        match &column.values {
            Values::Days(days) => self.day(days[row], chunk),
            Values::Strings(texts) => self.texts.write(texts, row, chunk),
            Values::Counts(counts) => count(counts[row], chunk),
            Values::Money(amounts) => amount(amounts[row], chunk),
            Values::Ratios(ratios) => match ratios.get(row) {
                Some(ratio) => double(ratio, chunk),
                None => chunk.extend_from_slice(nothing),
            },
            Values::Integers(integers) => signed(integers[row], chunk),
            Values::Numbers(numbers) => match numbers[row] {
                Some(number) => double(number, chunk),
                None => chunk.extend_from_slice(b"null"),
            },
        }
    }

    /// Writes a day. The last text is reused, because rows of a sub-range mostly follow each other.
    fn day(&mut self, day: Day, chunk: &mut Vec<u8>) {
        match &self.day {
            Some((last, spelled)) if *last == day => chunk.extend_from_slice(spelled),
            _ => {
                let mut spelled = Vec::new();
                escape(&day.to_string(), &mut spelled);
                chunk.extend_from_slice(&spelled);
                self.day = Some((day, spelled));
            }
        }
    }
}

/// Writes a whole number that may be negative.
fn signed(number: i64, chunk: &mut Vec<u8>) {
    if number < 0 {
        chunk.push(b'-');
    }
    count(number.unsigned_abs(), chunk);
}

/// Writes a count.
fn count(count: u64, chunk: &mut Vec<u8>) {
    if count <= money::MAX_EXACT.unsigned_abs() {
        integer(count, chunk);
    } else {
        #[expect(clippy::cast_precision_loss, reason = "ECMAScript has no other number")]
        double(count as f64, chunk);
    }
}

/// Writes money in currency units. Whole amounts take the shorter path; the double would have the same text.
fn amount(micros: i128, chunk: &mut Vec<u8>) {
    let unit = i128::from(money::MICROS_PER_UNIT);
    match u64::try_from(micros / unit) {
        Ok(whole) if micros % unit == 0 => count(whole, chunk),
        _ => double(money::to_f64(micros), chunk),
    }
}

fn integer(mut value: u64, chunk: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        let digit = (value % 10) as u8;
        digits[start] += digit;
        value /= 10;
        if value == 0 {
            return chunk.extend_from_slice(&digits[start..]);
        }
    }
}

/// Writes a double. It is always finite, because a ratio with denominator 0 is 0.
fn double(value: f64, chunk: &mut Vec<u8>) {
    chunk.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

/// Appends the text in quotes, escaped like ECMAScript's `JSON.stringify`.
fn escape(text: &str, chunk: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    chunk.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().copied().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        chunk.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        chunk.push(b'\\');
        match byte {
            b'"' | b'\\' => chunk.push(byte),
            0x08 => chunk.push(b'b'),
            0x09 => chunk.push(b't'),
            0x0a => chunk.push(b'n'),
            0x0c => chunk.push(b'f'),
            0x0d => chunk.push(b'r'),
            control => {
                let digits = [HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]];
                chunk.extend_from_slice(b"u00");
                chunk.extend_from_slice(&digits);
            }
        }
    }
    chunk.extend_from_slice(&bytes[plain..]);
    chunk.push(b'"');
}

/// The distinct texts of a column, each escaped once, if they repeat.
#[derive(Default)]
struct Escaped {
    /// All texts, end to end; empty if texts hardly repeat.
    bytes: Vec<u8>,
    /// The end of each text in `bytes`.
    ends: Vec<usize>,
}

impl Escaped {
    fn new(texts: &StringColumn) -> Self {
        let mut escaped = Self::default();
        // If most texts occur in one row only, such as ids of customers, a second copy saves nothing.
        if texts.dictionary().len() <= texts.codes().len() / 2 {
            for text in texts.dictionary().iter() {
                escape(text, &mut escaped.bytes);
                escaped.ends.push(escaped.bytes.len());
            }
        }
        escaped
    }

    /// Writes the text of a row.
    fn write(&self, texts: &StringColumn, row: usize, chunk: &mut Vec<u8>) {
        if self.ends.is_empty() {
            return escape(texts.get(row), chunk);
        }
        let code = texts.codes()[row] as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        chunk.extend_from_slice(&self.bytes[start..self.ends[code]]);
    }
}
