//! The widths of the columns of a table.

use super::Heading;
use super::cell::{Cells, cut, pad, width};
use crate::terminal::printable;
use trueup::ResultTable;

/// The blanks between two columns.
pub(super) const GAP: usize = 2;

/// The most characters of the line that begins each block: its title, and a rule up to this width.
pub(super) const MAX_RULE: usize = 80;

/// The width down to which texts are cut. A table that needs narrower texts is not shown as a table.
const MIN_TEXT_WIDTH: usize = 10;

/// The widest line of a heading that is broken into lines.
const MAX_HEADING_LINE: usize = 12;

/// The columns of a table, which fit the screen.
pub(super) struct Layout {
    columns: Vec<Place>,
}

/// The place of one column.
pub(super) struct Place {
    /// The lines of the heading.
    heading: Vec<String>,
    width: usize,
    is_right: bool,
    is_first: bool,
}

impl Place {
    /// Appends the text of a cell to its line, cut and filled to the width of the column.
    pub(super) fn push(&self, line: &mut String, text: &str) {
        if !self.is_first {
            line.extend(std::iter::repeat_n(' ', GAP));
        }
        if width(text) <= self.width {
            return pad(line, text, self.width, self.is_right);
        }
        let mut shorter = text.to_owned();
        cut(&mut shorter, self.width);
        pad(line, &shorter, self.width, self.is_right);
    }
}

impl Layout {
    /// Lays out columns by their headings and the widths of their values. If the columns are wider than `screen`, cuts
    /// texts; if that is not enough, breaks names of fields into lines as well. Display names are always broken into
    /// lines. Returns `None` if the columns still do not fit. A `screen` of `None` has any width.
    pub(super) fn fit(
        headings: &[HeadingWords],
        widths: &[usize],
        cells: &Cells<'_>,
        screen: Option<usize>,
    ) -> Option<Self> {
        let whole = |heading: &HeadingWords| if heading.is_name { vec![heading.whole()] } else { heading.lines() };
        let of = |lines: fn(&HeadingWords) -> Vec<String>| headings.iter().map(lines).collect::<Vec<_>>();
        let Some(screen) = screen else {
            return Some(Self::natural(headings.iter().map(whole).collect(), widths, cells));
        };
        [headings.iter().map(whole).collect(), of(HeadingWords::lines)]
            .into_iter()
            .find_map(|headings| Self::natural(headings, widths, cells).narrowed(cells, screen))
    }

    /// Lays out columns as wide as their contents.
    fn natural(headings: Vec<Vec<String>>, widths: &[usize], cells: &Cells<'_>) -> Self {
        let place = |(column, (heading, value)): (usize, (Vec<String>, &usize))| {
            let of_heading = heading.iter().map(|line| width(line)).max().unwrap_or(0);
            let is_right = cells.are_numbers(column);
            Place { heading, width: of_heading.max(*value), is_right, is_first: column == 0 }
        };
        Self { columns: headings.into_iter().zip(widths).enumerate().map(place).collect() }
    }

    /// Narrows the widest columns of texts until the table fits the screen; `None` if it cannot.
    fn narrowed(mut self, cells: &Cells<'_>, screen: usize) -> Option<Self> {
        let fits = |most: usize| {
            let widths = self.columns.iter().enumerate();
            let widths =
                widths.map(|(column, place)| if cells.are_texts(column) { place.width.min(most) } else { place.width });
            widths.sum::<usize>() + GAP * self.columns.len().saturating_sub(1) <= screen
        };
        let most = (MIN_TEXT_WIDTH..=screen.max(MIN_TEXT_WIDTH)).rev().find(|most| fits(*most))?;
        for (column, place) in self.columns.iter_mut().enumerate() {
            if cells.are_texts(column) {
                place.width = place.width.min(most);
                place.heading.iter_mut().for_each(|line| cut(line, place.width));
            }
        }
        Some(self)
    }

    pub(super) fn columns(&self) -> &[Place] {
        &self.columns
    }

    /// Returns the number of characters of a full line.
    pub(super) fn width(&self) -> usize {
        self.columns.iter().map(|place| place.width).sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    /// Returns the lines of the headings.
    pub(super) fn heading_lines(&self) -> Vec<String> {
        let count = self.columns.iter().map(|place| place.heading.len()).max().unwrap_or(0);
        let line = |at: usize| {
            let mut line = String::new();
            for place in &self.columns {
                place.push(&mut line, place.heading.get(at).map_or("", String::as_str));
            }
            line
        };
        (0..count).map(line).collect()
    }
}

/// The words of a heading, which may be broken into lines between them.
pub(super) struct HeadingWords {
    words: Vec<String>,
    /// Whether the heading is the name of a field, whose words are not separated by blanks.
    is_name: bool,
}

/// Returns the headings of a table.
pub(super) fn headings(answer: &ResultTable, heading: Heading) -> Vec<HeadingWords> {
    let words = |name: &str| match answer.definitions().display_name(name).filter(|_| heading == Heading::DisplayName) {
        Some(display_name) => {
            HeadingWords { words: display_name.split(' ').map(str::to_owned).collect(), is_name: false }
        }
        None => HeadingWords { words: words_of_name(&printable(name)), is_name: true },
    };
    answer.columns().iter().map(|column| words(&column.name)).collect()
}

/// Splits a name such as `avgCostPerLead` before each capital letter that follows a small one.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for char in name.chars() {
        if after_small && char.is_uppercase() {
            words.push(String::new());
        }
        after_small = char.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.push(char);
        }
    }
    words
}

impl HeadingWords {
    /// Returns the heading on one line.
    pub(super) fn whole(&self) -> String {
        self.words.join(if self.is_name { "" } else { " " })
    }

    /// Breaks the heading into lines, so that a column of short numbers is not as wide as its heading.
    fn lines(&self) -> Vec<String> {
        let separator = if self.is_name { "" } else { " " };
        let mut lines: Vec<String> = Vec::new();
        for word in &self.words {
            match lines.last_mut() {
                Some(line) if width(line) + separator.len() + width(word) <= MAX_HEADING_LINE => {
                    line.push_str(separator);
                    line.push_str(word);
                }
                _ => lines.push(word.clone()),
            }
        }
        lines
    }
}
