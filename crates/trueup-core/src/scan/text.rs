//! Text columns as codes into a dictionary.

use super::{ColumnFault, Runs};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray};
use std::sync::Arc;

/// A column of texts. The code 0 is the empty text; other texts may stand under more than one code.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    codes: Codes,
    /// One code per customer rather than per event: the column never varies inside a customer of the split.
    per_customer: bool,
    dictionary: Vec<Arc<str>>,
}

/// Codes, as narrow as the dictionary allows.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

impl Codes {
    fn new(codes: Vec<u32>, cardinality: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "every code is below the cardinality")]
        match cardinality {
            0..=0x100 => Self::Byte(codes.into_iter().map(|code| code as u8).collect()),
            0x101..=0x1_0000 => Self::Short(codes.into_iter().map(|code| code as u16).collect()),
            _ => Self::Word(codes),
        }
    }

    fn get(&self, at: usize) -> u32 {
        match self {
            Self::Byte(codes) => u32::from(codes[at]),
            Self::Short(codes) => u32::from(codes[at]),
            Self::Word(codes) => codes[at],
        }
    }
}

impl TextColumn {
    /// Decodes the dictionary array of a text column.
    pub(crate) fn decode(name: &str, array: &ArrayRef, runs: &Runs) -> Result<Self, ColumnFault> {
        let (codes, dictionary) = dictionary_codes(name, array)?;
        let cardinality = dictionary.len();
        match per_customer(&codes, runs) {
            Some(codes) => Ok(Self { codes: Codes::new(codes, cardinality), per_customer: true, dictionary }),
            None => Ok(Self { codes: Codes::new(codes, cardinality), per_customer: false, dictionary }),
        }
    }

    /// The code of an event.
    pub(crate) fn code(&self, customer: usize, event: usize) -> u32 {
        self.codes.get(if self.per_customer { customer } else { event })
    }

    /// The texts by code.
    pub(crate) fn dictionary(&self) -> &[Arc<str>] {
        &self.dictionary
    }
}

/// The codes and texts of a dictionary array; null and the empty text are code 0.
pub(super) fn dictionary_codes(name: &str, array: &ArrayRef) -> Result<(Vec<u32>, Vec<Arc<str>>), ColumnFault> {
    let dictionary: &DictionaryArray<Int32Type> =
        array.as_dictionary_opt().ok_or_else(|| ColumnFault::new(name, "expected a dictionary of texts"))?;
    let values = dictionary
        .values()
        .as_string_opt::<i32>()
        .ok_or_else(|| ColumnFault::new(name, "expected a dictionary of texts"))?;
    let mut texts: Vec<Arc<str>> = vec![Arc::from("")];
    let mut codes_of_values = Vec::with_capacity(values.len());
    for text in values {
        match text {
            None | Some("") => codes_of_values.push(0),
            Some(text) => {
                codes_of_values.push(u32::try_from(texts.len()).map_err(|_| ColumnFault::new(name, "too many texts"))?);
                texts.push(Arc::from(text));
            }
        }
    }
    let keys = dictionary.keys();
    let code = |key: i32| usize::try_from(key).ok().and_then(|key| codes_of_values.get(key)).copied().unwrap_or(0);
    let codes = if keys.null_count() == 0 {
        keys.values().iter().map(|key| code(*key)).collect()
    } else {
        keys.iter().map(|key| key.map_or(0, code)).collect()
    };
    Ok((codes, texts))
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
