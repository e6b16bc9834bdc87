//! The text of an error, as callers read it: only one about size contains a word of [`SIZE_WORDS`].
//!
//! Clients of the service take a refusal whose text contains one of these words for a size limit, and split the
//! question. The fixed texts of the other errors do without them; a value that a text repeats may have any.

use std::fmt;

/// The words by which clients recognize a refusal for size, wherever in the text, in upper or lower case.
pub(super) const SIZE_WORDS: [&str; 7] = ["too many", "too much", "reduce", "narrow", "rows", "documents", "limit"];

/// Takes the place of the second letter of a word of [`SIZE_WORDS`].
const MASK: char = '*';

/// The text of an error. An error is answered with no other type of text.
#[derive(Debug)]
pub(super) struct ErrorText(String);

impl ErrorText {
    /// Returns the text of an error about size, which keeps its words.
    pub(super) const fn about_size(text: String) -> Self {
        Self(text)
    }

    /// Returns the text of any other error. A `*` takes the place of the second letter of each word of [`SIZE_WORDS`]:
    /// the campaign `Burrows` becomes `Burr*ws`, which people still recognize, and clients do not.
    pub(super) fn new(text: String) -> Self {
        let (folded, sources) = folded(&text);
        let mut masked: Vec<usize> = SIZE_WORDS
            .iter()
            .flat_map(|word| places(&folded, word.as_bytes()))
            .filter_map(|place| sources.get(place + 1).copied())
            .collect();
        if masked.is_empty() {
            return Self(text);
        }
        masked.sort_unstable();
        let is_masked = |place: usize| masked.binary_search(&place).is_ok();
        Self(text.chars().enumerate().map(|(place, char)| if is_masked(place) { MASK } else { char }).collect())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a text as clients may read it that ignore upper and lower case, and for each of its bytes the number of the
/// character that it comes from.
///
/// Languages disagree about letters outside ASCII: the long `ſ` and the dotless `ı` are an `s` and an `i` for some,
/// and `ß` is `ss`. In the JSON of a response, a line end, a carriage return, a tab and U+001D end in a letter.
fn folded(text: &str) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut sources = Vec::with_capacity(text.len());
    for (place, char) in text.chars().enumerate() {
        let before = bytes.len();
        match char {
            '\n' => bytes.push(b'n'),
            '\r' => bytes.push(b'r'),
            '\t' => bytes.push(b't'),
            '\u{1d}' => bytes.push(b'd'),
            _ => {
                let letters = char.to_uppercase().flat_map(char::to_lowercase);
                // The dot of `İ` is a character of its own once the letter is in lower case.
                let letters = letters.filter(|letter| *letter != '\u{307}');
                // No word has a letter beyond one byte.
                bytes.extend(letters.map(|letter| u8::try_from(letter).unwrap_or(b'?')));
            }
        }
        sources.resize(sources.len() + bytes.len() - before, place);
    }
    (bytes, sources)
}

/// Returns the places at which `word` begins in `text`.
fn places<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    text.windows(word.len()).enumerate().filter(move |(_, window)| *window == word).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        ErrorText::new(text.to_owned()).to_string()
    }

    #[test]
    fn a_word_of_size_keeps_all_but_its_second_letter() {
        for (text, expected) in [
            ("Drains", "Drains"),
            ("Burrows Plumbing", "Burr*ws Plumbing"),
            ("TOO MANY LIMITS", "T*O MANY L*MITS"),
            ("narrows", "n*rr*ws"),
            ("No-Limit Documents reduce too much", "No-L*mit D*cuments r*duce t*o much"),
            ("too  many row s", "too  many row s"),
            ("é rows é", "é r*ws é"),
        ] {
            assert_eq!(masked(text), expected);
        }
        assert_eq!(ErrorText::about_size("too many rows".to_owned()).as_str(), "too many rows");
    }

    #[test]
    fn other_spellings_of_a_letter_are_recognized() {
        for (text, expected) in [
            ("l\u{131}mit", "l*mit"),
            ("L\u{130}M\u{130}T", "L*M\u{130}T"),
            ("li\u{307}mit", "l*\u{307}mit"),
            ("row\u{17f}", "r*w\u{17f}"),
            ("row\u{df}", "r*w\u{df}"),
            ("row\u{fb06}", "r*w\u{fb06}"),
            ("too man\u{1e99}", "t*o man\u{1e99}"),
            ("\u{149}arrow", "\u{149}*rrow"),
            ("\rows", "\r*ws"),
            ("\narrow", "\n*rrow"),
            ("\too many", "\t*o many"),
            ("\u{1d}ocuments", "\u{1d}*cuments"),
        ] {
            assert_eq!(masked(text), expected, "{text:?}");
        }
    }
}
