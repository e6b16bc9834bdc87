//! Many texts in one place of memory.

use std::ops::Index;

/// Texts by number, end to end in one place of memory: to hold another takes no memory of its own, and what is read in order lies in order.
///
/// ```
/// use trueup_core::TextList;
///
/// let channels: TextList = ["Paid Search", "Direct"].into_iter().collect();
/// assert_eq!((channels.len(), &channels[1]), (2, "Direct"));
/// assert_eq!(channels.get(2), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextList {
    bytes: String,
    /// Where each text begins, and where the last of them ends.
    offsets: Vec<usize>,
}

impl TextList {
    /// No text, with room for so many of so many bytes together.
    pub(crate) fn with_capacity(texts: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(texts + 1);
        offsets.push(0);
        Self { bytes: String::with_capacity(bytes), offsets }
    }

    /// Makes room for so many more texts of so many bytes together.
    pub(crate) fn reserve(&mut self, texts: usize, bytes: usize) {
        self.offsets.reserve(texts);
        self.bytes.reserve(bytes);
    }

    /// Gives back the room that no text takes.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.offsets.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.offsets.push(self.bytes.len());
    }

    /// The number of texts.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no text.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of a number, counted from 0; `None` past the last.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&str> {
        let ends = self.offsets.get(number..)?.first_chunk::<2>()?;
        self.bytes.get(ends[0]..ends[1])
    }

    /// The texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }

    /// Bytes of all texts together.
    pub(crate) const fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.offsets.capacity() * size_of::<usize>()
    }
}

impl Default for TextList {
    /// No text.
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl Index<usize> for TextList {
    type Output = str;

    /// The text of a number.
    ///
    /// # Panics
    /// There is no such text.
    fn index(&self, number: usize) -> &str {
        &self.bytes[self.offsets[number]..self.offsets[number + 1]]
    }
}

impl<T: AsRef<str>> FromIterator<T> for TextList {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut list = Self::default();
        texts.into_iter().for_each(|text| list.push(text.as_ref()));
        list
    }
}
