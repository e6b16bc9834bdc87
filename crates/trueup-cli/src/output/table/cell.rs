//! The texts of values in a table, and their widths on a terminal.

use super::Heading;
use super::layout::HeadingWords;
use trueup::definitions::Definitions;
use trueup::{Column, ResultTable, Value, Values};
use trueup_report::number::{ColumnStyle, NOTHING};
use trueup_report::text::push_text;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Ends a text that is cut.
const ELLIPSIS: char = '…';

/// The values of a result table as texts.
pub(super) struct Cells<'a> {
    columns: Vec<(&'a Column, ColumnStyle)>,
    /// The [columns](ResultTable::deciding_columns) that decide where each column has nothing.
    deciding: Vec<[&'a Column; 2]>,
    definitions: &'a Definitions,
    /// The row of the totals, whose first text or day is `total`, and whose other texts are blank; `None` without
    /// totals.
    totals_row: Option<usize>,
}

impl<'a> Cells<'a> {
    /// Returns the cells that people see, without the columns `left_out`. The mark of totals is for programs: people
    /// see a line, and the row below it.
    pub(super) fn new(answer: &'a ResultTable, left_out: &[&str]) -> Self {
        let definitions = answer.definitions();
        let columns = answer.columns().iter().zip(answer.deciding_columns());
        let shown = columns.skip(usize::from(answer.totals_row().is_some()));
        let (columns, deciding) = shown
            .filter(|(column, _)| !left_out.contains(&column.name.as_str()))
            .map(|(column, deciding)| ((column, ColumnStyle::of(definitions, &column.name)), deciding))
            .unzip();
        Self { columns, deciding, definitions, totals_row: answer.totals_row() }
    }

    /// Returns the headings of the columns.
    pub(super) fn headings(&self, heading: Heading) -> Vec<HeadingWords> {
        self.columns.iter().map(|(column, _)| HeadingWords::new(&column.name, self.definitions, heading)).collect()
    }

    /// Returns whether the column has texts, which may be cut.
    pub(super) fn are_texts(&self, column: usize) -> bool {
        matches!(self.columns[column].0.values, Values::Strings(_))
    }

    /// Returns whether the column has numbers, which are aligned right.
    pub(super) fn are_numbers(&self, column: usize) -> bool {
        !matches!(self.columns[column].0.values, Values::Strings(_) | Values::Days(_))
    }

    /// Returns the row of the totals, if there is one.
    pub(super) const fn totals_row(&self) -> Option<usize> {
        self.totals_row
    }

    /// Replaces `text` by the text of a value.
    pub(super) fn read(&self, column: usize, row: usize, text: &mut String) {
        text.clear();
        let is_total = self.totals_row == Some(row);
        if is_total && column == 0 && !self.are_numbers(column) {
            return text.push_str("total");
        }
        let is_nothing = self.is_nothing(column, row);
        let (column, style) = self.columns[column];
        match column.value(row) {
            Some(Value::Text(_)) if is_total => {}
            Some(Value::Text(value)) => push_text(text, value),
            Some(_) if is_nothing => text.push_str(NOTHING),
            Some(value) => style.push(text, value),
            None => {}
        }
    }

    /// Returns the width of the widest value of each column, among the given rows.
    pub(super) fn widths<I: Iterator<Item = usize>>(&self, rows: impl Fn() -> I) -> Vec<usize> {
        (0..self.columns.len()).map(|column| self.width(column, rows())).collect()
    }

    fn width(&self, column: usize, rows: impl Iterator<Item = usize>) -> usize {
        let mut text = String::new();
        let mut width_at = |row: usize| {
            self.read(column, row, &mut text);
            width(&text)
        };
        match &self.columns[column].0.values {
            Values::Strings(_) => rows.map(width_at).max().unwrap_or(0),
            // The larger a number, the wider its text, so only the two extremes are formatted.
            _ => {
                let (mut least, mut most): (Option<usize>, Option<usize>) = (None, None);
                let mut has_nothing = false;
                for row in rows {
                    if self.is_nothing(column, row) {
                        has_nothing = true;
                        continue;
                    }
                    if least.is_none_or(|least| self.is_less(column, row, least)) {
                        least = Some(row);
                    }
                    if most.is_none_or(|most| self.is_less(column, most, row)) {
                        most = Some(row);
                    }
                }
                let extremes = least.into_iter().chain(most).map(&mut width_at).max().unwrap_or(0);
                extremes.max(usize::from(has_nothing))
            }
        }
    }

    /// Returns whether the value is a ratio over nothing, a change from or to one, or a number that the row does not
    /// have.
    fn is_nothing(&self, column: usize, row: usize) -> bool {
        self.columns[column].0.value(row) == Some(Value::Null)
            || self.deciding[column].iter().any(|column| column.is_over_nothing(row))
    }

    /// Returns whether the number in row `a` is less than the one in row `b`.
    fn is_less(&self, column: usize, a: usize, b: usize) -> bool {
        match &self.columns[column].0.values {
            Values::Counts(counts) => counts.get(a) < counts.get(b),
            Values::Money(amounts) => amounts.get(a) < amounts.get(b),
            Values::Ratios(ratios) => ratios.get(a).unwrap_or_default() < ratios.get(b).unwrap_or_default(),
            Values::Integers(integers) => integers.get(a) < integers.get(b),
            Values::Numbers(numbers) => {
                let number = |row: usize| numbers.get(row).copied().flatten().unwrap_or_default();
                number(a) < number(b)
            }
            // All days are of one width.
            Values::Days(_) | Values::Strings(_) => false,
        }
    }
}

/// Returns whether every character of a text is one column wide and printable.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Returns the number of terminal columns that a printable text takes.
pub(super) fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// Appends a text, filled with blanks to a width of `to`. The blanks come first if `right`.
pub(super) fn pad(line: &mut String, text: &str, to: usize, right: bool) {
    let blanks = std::iter::repeat_n(' ', to.saturating_sub(width(text)));
    if right {
        line.extend(blanks);
        line.push_str(text);
    } else {
        line.push_str(text);
        line.extend(blanks);
    }
}

/// Cuts a text to a width of at most `to`. A text that is cut ends in an ellipsis.
pub(super) fn cut(text: &mut String, to: usize) {
    if width(text) <= to {
        return;
    }
    let (mut taken, mut end) = (0, 0);
    for (start, char) in text.char_indices() {
        taken += char.width().unwrap_or(0);
        // One column is for the ellipsis.
        if taken + 1 > to {
            break;
        }
        end = start + char.len_utf8();
    }
    text.truncate(end);
    text.push(ELLIPSIS);
}
