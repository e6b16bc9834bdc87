//! What a terminal is shown: text from files and from the command line is shown, never obeyed.

/// Whether a terminal would obey the character rather than show it: control characters, those of C1 included, and characters that
/// turn the direction of others or end the line.
fn steers(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text on one line, as a terminal can be given it: characters that it would obey are replaced.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| if steers(char) { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// The same of a text that may have lines and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push(&mut shown, text);
    shown
}

fn push(shown: &mut String, text: &str) {
    let keep = |char| !steers(char) || matches!(char, '\n' | '\t');
    shown.extend(text.chars().map(|char| if keep(char) { char } else { char::REPLACEMENT_CHARACTER }));
}

/// Makes a stream of bytes printable, wherever it is cut.
#[derive(Debug, Default)]
pub(super) struct TerminalFilter {
    /// The beginning of a character whose other bytes are yet to come.
    held: Vec<u8>,
}

impl TerminalFilter {
    /// The text that can be shown once these bytes have come.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut shown = String::with_capacity(self.held.len());
        let mut rest = self.held.as_slice();
        loop {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(_) => (rest.len(), Some(0)),
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            let (text, after) = rest.split_at(valid);
            push(&mut shown, std::str::from_utf8(text).unwrap_or_default());
            match bad {
                Some(bad) if !after.is_empty() => {
                    shown.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[bad..];
                }
                _ => {
                    self.held = after.to_vec();
                    return shown;
                }
            }
        }
    }

    /// What is shown for a character that never ended.
    pub(super) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.held).is_empty() { "" } else { "\u{fffd}" }
    }
}

#[cfg(test)]
mod tests {
    use super::{TerminalFilter, printable, printable_lines};

    const TEXT: &str = "a\u{1b}]0;x\u{7}b\u{9b}2Jc\u{202e}d\u{2066}e\u{85}f\r\n\tgä€𝄞\u{7f}";
    const SHOWN: &str = "a\u{fffd}]0;x\u{fffd}b\u{fffd}2Jc\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}\n\tgä€𝄞\u{fffd}";

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        assert_eq!(printable_lines(TEXT), SHOWN);
        assert_eq!(printable(TEXT), SHOWN.replace(['\n', '\t'], "\u{fffd}"));
        assert_eq!(printable("Zoë, 北京, שלום"), "Zoë, 北京, שלום");
    }

    #[test]
    fn a_stream_may_be_cut_anywhere() {
        for size in 1..TEXT.len() {
            let mut filter = TerminalFilter::default();
            let mut shown: String = TEXT.as_bytes().chunks(size).map(|bytes| filter.pass(bytes)).collect();
            shown.push_str(filter.end());
            assert_eq!(shown, SHOWN, "{size}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_not_passed_on() {
        let mut filter = TerminalFilter::default();
        // A control character of C1 as one byte, and a character that is cut off.
        assert_eq!(filter.pass(b"a\x9b2J\xc3"), "a\u{fffd}2J");
        assert_eq!((filter.end(), filter.end()), ("\u{fffd}", ""));
    }
}
