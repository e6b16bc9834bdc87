//! Answers as the service writes them: JSON with ECMAScript's numbers, keys in the order of the query, no white space.

mod column;
mod rows;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use rows::JsonRows;

use rows::Frame;
use std::io;
use trueup_core::ResultTable;

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
    write(JsonRows::array(table), out)
}

/// Writes the rows as newline-delimited JSON, one object a line.
///
/// # Errors
/// Those of `out`.
pub fn write_ndjson(table: &ResultTable, out: &mut impl io::Write) -> io::Result<()> {
    let after: &[u8] = if table.is_empty() { b"" } else { b"\n" };
    write(JsonRows::new(table, Frame { before: b"", between: b"\n", after }), out)
}

fn write(mut rows: JsonRows<&ResultTable>, out: &mut impl io::Write) -> io::Result<()> {
    let mut chunk = Vec::new();
    while rows.next_chunk(&mut chunk) {
        out.write_all(&chunk)?;
    }
    Ok(())
}
