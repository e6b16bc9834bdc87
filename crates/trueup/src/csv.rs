//! Answers as CSV: a header and the rows, with numbers in full.
//!
//! Money is an exact decimal, and texts are as they are. A ratio over nothing and a number that a row does not have are
//! empty cells: as a 0, fees without leads would have the cheapest leads.

use std::io::{self, Write};
use trueup_core::{ResultTable, Value, money};

/// Writes the header and the rows.
///
/// ```
/// use trueup::{Column, ResultTable, Values, csv};
///
/// let table = ResultTable::from_columns(vec![
///     Column { name: "leads".to_owned(), values: Values::Counts(vec![12, 0]) },
///     Column { name: "bookRate".to_owned(), values: Values::Ratios([Some(0.25), None].into_iter().collect()) },
/// ]);
/// let mut text = Vec::new();
/// csv::write_rows(&table, &mut text)?;
/// assert_eq!(text, b"leads,bookRate\n12,0.25\n0,\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Writing to `out` fails.
pub fn write_rows(table: &ResultTable, out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    push_line(&mut line, table.columns().iter().map(|column| column.name.clone()));
    out.write_all(line.as_bytes())?;
    let deciding = table.deciding_columns();
    for row in 0..table.len() {
        line.clear();
        let cells = table.columns().iter().zip(&deciding).map(|(column, deciding)| match column.value(row) {
            Some(value) if !deciding.iter().any(|column| column.is_over_nothing(row)) => exact(value),
            _ => String::new(),
        });
        push_line(&mut line, cells);
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Returns a value in full, as CSV has it: money is an exact decimal, a ratio its shortest decimal that reads back as
/// the same number, and a missing number the empty text.
#[must_use]
pub fn exact(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_owned(),
        Value::Day(day) => day.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Money(micros) => money::format_micros(micros),
        Value::Ratio(number) | Value::Number(number) => number.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Null => String::new(),
    }
}

/// Appends a line of cells.
fn push_line(line: &mut String, cells: impl ExactSizeIterator<Item = String>) {
    let is_only = cells.len() == 1;
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            line.push(',');
        }
        // A line without anything would be no row.
        if cell.contains(['"', ',', '\r', '\n']) || is_only && cell.is_empty() {
            line.push('"');
            line.push_str(&cell.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(&cell);
        }
    }
    line.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_if_a_reader_would_split_them() {
        let lines = |cells: &[&str]| {
            let mut line = String::new();
            push_line(&mut line, cells.iter().map(|cell| (*cell).to_owned()));
            line
        };
        assert_eq!(
            lines(&["a b", "", "5\" pipe", "x,y", "two\nlines"]),
            "a b,,\"5\"\" pipe\",\"x,y\",\"two\nlines\"\n"
        );
        assert_eq!(lines(&[""]), "\"\"\n");
    }
}
