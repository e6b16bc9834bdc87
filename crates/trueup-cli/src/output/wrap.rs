//! Lines for people, which are wrapped to the width of a terminal.

use super::OutputWriter;
use super::table::Screen;
use crate::terminal::printable_lines;
use std::io::{self, Write};
use textwrap::{Options, WordSplitter};

/// The fewest columns of a text, however narrow the terminal is.
const MIN_TEXT: usize = 20;

/// Writes lines for people. On a terminal a line that is too long goes on below its text, so that the labels at
/// the start of lines stand out. A file or a pipe gets every line as it is.
pub(crate) fn write_lines(text: &str, out: &mut OutputWriter) -> io::Result<()> {
    match Screen::of(out).width() {
        Some(width) => out.write_all(wrap(&printable_lines(text), width).as_bytes()),
        None => out.write_all(text.as_bytes()),
    }
}

/// Wraps lines to a width. The result ends with a line break.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let lines = text.lines().map(|line| {
        let indent = " ".repeat(text_start(line).min(width.saturating_sub(MIN_TEXT)));
        let options = Options::new(width).subsequent_indent(&indent).word_splitter(WordSplitter::NoHyphenation);
        textwrap::fill(line, options) + "\n"
    });
    lines.collect()
}

/// Returns by how many columns the continuation of a long line is indented. A line that begins with blanks is continued
/// two columns to the right of its first word. A line of a label, at least two blanks and a text is continued below the
/// text. Any other line is continued at column 0.
fn text_start(line: &str) -> usize {
    let after = |blanks: usize| line.len() - line[blanks..].trim_start().len();
    match line.find(|char| char != ' ') {
        None | Some(0) => line.find("  ").map_or(0, after),
        // Sets the rest of the line off from the lines around it.
        Some(start) => start + 2,
    }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    const REPORT: &str = "\
version    1, written by trueup
accounts   2: allied-electric (Allied Electric), bay-state-hvac (Bay State Heating & Air)

unit       count
             booked: customers with a booked appointment in the range
";

    #[test]
    fn lines_go_on_below_their_text() {
        assert_eq!(
            wrap(REPORT, 40),
            "\
version    1, written by trueup
accounts   2: allied-electric (Allied
           Electric), bay-state-hvac
           (Bay State Heating & Air)

unit       count
             booked: customers with a
               booked appointment in the
               range
"
        );
        assert_eq!(wrap(REPORT, 100), REPORT);
        for width in 10..60 {
            assert!(wrap(REPORT, width).lines().all(|line| line.chars().count() <= width), "{width}");
        }
    }
}
