//! The widths of the columns of a table.

use super::super::Narrowing;
use super::Heading;
use super::cell::{Cells, cut, pad, width};
use crate::terminal::printable;
use textwrap::WordSplitter;
use trueup::definitions::Definitions;

/// The blanks between two columns.
pub(super) const GAP: usize = 2;

/// The most characters of the line that begins each block: its title, and a rule up to this width.
pub(super) const MAX_RULE: usize = 80;

/// The width down to which texts are cut. A table that needs narrower texts is not shown as a table.
const MIN_TEXT_WIDTH: usize = 10;

/// The width down to which the texts of a column that is broken into lines are narrowed.
const MIN_WRAPPED: usize = 30;

/// The widest line of a heading that is broken into lines.
const MAX_HEADING_LINE: usize = 12;

/// The columns of a table, which fit the screen.
pub(super) struct Layout {
    columns: Vec<Place>,
    /// Whether the texts of the last column are broken into lines.
    wraps_last: bool,
}

/// The place of one column.
pub(super) struct Place {
    /// The lines of the heading.
    heading: Vec<String>,
    width: usize,
    is_right: bool,
    is_first: bool,
    /// Whether a text is broken into lines where it does not fit, of which this place has the first.
    is_wrapped: bool,
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
        if self.is_wrapped {
            return line.push_str(self.lines(text).first().map_or("", String::as_str));
        }
        let mut shorter = text.to_owned();
        cut(&mut shorter, self.width);
        pad(line, &shorter, self.width, self.is_right);
    }

    /// Breaks a text into lines of the width of the column.
    fn lines(&self, text: &str) -> Vec<String> {
        let options = textwrap::Options::new(self.width).word_splitter(WordSplitter::NoHyphenation);
        textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
    }
}

impl Layout {
    /// Lays out columns without cutting a text; `None` if they do not fit the screen.
    pub(super) fn whole(
        headings: &[HeadingWords],
        widths: &[usize],
        cells: &Cells<'_>,
        narrowing: Narrowing,
        screen: Option<usize>,
    ) -> Option<Self> {
        let lines = headings.iter().map(HeadingWords::natural_lines).collect();
        let layout = Self::natural(lines, widths, cells);
        match screen {
            Some(screen) => layout.wrapped(narrowing, screen).filter(|layout| layout.width() <= screen),
            None => Some(layout),
        }
    }

    /// Lays out columns by their headings and the widths of their values. If the columns are wider than `screen`, cuts
    /// texts; if that is not enough, breaks names of fields into lines as well. Display names are always broken into
    /// lines. Returns `None` if the columns still do not fit. A `screen` of `None` has any width.
    pub(super) fn fit(
        headings: &[HeadingWords],
        widths: &[usize],
        cells: &Cells<'_>,
        narrowing: Narrowing,
        screen: Option<usize>,
    ) -> Option<Self> {
        let of = |lines: fn(&HeadingWords) -> Vec<String>| headings.iter().map(lines).collect::<Vec<_>>();
        let Some(screen) = screen else {
            return Some(Self::natural(of(HeadingWords::natural_lines), widths, cells));
        };
        [of(HeadingWords::natural_lines), of(HeadingWords::lines)].into_iter().find_map(|headings| {
            Self::natural(headings, widths, cells).wrapped(narrowing, screen)?.narrowed(cells, screen)
        })
    }

    /// Gives the last column, if its texts are broken into lines, the room that the others leave; `None` if that is
    /// less than a column of lines needs.
    fn wrapped(mut self, narrowing: Narrowing, screen: usize) -> Option<Self> {
        let others = self.width() - self.columns.last().map_or(0, |place| place.width);
        let Some(last) = self.columns.last_mut().filter(|_| narrowing.wraps_last) else { return Some(self) };
        let room = screen.saturating_sub(others);
        if last.width > room {
            last.width = room;
            last.is_wrapped = true;
            self.wraps_last = true;
        }
        (room >= MIN_WRAPPED || !self.wraps_last).then_some(self)
    }

    /// Lays out columns as wide as their contents.
    fn natural(headings: Vec<Vec<String>>, widths: &[usize], cells: &Cells<'_>) -> Self {
        let place = |(column, (heading, value)): (usize, (Vec<String>, &usize))| {
            let of_heading = heading.iter().map(|line| width(line)).max().unwrap_or(0);
            let is_right = cells.are_numbers(column);
            Place { heading, width: of_heading.max(*value), is_right, is_first: column == 0, is_wrapped: false }
        };
        Self { columns: headings.into_iter().zip(widths).enumerate().map(place).collect(), wraps_last: false }
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

    /// Returns the lines below that of a row, with what is left of the text of its last column.
    pub(super) fn rest_of(&self, text: &str) -> Vec<String> {
        let Some(last) = self.columns.last().filter(|_| self.wraps_last && width(text) > 0) else { return Vec::new() };
        let indent = " ".repeat(self.width() - last.width);
        last.lines(text).iter().skip(1).map(|line| format!("{indent}{line}")).collect()
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
    /// Returns the words of the heading of a column.
    pub(super) fn new(name: &str, definitions: &Definitions, heading: Heading) -> Self {
        match definitions.display_name(name).filter(|_| heading == Heading::DisplayName) {
            Some(display_name) => Self { words: display_name.split(' ').map(str::to_owned).collect(), is_name: false },
            None => Self { words: words_of_name(&printable(name)), is_name: true },
        }
    }

    /// Returns the heading as it is where there is room: the name of a field on one line, a display name on several.
    fn natural_lines(&self) -> Vec<String> {
        if self.is_name { vec![self.whole()] } else { self.lines() }
    }

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
