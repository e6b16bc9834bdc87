//! Text for a terminal. A terminal must show text from files and from the command line, and never obey it.

use trueup_report::text::is_control;
pub(crate) use trueup_report::text::printable;

/// Replaces every character that a terminal would obey, except line breaks and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push(&mut shown, text);
    shown
}

fn push(shown: &mut String, text: &str) {
    let keep = |char| !is_control(char) || matches!(char, '\n' | '\t');
    shown.extend(text.chars().map(|char| if keep(char) { char } else { char::REPLACEMENT_CHARACTER }));
}

/// Makes a stream of bytes printable. The stream may be cut anywhere, also inside a character.
#[derive(Debug, Default)]
pub(crate) struct TerminalFilter {
    /// The first bytes of a character whose other bytes have not arrived.
    incomplete: Vec<u8>,
}

impl TerminalFilter {
    /// Returns the printable text up to the last complete character.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> String {
        self.incomplete.extend_from_slice(bytes);
        let mut shown = String::with_capacity(self.incomplete.len());
        let mut rest = self.incomplete.as_slice();
        loop {
            // The valid bytes, and the invalid bytes after them; `None` if `rest` ends inside a character.
            let (valid, invalid) = match std::str::from_utf8(rest) {
                Ok(_) => (rest.len(), Some(0)),
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            let (text, after) = rest.split_at(valid);
            push(&mut shown, std::str::from_utf8(text).unwrap_or_default());
            match invalid {
                Some(invalid) if !after.is_empty() => {
                    shown.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[invalid..];
                }
                _ => {
                    self.incomplete = after.to_vec();
                    return shown;
                }
            }
        }
    }

    /// Ends the stream. Returns the replacement of an incomplete last character, if there is one.
    pub(crate) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.incomplete).is_empty() { "" } else { "\u{fffd}" }
    }
}

#[cfg(test)]
mod tests {
    use super::{TerminalFilter, printable, printable_lines};

    const TEXT: &str = "a\u{1b}]0;x\u{7}b\u{9b}2Jc\u{202e}d\u{2066}e\u{85}f\r\n\tgä€𝄞\u{7f}";
    const SHOWN: &str = "a\u{fffd}]0;x\u{fffd}b\u{fffd}2Jc\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}\n\tgä€𝄞\u{fffd}";

    #[test]
    fn characters_that_a_terminal_obeys_are_replaced() {
        assert_eq!(printable_lines(TEXT), SHOWN);
        assert_eq!(printable(TEXT), SHOWN.replace(['\n', '\t'], "\u{fffd}"));
        assert_eq!(printable("Zoë, 北京, שלום"), "Zoë, 北京, שלום");
    }

    #[test]
    fn a_stream_can_be_cut_anywhere() {
        for size in 1..TEXT.len() {
            let mut filter = TerminalFilter::default();
            let mut shown: String = TEXT.as_bytes().chunks(size).map(|bytes| filter.pass(bytes)).collect();
            shown.push_str(filter.end());
            assert_eq!(shown, SHOWN, "{size}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut filter = TerminalFilter::default();
        // A C1 control character as a single byte, and a character that is cut off.
        assert_eq!(filter.pass(b"a\x9b2J\xc3"), "a\u{fffd}2J");
        assert_eq!((filter.end(), filter.end()), ("\u{fffd}", ""));
    }
}
