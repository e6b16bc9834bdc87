//! A compact list of texts, the code of a text in it, values and bytes as text, and the form of texts and names in
//! error messages.

use crate::memory::{column_bytes_while_adding, list_bytes_while_adding};
use std::fmt;
use std::ops::Index;

/// An append-only list of texts in one buffer, numbered from 0. No text has an allocation of its own, and texts that
/// follow each other are adjacent in memory.
///
/// ```
/// use trueup_core::StringList;
///
/// let channels: StringList = ["Paid Search", "Direct"].into_iter().collect();
/// assert_eq!((channels.len(), &channels[1]), (2, "Direct"));
/// assert_eq!(channels.get(2), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringList {
    bytes: String,
    /// The offset of each text in `bytes`, and the end of the last text.
    offsets: Vec<usize>,
}

impl StringList {
    /// Makes an empty list with room for `texts` texts of `bytes` bytes in total.
    pub(crate) fn with_capacity(texts: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(texts + 1);
        offsets.push(0);
        Self { bytes: String::with_capacity(bytes), offsets }
    }

    /// Reserves capacity for `texts` more texts of `bytes` bytes in total.
    pub(crate) fn reserve(&mut self, texts: usize, bytes: usize) {
        self.offsets.reserve(texts);
        self.bytes.reserve(bytes);
    }

    /// Frees the memory that no text uses.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.offsets.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }

    /// Appends a text.
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.offsets.push(self.bytes.len());
    }

    /// Returns the number of texts.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text with a number, counted from 0; `None` after the last text.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&str> {
        let ends = self.offsets.get(number..)?.first_chunk::<2>()?;
        self.bytes.get(ends[0]..ends[1])
    }

    /// Returns the texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }

    /// Returns the sum of the lengths of all texts in bytes.
    pub(crate) const fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of bytes that may be held while `texts` texts of `bytes` bytes in total are added.
    pub(crate) fn bytes_while_adding(&self, texts: usize, bytes: usize) -> usize {
        let texts = column_bytes_while_adding(&self.offsets, texts);
        texts + list_bytes_while_adding(self.bytes.len(), self.bytes.capacity(), bytes, 1)
    }

    /// Returns the number of bytes held, with what is reserved for more texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.offsets.capacity() * size_of::<usize>()
    }
}

impl Default for StringList {
    /// Makes an empty list.
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl Index<usize> for StringList {
    type Output = str;

    /// Returns the text with a number, counted from 0.
    ///
    /// # Panics
    /// The number is beyond the last text.
    fn index(&self, number: usize) -> &str {
        &self.bytes[self.offsets[number]..self.offsets[number + 1]]
    }
}

impl<T: AsRef<str>> FromIterator<T> for StringList {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut list = Self::default();
        texts.into_iter().for_each(|text| list.push(text.as_ref()));
        list
    }
}

/// A dictionary code: the number of a text in the list of texts that is the dictionary of its column.
///
/// A code means a text only together with that list. The dictionaries of two columns, or of one column in two row
/// groups, give different texts the same code. Columns, and slices that inner loops read, hold codes as bare integers,
/// as narrow as the number of texts allows; a code has this type where it is passed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    /// The code of the empty text in the dictionary of a stored column, and of null, which is the empty text.
    pub(crate) const EMPTY: Self = Self(0);

    /// Returns the place of the text in its dictionary, and in tables with an entry for each of its texts.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Index<Code> for StringList {
    type Output = str;

    /// Returns the text with a code.
    ///
    /// # Panics
    /// The code is not one of this list.
    fn index(&self, code: Code) -> &str {
        &self[code.index()]
    }
}

/// The most characters of a value in an error message.
const MAX_SHOWN: usize = 200;

/// A value of the input in an error message: the whole value or, if it is long, its beginning and its number of
/// characters.
///
/// ```
/// use trueup_core::Shown;
///
/// assert_eq!(Shown("acme").to_string(), "acme");
/// assert!(Shown(&"é".repeat(5_000)).to_string().ends_with("éé... (5000 characters)"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => write!(f, "{}... ({} characters)", &self.0[..end], self.0.chars().count()),
            None => f.write_str(self.0),
        }
    }
}

/// Returns names in backticks, with commas between them.
pub(crate) fn quoted(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    joined(names, ", ")
}

/// Returns a question with similar names, to follow a message; an empty text if there are none.
pub(crate) fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!(" (did you mean {}?)", joined(similar, " or ")) }
}

/// Returns names in backticks, with a separator between them.
pub(crate) fn joined(names: impl IntoIterator<Item: AsRef<str>>, separator: &str) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", Shown(name.as_ref())));
    names.collect::<Vec<_>>().join(separator)
}

/// Makes `String` and a type that has a text form convertible into each other, as serde does for `try_from` and `into`.
macro_rules! text_form {
    ($type:ty, $error:ty) => {
        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}

pub(crate) use text_form;

/// Returns bytes in lower-case hex, as manifests hold checksums.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN, Shown};

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let longest = "ä€𝄞".repeat(MAX_SHOWN).chars().take(MAX_SHOWN).collect::<String>();
        assert_eq!(Shown(&longest).to_string(), longest);
        assert_eq!(Shown(&format!("{longest}𝄞")).to_string(), format!("{longest}... ({} characters)", MAX_SHOWN + 1));
        assert_eq!(Shown("").to_string(), "");
    }
}
