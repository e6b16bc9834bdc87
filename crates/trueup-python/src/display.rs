//! Answers as people see them at a prompt and in a notebook: the first rows.

use std::fmt::Write;
use trueup::{Column, ResultTable, Value, Values, money};

/// The most rows that are shown.
const SHOWN_ROWS: usize = 20;

/// The most characters of a text that are shown.
const SHOWN_CHARS: usize = 40;

/// The cells of the first rows, column by column, and whether they are numbers.
struct Cells {
    columns: Vec<(String, bool, Vec<String>)>,
    rows: usize,
}

impl Cells {
    fn new(table: &ResultTable) -> Self {
        let rows = table.len().min(SHOWN_ROWS);
        let column = |column: &Column| {
            let is_number = !matches!(column.values, Values::Strings(_) | Values::Days(_));
            (column.name.clone(), is_number, (0..rows).map(|row| cell(column, row)).collect())
        };
        Self { columns: table.columns().iter().map(column).collect(), rows }
    }
}

/// Returns a value as text on one line: numbers with all their digits, except that a ratio has at most six decimals.
fn cell(column: &Column, row: usize) -> String {
    match &column.values {
        Values::Ratios(ratios) => ratios.get(row).map_or_else(|| "–".to_owned(), ratio),
        Values::Numbers(numbers) => numbers.get(row).copied().flatten().map_or_else(|| "–".to_owned(), ratio),
        _ => match column.value(row) {
            Some(Value::Day(day)) => day.to_string(),
            Some(Value::Text(text)) => shown_text(text),
            Some(Value::Count(count)) => count.to_string(),
            Some(Value::Money(micros)) => money::format_micros(micros),
            Some(Value::Integer(integer)) => integer.to_string(),
            Some(Value::Ratio(_) | Value::Number(_) | Value::Null) | None => String::new(),
        },
    }
}

fn ratio(value: f64) -> String {
    let text = format!("{value:.6}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

fn shown_text(text: &str) -> String {
    match text {
        "" => "(none)".to_owned(),
        // A text of the data, and not the absence of one.
        "(none)" => "'(none)'".to_owned(),
        _ => {
            let blank_control = |char: char| if char.is_control() { ' ' } else { char };
            let mut shown: String = text.chars().take(SHOWN_CHARS).map(blank_control).collect();
            if text.chars().nth(SHOWN_CHARS).is_some() {
                shown.push('…');
            }
            shown
        }
    }
}

/// Returns what comes after the rows that are shown.
fn shape(table: &ResultTable, shown: usize) -> String {
    let rows = table.len();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let columns = table.columns().len();
    let shape = format!("{rows} row{} × {columns} column{}", plural(rows), plural(columns));
    if shown < rows { format!("{shape}, the first {shown} shown") } else { shape }
}

/// Returns the first rows as text.
pub(crate) fn text(table: &ResultTable) -> String {
    let cells = Cells::new(table);
    let mut out = String::new();
    let widths: Vec<usize> = cells
        .columns
        .iter()
        .map(|(name, _, values)| values.iter().chain([name]).map(|text| text.chars().count()).max().unwrap_or(0))
        .collect();
    let mut line = |cell: &dyn Fn(usize) -> String| {
        let padded = cells.columns.iter().zip(&widths).enumerate().map(|(at, ((_, is_number, _), width))| {
            let cell = cell(at);
            if *is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    };
    line(&|at| cells.columns[at].0.clone());
    for row in 0..cells.rows {
        line(&|at| cells.columns[at].2.get(row).cloned().unwrap_or_default());
    }
    out.push_str(&shape(table, cells.rows));
    out
}

/// Returns the first rows as a table of HTML.
pub(crate) fn html(table: &ResultTable) -> String {
    let cells = Cells::new(table);
    let mut out = String::from("<table>\n<thead><tr>");
    for (name, ..) in &cells.columns {
        // Writing to a text cannot fail.
        let _ = write!(out, "<th>{}</th>", escaped(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in 0..cells.rows {
        out.push_str("<tr>");
        for (_, is_number, values) in &cells.columns {
            let align = if *is_number { "right" } else { "left" };
            let text = values.get(row).map_or("", String::as_str);
            let _ = write!(out, "<td style=\"text-align: {align}\">{}</td>", escaped(text));
        }
        out.push_str("</tr>\n");
    }
    let _ = write!(out, "</tbody>\n</table>\n<p>{}</p>", shape(table, cells.rows));
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(char),
        }
    }
    out
}
