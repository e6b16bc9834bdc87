//! Text columns as codes into a dictionary.

use super::{Codes, ColumnFault, Runs};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray};
use hashbrown::HashMap;
use std::sync::Arc;

/// The texts of a column by code. The code 0 is the empty text, and each text has one code.
pub(crate) type Dictionary = Arc<[Arc<str>]>;

/// A code per row, and the texts by code.
pub(crate) type CodedTexts = (Vec<u32>, Dictionary);

/// A column of texts.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    codes: Codes,
    /// One code per customer rather than per event: the column never varies inside a customer of the split.
    per_customer: bool,
    dictionary: Dictionary,
}

impl TextColumn {
    /// Decodes the dictionary array of a text column.
    pub(crate) fn decode(name: &str, array: &ArrayRef, runs: &Runs) -> Result<Self, ColumnFault> {
        let (codes, dictionary) = dictionary_codes(name, array)?;
        let cardinality = dictionary.len();
        let (codes, per_customer) = match per_customer(&codes, runs) {
            Some(codes) => (codes, true),
            None => (codes, false),
        };
        Ok(Self { codes: Codes::new(codes, cardinality), per_customer, dictionary })
    }

    /// The code of an event.
    pub(crate) fn code(&self, customer: usize, event: usize) -> u32 {
        self.codes.get(if self.per_customer { customer } else { event })
    }

    /// Appends the codes of events, whose customers stand beside them.
    pub(crate) fn gather(&self, customers: &[u32], events: &[u32], into: &mut Vec<u32>) {
        self.codes.gather(if self.per_customer { customers } else { events }, into);
    }

    /// Whether a customer's events all have the same text.
    pub(crate) const fn is_per_customer(&self) -> bool {
        self.per_customer
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        // Beside its bytes a text has a pointer, a length and two counters.
        let texts: usize = self.dictionary.iter().map(|text| text.len() + 32).sum();
        self.codes.bytes() + texts
    }

    /// The texts by code.
    pub(crate) const fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }
}

/// The codes and texts of a dictionary array; null and the empty text are code 0.
pub(super) fn dictionary_codes(name: &str, array: &ArrayRef) -> Result<CodedTexts, ColumnFault> {
    let fault = |fault| ColumnFault::new(name, fault);
    let dictionary: &DictionaryArray<Int32Type> =
        array.as_dictionary_opt().ok_or_else(|| fault("expected a dictionary of texts"))?;
    let values = dictionary.values().as_string_opt::<i32>().ok_or_else(|| fault("expected a dictionary of texts"))?;
    let mut texts: Vec<Arc<str>> = vec![Arc::from("")];
    let mut known: HashMap<&str, u32> = HashMap::with_capacity(values.len());
    known.insert("", 0);
    let mut codes_of_values = Vec::with_capacity(values.len());
    for text in values {
        let text = text.unwrap_or("");
        let next = u32::try_from(texts.len()).map_err(|_| fault("too many texts"))?;
        let code = *known.entry(text).or_insert(next);
        if code == next {
            texts.push(Arc::from(text));
        }
        codes_of_values.push(code);
    }
    let code = |key: i32| usize::try_from(key).ok().and_then(|key| codes_of_values.get(key)).copied();
    let keys = dictionary.keys();
    let codes: Option<Vec<u32>> = if keys.null_count() == 0 {
        keys.values().iter().map(|key| code(*key)).collect()
    } else {
        keys.iter().map(|key| key.map_or(Some(0), code)).collect()
    };
    Ok((codes.ok_or_else(|| fault("a code is not in the dictionary"))?, texts.into()))
}

/// One code per customer, if no customer has two.
fn per_customer(codes: &[u32], runs: &Runs) -> Option<Vec<u32>> {
    (0..runs.len())
        .map(|customer| {
            let (first, rest) = codes[runs.events(customer)].split_first()?;
            rest.iter().all(|code| code == first).then_some(*first)
        })
        .collect()
}
