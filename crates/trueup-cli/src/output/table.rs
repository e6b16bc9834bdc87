//! Result tables for people: aligned columns ([`layout`] decides their widths), or one block of lines per row where the
//! columns do not fit the terminal. [`cell`] has the text of one value.
//!
//! A table is written row by row. For a file or a pipe every row and every text is written in full. On a terminal,
//! texts are cut where the columns do not fit, and the rows in the middle of a long table are left out unless the
//! command shows all rows.

mod cell;
mod layout;
#[cfg(test)]
mod tests;

use super::writer::OutputWriter;
use super::{Narrowing, TerminalRows};
use cell::{Cells, cut, pad};
use layout::Layout;
use std::io::{self, Write};
use terminal_size::{Width, terminal_size};
use trueup::ResultTable;
use trueup_report::number::counted;

/// The most rows that a terminal shows as a table, half of them from the end.
const MAX_TABLE_ROWS: usize = 40;

/// The most rows that a terminal shows as blocks of lines.
const MAX_BLOCKS: usize = 10;

/// The fewest characters of a value in a block, however narrow the terminal is.
const MIN_BLOCK_VALUE: usize = 8;

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
    width: Option<usize>,
    /// Whether headings are bold.
    is_styled: bool,
    /// Whether the rows in the middle of a long table are left out.
    is_brief: bool,
}

impl Screen {
    /// A file or a pipe: of any width, plain, and with all rows.
    const FILE: Self = Self { width: None, is_styled: false, is_brief: false };

    /// Returns the screen that `out` writes to. `NO_COLOR` turns bold headings off and changes nothing else.
    pub(crate) fn of(out: &OutputWriter) -> Self {
        if !out.is_terminal() {
            return Self::FILE;
        }
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // A width of 0 means that the terminal does not know its width.
        let width = terminal_size().map(|(Width(width), _)| usize::from(width)).filter(|width| *width > 0);
        Self { width, is_styled: !is_plain, is_brief: false }
    }

    /// Returns the width in characters; `None` if it is unlimited or unknown.
    pub(super) const fn width(&self) -> Option<usize> {
        self.width
    }

    fn bold<'a>(&self, text: &'a str) -> [&'a str; 3] {
        if self.is_styled { ["\u{1b}[1m", text, "\u{1b}[0m"] } else { ["", text, ""] }
    }
}

/// Writes the rows of a result table, in their order. On a terminal the rows in the middle of a long table may be left
/// out.
pub(super) fn write(
    answer: &ResultTable,
    rows: TerminalRows,
    narrowing: Narrowing,
    out: &mut OutputWriter,
) -> io::Result<()> {
    let is_brief = rows == TerminalRows::Ends && out.is_terminal();
    let screen = Screen { is_brief, ..Screen::of(out) };
    write_on(answer, 0..answer.len(), Heading::Name, narrowing, screen, &mut out.styled())
}

/// Writes the given rows of a result table, in the order of `rows`.
pub(crate) fn write_rows(
    answer: &ResultTable,
    rows: &[usize],
    heading: Heading,
    screen: Screen,
    mut out: impl Write,
) -> io::Result<()> {
    write_on(answer, rows.iter().copied(), heading, Narrowing::default(), screen, &mut out)
}

fn write_on(
    answer: &ResultTable,
    rows: impl ExactSizeIterator<Item = usize> + Clone,
    heading: Heading,
    narrowing: Narrowing,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = ShownRows::new(rows.clone(), if screen.is_brief { MAX_TABLE_ROWS } else { usize::MAX });
    // The first of these that fits as it is; or else the narrowest, whose texts are cut.
    let all = narrowing.optional.len();
    for left_out in 0..=all {
        let cells = Cells::new(answer, &narrowing.optional[..left_out]);
        let widths = cells.widths(|| shown.first().chain(shown.last()));
        let lay_out = if left_out < all { Layout::whole } else { Layout::fit };
        if let Some(layout) = lay_out(&cells.headings(heading), &widths, &cells, narrowing, screen.width) {
            write_table(&cells, &layout, &shown, screen, out)?;
            return write_left_out(&narrowing.optional[..left_out], out);
        }
    }
    let shown = ShownRows::new(rows, if screen.is_brief { MAX_BLOCKS } else { usize::MAX });
    write_blocks(&Cells::new(answer, &[]), &shown, heading, screen, out)
}

/// Says which columns the table does not have.
fn write_left_out(columns: &[&str], out: &mut impl Write) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let them = if columns.len() == 1 { "it" } else { "them" };
    writeln!(out, "… without {}; `--format csv` has {them}", columns.join(" and "))
}

/// The rows that are shown: all, or the first and the last.
struct ShownRows<I> {
    rows: I,
    /// The number of rows before the gap.
    first: usize,
    /// The number of rows in the gap, which are not shown.
    left_out: usize,
}

impl<I: ExactSizeIterator<Item = usize> + Clone> ShownRows<I> {
    fn new(rows: I, most: usize) -> Self {
        let left_out = rows.len().saturating_sub(most);
        let first = if left_out == 0 { rows.len() } else { most.div_ceil(2) };
        Self { rows, first, left_out }
    }

    fn first(&self) -> impl Iterator<Item = usize> {
        self.rows.clone().take(self.first)
    }

    fn last(&self) -> impl Iterator<Item = usize> {
        self.rows.clone().skip(self.first + self.left_out)
    }

    /// Returns the line that stands for the rows that are left out; `None` if all are shown.
    fn note(&self) -> Option<String> {
        let more = counted(self.left_out as u64, "more row");
        (self.left_out > 0)
            .then(|| format!("… {more}; `--all` shows {}", if self.left_out == 1 { "it" } else { "them" }))
    }
}

fn write_table(
    cells: &Cells<'_>,
    layout: &Layout,
    shown: &ShownRows<impl ExactSizeIterator<Item = usize> + Clone>,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    for line in layout.heading_lines() {
        for part in screen.bold(line.trim_end()) {
            out.write_all(part.as_bytes())?;
        }
        writeln!(out)?;
    }
    let rule = "─".repeat(layout.width());
    writeln!(out, "{rule}")?;
    let (mut line, mut text) = (String::new(), String::new());
    let mut write_rows = |rows: &mut dyn Iterator<Item = usize>, out: &mut dyn Write| {
        for row in rows {
            if cells.totals_row() == Some(row) {
                writeln!(out, "{rule}")?;
            }
            line.clear();
            for (column, place) in layout.columns().iter().enumerate() {
                cells.read(column, row, &mut text);
                place.push(&mut line, &text);
            }
            writeln!(out, "{}", line.trim_end())?;
            // The text of the last column goes on below itself.
            for more in layout.rest_of(&text) {
                writeln!(out, "{more}")?;
            }
        }
        io::Result::Ok(())
    };
    write_rows(&mut shown.first(), out)?;
    if let Some(note) = shown.note() {
        writeln!(out, "{note}")?;
        write_rows(&mut shown.last(), out)?;
    }
    Ok(())
}

/// Writes each row as a block: a line with the number of the row, then a line per column.
fn write_blocks(
    cells: &Cells<'_>,
    shown: &ShownRows<impl ExactSizeIterator<Item = usize> + Clone>,
    heading: Heading,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = screen.width.unwrap_or(usize::MAX);
    let names: Vec<String> = cells.headings(heading).iter().map(|heading| heading.whole()).collect();
    let name_width = names.iter().map(|name| cell::width(name)).max().unwrap_or(0);
    let value_width = width.saturating_sub(name_width + layout::GAP).max(MIN_BLOCK_VALUE);
    let (mut text, all) = (String::new(), shown.rows.len() - usize::from(cells.totals_row().is_some()));
    let mut write_rows = |rows: &mut dyn Iterator<Item = (usize, usize)>, out: &mut dyn Write| {
        for (number, row) in rows {
            let title = match cells.totals_row() {
                Some(totals) if totals == row => "─ total ".to_owned(),
                _ => format!("─ row {number} of {all} "),
            };
            writeln!(out, "{title}{}", "─".repeat(width.min(layout::MAX_RULE).saturating_sub(cell::width(&title))))?;
            for (column, name) in names.iter().enumerate() {
                let mut padded = String::new();
                pad(&mut padded, name, name_width + layout::GAP, false);
                for part in screen.bold(&padded) {
                    out.write_all(part.as_bytes())?;
                }
                cells.read(column, row, &mut text);
                cut(&mut text, value_width);
                writeln!(out, "{text}")?;
            }
        }
        io::Result::Ok(())
    };
    write_rows(&mut (1..).zip(shown.first()), out)?;
    if let Some(note) = shown.note() {
        writeln!(out, "{note}")?;
        write_rows(&mut (shown.first + shown.left_out + 1..).zip(shown.last()), out)?;
    }
    Ok(())
}
