//! Texts of stored rows to codes.

use super::coded::{Coded, Dimension, wrong};
use super::texts::{Dictionaries, lock};
use crate::ignored::IgnoredColumn;
use crate::read::RowRules;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow_schema::{ArrowError, DataType, Schema};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};
use trueup_core::model::{ACCOUNT, Accounts, EventNormalizer, Normalized, SchemaFault, Stage, TYPE};

/// A column with fewer distinct texts in a batch is held as codes, even if every row has its own.
const FEW: usize = 256;

/// A column with more distinct texts than one in so many rows is not.
const RECURRING: usize = 2;

/// Codes as wide as they need to be.
enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

impl Codes {
    fn narrow(codes: Vec<u32>) -> Self {
        let largest = codes.iter().fold(0, |largest, code| largest.max(*code));
        #[expect(clippy::cast_possible_truncation, reason = "no code is larger than the largest")]
        if u8::try_from(largest).is_ok() {
            Self::Byte(codes.into_iter().map(|code| code as u8).collect())
        } else if u16::try_from(largest).is_ok() {
            Self::Short(codes.into_iter().map(|code| code as u16).collect())
        } else {
            Self::Word(codes)
        }
    }
}

/// The rules of events, which give rows the form in which they are held.
pub(super) struct CodedRules<'a> {
    normalizer: Arc<EventNormalizer>,
    dictionaries: &'a Dictionaries,
}

/// Makes the rules of events. Those of the last schema are kept: parts of an input mostly have the same, and to know the time zones of
/// all accounts takes long if there are many.
pub(super) struct MakeCodedRules<'a> {
    accounts: &'a Accounts,
    dictionaries: &'a Dictionaries,
    last: Mutex<Option<(Schema, Arc<EventNormalizer>)>>,
}

impl<'a> MakeCodedRules<'a> {
    pub(super) fn new(accounts: &'a Accounts, dictionaries: &'a Dictionaries) -> Self {
        Self { accounts, dictionaries, last: Mutex::default() }
    }

    pub(super) fn of(&self, schema: &Schema) -> Result<CodedRules<'a>, SchemaFault> {
        let mut last = lock(&self.last);
        let normalizer = match &*last {
            Some((of, normalizer)) if of == schema => normalizer.clone(),
            _ => {
                let normalizer = Arc::new(EventNormalizer::new(schema, self.accounts)?.keeping_codes());
                *last = Some((schema.clone(), normalizer.clone()));
                normalizer
            }
        };
        Ok(CodedRules { normalizer, dictionaries: self.dictionaries })
    }
}

impl RowRules for CodedRules<'_> {
    fn ignored(&self) -> Vec<IgnoredColumn> {
        self.normalizer.ignored_columns().iter().filter_map(|column| IgnoredColumn::of_events(column)).collect()
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        let mut normalized = self.normalizer.normalize(batch)?;
        normalized.batch = Coded::of_stored(&normalized.batch, self.dictionaries)?.by_account()?;
        Ok(normalized)
    }
}

/// Every account has a code.
pub(super) fn code_accounts(column: &ArrayRef, dictionaries: &Dictionaries) -> Result<UInt32Array, ArrowError> {
    let texts = dictionaries.of(ACCOUNT);
    by_text(ACCOUNT, column, |text| lock(&texts).code(text))?.map(UInt32Array::from).ok_or_else(|| wrong(ACCOUNT))
}

pub(super) fn stage_codes(column: &ArrayRef) -> Result<UInt8Array, ArrowError> {
    // A dictionary may hold texts that no row has, and so what is no stage.
    const NONE: u8 = u8::MAX;
    let code = |name: &str| Some(Stage::from_name(name).map_or(NONE, Stage::code));
    let codes = by_text(TYPE, column, code)?.filter(|codes| !codes.contains(&NONE));
    codes.map(UInt8Array::from).ok_or_else(|| wrong(TYPE))
}

/// A column as codes, unless there is no room for its texts or they hardly recur.
pub(super) fn code_texts(name: &str, column: &ArrayRef, dictionaries: &Dictionaries) -> Result<Dimension, ArrowError> {
    let mut left = FEW.max(column.len() / RECURRING);
    let coded = dictionary(column);
    if coded.is_some_and(|(_, texts)| texts.len() > left) {
        return Ok(Dimension::Plain(plain_texts(name, column)?));
    }
    let texts = dictionaries.of(name);
    let code = |text: &str| {
        left = left.checked_sub(1)?;
        lock(&texts).code(text)
    };
    let codes = match coded {
        Some((coded, texts)) => values_of_texts(texts, code).map(|codes| match Codes::narrow(codes) {
            Codes::Byte(codes) => Codes::Byte(of_rows(coded.keys(), &codes, 0)),
            Codes::Short(codes) => Codes::Short(of_rows(coded.keys(), &codes, 0)),
            Codes::Word(codes) => Codes::Word(of_rows(coded.keys(), &codes, 0)),
        }),
        None => by_text(name, column, code)?.map(Codes::narrow),
    };
    Ok(match codes {
        Some(Codes::Byte(codes)) => Dimension::Byte(codes.into()),
        Some(Codes::Short(codes)) => Dimension::Short(codes.into()),
        Some(Codes::Word(codes)) => Dimension::Word(codes.into()),
        None => Dimension::Plain(plain_texts(name, column)?),
    })
}

/// A column's texts spelled out.
pub(super) fn plain_texts(name: &str, column: &ArrayRef) -> Result<StringArray, ArrowError> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Ok(texts.clone());
    }
    arrow_cast::cast(column, &DataType::Utf8)?.as_string_opt::<i32>().cloned().ok_or_else(|| wrong(name))
}

/// The keys of a column and the texts behind them, if it has such.
fn dictionary(column: &ArrayRef) -> Option<(&DictionaryArray<Int32Type>, &StringArray)> {
    let coded = column.as_dictionary_opt::<Int32Type>()?;
    Some((coded, coded.values().as_string_opt::<i32>()?))
}

/// For each row the value that `of_text` gives for its text, which is asked once for a text that recurs; null is the empty text. `None`
/// as soon as it gives none.
fn by_text<T: Copy + Default>(
    name: &str,
    column: &ArrayRef,
    mut of_text: impl FnMut(&str) -> Option<T>,
) -> Result<Option<Vec<T>>, ArrowError> {
    if let Some((coded, texts)) = dictionary(column) {
        let Some(empty) = of_text("") else { return Ok(None) };
        return Ok(values_of_texts(texts, of_text).map(|values| of_rows(coded.keys(), &values, empty)));
    }
    let texts = column.as_string_opt::<i32>().ok_or_else(|| wrong(name))?;
    let mut known: HashMap<&str, T> = HashMap::new();
    let mut last: Option<(&str, T)> = None;
    let mut values = Vec::with_capacity(texts.len());
    for text in texts.iter().map(Option::unwrap_or_default) {
        let met = last.filter(|(last, _)| *last == text).map(|(_, value)| value).or_else(|| known.get(text).copied());
        let value = match met {
            Some(value) => value,
            None => {
                let Some(value) = of_text(text) else { return Ok(None) };
                known.insert(text, value);
                value
            }
        };
        last = Some((text, value));
        values.push(value);
    }
    Ok(Some(values))
}

/// For each text of a dictionary its value; `None` as soon as one has none.
fn values_of_texts<T>(texts: &StringArray, mut of_text: impl FnMut(&str) -> Option<T>) -> Option<Vec<T>> {
    texts.iter().map(|text| of_text(text.unwrap_or_default())).collect()
}

/// For each key its value; `empty` for null.
fn of_rows<T: Copy + Default>(keys: &Int32Array, of_key: &[T], empty: T) -> Vec<T> {
    // A key that is not null is that of a text.
    let value = |key: i32| usize::try_from(key).ok().and_then(|key| of_key.get(key)).copied().unwrap_or_default();
    let mut values: Vec<T> = keys.values().iter().map(|key| value(*key)).collect();
    if let Some(nulls) = keys.nulls() {
        let mut end = 0;
        for (start, next) in nulls.valid_slices() {
            values[end..start].fill(empty);
            end = next;
        }
        values[end..].fill(empty);
    }
    values
}
