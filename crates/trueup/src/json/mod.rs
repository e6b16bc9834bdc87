//! Answers as the service writes them: JSON with ECMAScript's numbers, keys in the order of the query, no white space.

mod column;
mod text;

#[cfg(test)]
mod tests;

use column::Writer;
use std::io;
use trueup_core::ResultTable;

/// Bytes that are gathered before they are handed on.
const CHUNK: usize = 1 << 16;

/// Writes the rows as one JSON array, exactly the body of an events response.
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
/// Those of `out`.
pub fn write_rows(table: &ResultTable, out: &mut impl io::Write) -> io::Result<()> {
    write(table, out, [b"[", b",", b"]"])
}

/// Writes the rows as newline-delimited JSON, one object a line.
///
/// # Errors
/// Those of `out`.
pub fn write_ndjson(table: &ResultTable, out: &mut impl io::Write) -> io::Result<()> {
    let end: &[u8] = if table.is_empty() { b"" } else { b"\n" };
    write(table, out, [b"", b"\n", end])
}

/// Writes the rows with what comes before the first, between two, and after the last.
fn write(table: &ResultTable, out: &mut impl io::Write, [before, between, after]: [&[u8]; 3]) -> io::Result<()> {
    let mut writers: Vec<Writer<'_>> = table.columns().iter().enumerate().map(Writer::new).collect();
    let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 4);
    chunk.extend_from_slice(before);
    for row in 0..table.len() {
        if row > 0 {
            chunk.extend_from_slice(between);
        }
        chunk.push(b'{');
        for writer in &mut writers {
            writer.write(row, &mut chunk);
        }
        chunk.push(b'}');
        if chunk.len() >= CHUNK {
            out.write_all(&chunk)?;
            chunk.clear();
        }
    }
    chunk.extend_from_slice(after);
    out.write_all(&chunk)
}
