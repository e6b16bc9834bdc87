//! Aligned columns for people.

use super::OutputWriter;
use super::number::readable;
use super::terminal::printable;
use comfy_table::{Attribute, Cell, CellAlignment, Column as Layout, ColumnConstraint, ContentArrangement};
use comfy_table::{LineStyle, Table, TableStyle};
use std::io::{self, Write};
use trueup_core::{Column, ResultTable, Value, Values, dictionary};

/// A line under the header, and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// What stands for the empty text.
const EMPTY: &str = "(none)";

/// What a column is headed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// Its name, as a query spells it.
    Name,
    /// Its name for people.
    DisplayName,
}

/// Where a table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Columns of text that it has; `None` if as many as there are to write: in a file, or where it is not known.
    width: Option<u16>,
    /// Whether headings are emphasized.
    is_styled: bool,
}

impl Screen {
    /// A screen of so many columns; a terminal that says it has none does not know.
    pub(super) fn new(width: Option<u16>, is_styled: bool) -> Self {
        Self { width: width.filter(|width| *width > 0), is_styled }
    }

    /// Where `sink` ends. `NO_COLOR` takes the emphasis away and nothing else.
    pub(crate) fn of(sink: &OutputWriter) -> Self {
        if !sink.is_terminal() {
            return Self::new(None, false);
        }
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // The terminal that stdout is, as the sink is stdout here.
        Self::new(Table::new().width(), !is_plain)
    }
}

/// Writes an answer in its own order.
pub(super) fn write(answer: &ResultTable, sink: &mut OutputWriter) -> io::Result<()> {
    let rows: Vec<usize> = (0..answer.len()).collect();
    let screen = Screen::of(sink);
    write_rows(answer, &rows, Heading::Name, screen, sink.styled())
}

/// Writes the given rows of an answer.
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
    Cell::new(field.map_or_else(|| printable(&column.name), |field| broken(field.display_name)))
        .add_attribute(Attribute::Bold)
}

fn cell(column: &Column, row: usize) -> Cell {
    Cell::new(match column.value(row) {
        Some(Value::Text("")) => EMPTY.to_owned(),
        Some(value) => printable(&readable(&column.name, value)),
        None => String::new(),
    })
}

fn arrange(layout: &mut Layout, column: &Column) {
    layout.set_padding((0, 1));
    if !matches!(column.values, Values::Texts(_)) {
        // A number that is broken over two lines is no number.
        layout.set_constraint(ColumnConstraint::ContentWidth);
    }
    if matches!(column.values, Values::Counts(_) | Values::Money(_) | Values::Ratios(_)) {
        layout.set_cell_alignment(CellAlignment::Right);
    }
}

/// A name of several words on several lines, so that a column of short numbers is not as wide as its name.
fn broken(name: &str) -> String {
    const WIDTH: usize = 12;
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
