//! Text columns as codes into a dictionary.

use super::{Codes, ColumnFault, ColumnSource, CustomerIndex, StoredColumn};
use crate::TextList;
use hashbrown::HashMap;
use std::sync::Arc;

/// The texts of a column by code. The code 0 is the empty text, and each text has one code.
pub(crate) type TextDictionary = Arc<TextList>;

/// A code per row, and the texts by code.
pub(super) type CodedTexts = (Vec<u32>, TextDictionary);

/// A column of texts.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    codes: Codes,
    /// One code per customer rather than per event: the column never varies inside a customer of the split.
    per_customer: bool,
    dictionary: TextDictionary,
}

impl TextColumn {
    /// Decodes the text column of that name.
    pub(super) fn decode(
        name: &str,
        source: &impl ColumnSource,
        customers: &CustomerIndex,
    ) -> Result<Self, ColumnFault> {
        let (codes, dictionary) = coded(name, source)?;
        let (codes, per_customer) = match codes.per_customer(customers.offsets()) {
            Some(codes) => (codes, true),
            None => (codes, false),
        };
        Ok(Self { codes, per_customer, dictionary })
    }

    /// The code of an event.
    #[inline]
    pub(crate) fn code(&self, customer: usize, event: usize) -> u32 {
        self.codes.get(if self.per_customer { customer } else { event })
    }

    /// Appends the codes of events, each of the customer at its place.
    pub(crate) fn gather(&self, customers: &[u32], events: &[u32], codes: &mut Vec<u32>) {
        self.codes.gather(if self.per_customer { customers } else { events }, codes);
    }

    /// The codes, per customer or per event.
    pub(crate) const fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Whether a customer's events all have the same text.
    pub(crate) const fn is_per_customer(&self) -> bool {
        self.per_customer
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.codes.bytes() + self.dictionary.bytes()
    }

    /// The texts by code.
    pub(crate) const fn dictionary(&self) -> &TextDictionary {
        &self.dictionary
    }
}

/// The code of each value, and the texts by code; the empty text is code 0.
///
/// # Errors
/// There are more texts than codes.
pub(super) fn distinct(values: &[&str]) -> Result<CodedTexts, &'static str> {
    let mut texts = TextList::with_capacity(values.len() + 1, values.iter().map(|text| text.len()).sum());
    texts.push("");
    let mut known: HashMap<&str, u32> = HashMap::with_capacity(values.len() + 1);
    known.insert("", 0);
    let mut codes = Vec::with_capacity(values.len());
    for text in values {
        let next = u32::try_from(texts.len()).map_err(|_| "too many texts")?;
        let code = *known.entry(text).or_insert(next);
        if code == next {
            texts.push(text);
        }
        codes.push(code);
    }
    // StoredColumn that are not stored as a dictionary come again and again, and columns are held.
    texts.shrink_to_fit();
    Ok((codes, texts.into()))
}

/// The codes and texts of a column; a row without a value has the code 0.
pub(super) fn coded(name: &str, source: &impl ColumnSource) -> Result<(Codes, TextDictionary), ColumnFault> {
    let StoredColumn { values, rows } = source.texts(name)?;
    let coded = distinct(&values).and_then(|(codes, dictionary)| {
        let codes = Codes::of_rows(&rows, codes, dictionary.len())?;
        Ok((codes, dictionary))
    });
    coded.map_err(|fault| ColumnFault::new(name, fault))
}
