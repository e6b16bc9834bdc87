//! Texts of the data as people read them. A page and a terminal must show text from files, and never obey it.

/// Shown in place of an empty text, which is also what a missing text is. A text that would look like it, or that is
/// blank, is shown in quotes.
const EMPTY_TEXT: &str = "(none)";

/// Returns whether a terminal obeys the character rather than shows it: control characters (C0 and C1), line
/// separators, and characters that change the direction of text.
#[must_use]
pub fn is_control(char: char) -> bool {
    char::is_control(char) || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces every character that a terminal would obey, line breaks included.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push_printable(&mut shown, text);
    shown
}

fn push_printable(out: &mut String, text: &str) {
    out.extend(text.chars().map(|char| if is_control(char) { char::REPLACEMENT_CHARACTER } else { char }));
}

/// Appends a text of the data as people read it: an empty one as `(none)`, and without control characters.
pub fn push_text(out: &mut String, text: &str) {
    if text.is_empty() {
        out.push_str(EMPTY_TEXT);
    } else if text.trim().is_empty() || text.trim_matches('"') == EMPTY_TEXT {
        out.push('"');
        push_printable(out, text);
        out.push('"');
    } else {
        push_printable(out, text);
    }
}
