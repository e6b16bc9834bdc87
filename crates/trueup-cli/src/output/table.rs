//! Result tables as aligned columns for people.

use super::number::readable;
use super::writer::OutputWriter;
use crate::terminal::printable;
use comfy_table::{Attribute, Cell, CellAlignment, Column as Layout, ColumnConstraint, ContentArrangement};
use comfy_table::{LineStyle, Table, TableStyle};
use std::io::{self, Write};
use trueup::{Column, ResultTable, Value, Values, dictionary};

/// A line under the header, and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Shown in place of an empty text.
const EMPTY_TEXT: &str = "(none)";

/// The heading of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// The field's name, as a query spells it.
    Name,
    /// The field's display name.
    DisplayName,
}

/// The screen that a table is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Width in characters; `None` if it is unlimited (a file) or unknown.
    width: Option<u16>,
    /// Whether headings are bold.
    is_styled: bool,
}

impl Screen {
    /// Creates a screen. A width of 0 means that the terminal does not know its width.
    pub(super) fn new(width: Option<u16>, is_styled: bool) -> Self {
        Self { width: width.filter(|width| *width > 0), is_styled }
    }

    /// Returns the screen that `out` writes to. `NO_COLOR` turns bold headings off and changes nothing else.
    pub(crate) fn of(out: &OutputWriter) -> Self {
        if !out.is_terminal() {
            return Self::new(None, false);
        }
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // This is the width of stdout, which `out` writes to.
        Self::new(Table::new().width(), !is_plain)
    }
}

/// Writes all rows of a result table, in their order.
pub(super) fn write(answer: &ResultTable, out: &mut OutputWriter) -> io::Result<()> {
    let rows: Vec<usize> = (0..answer.len()).collect();
    let screen = Screen::of(out);
    write_rows(answer, &rows, Heading::Name, screen, out.styled())
}

/// Writes the given rows of a result table, in the order of `rows`.
pub(crate) fn write_rows(
    answer: &ResultTable,
    rows: &[usize],
    heading: Heading,
    screen: Screen,
    mut out: impl Write,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE).force_no_tty().set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = screen.width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    if screen.is_styled {
        table.enforce_styling();
    }
    table.set_header(answer.columns().iter().map(|column| header(column, heading)));
    for &row in rows {
        table.add_row(answer.columns().iter().map(|column| cell(column, row)));
    }
    for (layout, column) in table.column_iter_mut().zip(answer.columns()) {
        arrange(layout, column);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn header(column: &Column, heading: Heading) -> Cell {
    let field = dictionary::field(&column.name).filter(|_| heading == Heading::DisplayName);
    Cell::new(field.map_or_else(|| printable(&column.name), |field| break_lines(field.display_name)))
        .add_attribute(Attribute::Bold)
}

fn cell(column: &Column, row: usize) -> Cell {
    Cell::new(match column.value(row) {
        Some(Value::Text("")) => EMPTY_TEXT.to_owned(),
        Some(value) => printable(&readable(&column.name, value)),
        None => String::new(),
    })
}

fn arrange(layout: &mut Layout, column: &Column) {
    layout.set_padding((0, 1));
    if !matches!(column.values, Values::Texts(_)) {
        // A number must not be broken over two lines.
        layout.set_constraint(ColumnConstraint::ContentWidth);
    }
    if matches!(column.values, Values::Counts(_) | Values::Money(_) | Values::Ratios(_)) {
        layout.set_cell_alignment(CellAlignment::Right);
    }
}

/// Breaks a name of several words into lines, so that a column of short numbers is not as wide as its name.
fn break_lines(name: &str) -> String {
    const MAX_WIDTH: usize = 12;
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= MAX_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
