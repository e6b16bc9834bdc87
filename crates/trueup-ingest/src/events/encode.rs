//! Step 1, encode: rows become event batches, and their recurring texts become codes.

use super::dictionaries::{DictionaryBuilders, lock};
use super::event_batch::{DimensionColumn, EventBatch, column, dimension_arrays, primitive_column, unsound_column};
use super::left_out::LeftOut;
use super::missing_total::MissingTotal;
use crate::read::{CheckedRows, RowRules};
use crate::report::IgnoredColumn;
use crate::row_source::with_source;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch, StringArray, UInt8Array, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::dictionary::garbage_collect_dictionary;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{
    ACCOUNT, Accounts, CellFault, ClockZone, DATE, DATE_SOURCE_COLUMN, DATE_TIME, EVENT_ID, EventNormalizer,
    OPPORTUNITY_ID, RECORD_COLUMN, SchemaFault, Stage, TOTAL, TYPE,
};

/// A column of a batch becomes codes if it has at most this many distinct texts, even if every row has a text of its
/// own.
const FEW_TEXTS: usize = 256;

/// A column of a batch becomes codes if it has at least this many rows per distinct text.
const ROWS_PER_TEXT: usize = 2;

/// Checks the rows of one input schema and encodes them.
pub(super) struct EventRules<'a> {
    pub(super) normalizer: Arc<EventNormalizer>,
    /// The source of rows that do not name theirs.
    pub(super) source: Option<Arc<str>>,
    pub(super) missing_total: &'a MissingTotal,
    pub(super) left_out: &'a LeftOut<'a>,
    /// The number of the file among the files that deliver records.
    pub(super) delivery: Option<u32>,
    pub(super) dictionaries: &'a DictionaryBuilders,
}

/// Makes the normalizer of each input schema. The last one is kept, because parts of an input mostly have the same
/// schema, and collecting the time zones of many accounts takes long.
pub(super) struct NormalizerFactory<'a> {
    accounts: &'a Accounts,
    clock_zone: Option<ClockZone>,
    last: Mutex<Option<(Schema, Arc<EventNormalizer>)>>,
}

impl<'a> NormalizerFactory<'a> {
    pub(super) fn new(accounts: &'a Accounts, clock_zone: Option<ClockZone>) -> Self {
        Self { accounts, clock_zone, last: Mutex::default() }
    }

    pub(super) fn normalizer(&self, schema: &Schema) -> Result<Arc<EventNormalizer>, SchemaFault> {
        let mut last = lock(&self.last);
        if let Some((of, normalizer)) = &*last
            && of == schema
        {
            return Ok(normalizer.clone());
        }
        let normalizer = EventNormalizer::new(schema, self.accounts)?;
        let normalizer =
            Arc::new(normalizer.with_record()?.clock_zone(self.clock_zone).keeping_codes().with_date_source());
        *last = Some((schema.clone(), normalizer.clone()));
        Ok(normalizer)
    }
}

impl CheckedRows for EventBatch {
    fn totals(&self) -> ControlTotals {
        let total = self.totals.iter().flatten().map(i128::from).sum();
        ControlTotals { total, ..ControlTotals::of_rows(self.len() as u64) }
    }

    fn bytes(&self) -> usize {
        self.buffer_bytes()
    }
}

impl RowRules<EventBatch> for EventRules<'_> {
    fn ignored(&self) -> Vec<IgnoredColumn> {
        self.normalizer.ignored_columns().iter().filter_map(|column| IgnoredColumn::of_events(column)).collect()
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<(EventBatch, Vec<CellFault>), ArrowError> {
        self.missing_total.look(batch)?;
        let normalized = self.normalizer.normalize(batch)?;
        let named = with_source(normalized.batch, self.source.as_deref())?;
        let rows = encode(&*self.left_out.without(&named, self.delivery)?, self.dictionaries)?;
        Ok((rows.grouped_by_account()?, normalized.faults))
    }
}

/// Encodes rows in stored form, whose texts may be Arrow dictionaries.
pub(super) fn encode(batch: &RecordBatch, dictionaries: &DictionaryBuilders) -> Result<EventBatch, ArrowError> {
    let totals: PrimitiveArray<Decimal128Type> = primitive_column(batch, TOTAL)?;
    // Without any `dateTime`, no day needs a source.
    let is_needed = |(name, column): &(&str, &ArrayRef)| {
        ![DATE_SOURCE_COLUMN, RECORD_COLUMN].contains(name) || column.null_count() < column.len()
    };
    let mut dimensions: Vec<(&str, &ArrayRef)> = dimension_arrays(batch).filter(is_needed).collect();
    dimensions.sort_unstable_by_key(|(name, _)| *name);
    let dimension = |(name, column)| Ok((str::to_owned(name), dimension_column(name, column, dictionaries)?));
    Ok(EventBatch {
        accounts: account_codes(column(batch, ACCOUNT)?, dictionaries)?,
        opportunity_ids: plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?,
        stages: stage_codes(column(batch, TYPE)?)?,
        dates: primitive_column(batch, DATE)?,
        date_times: primitive_column(batch, DATE_TIME)?,
        event_ids: plain_texts(EVENT_ID, column(batch, EVENT_ID)?)?,
        totals: totals.try_unary::<_, Int64Type, _>(|total| i64::try_from(total).map_err(|_| unsound_column(TOTAL)))?,
        dimensions: dimensions.into_iter().map(dimension).collect::<Result<_, ArrowError>>()?,
    })
}

/// Codes that are as narrow as they can be.
enum NarrowCodes {
    Codes8(Vec<u8>),
    Codes16(Vec<u16>),
    Codes32(Vec<u32>),
}

impl NarrowCodes {
    fn of(codes: Vec<u32>) -> Self {
        let largest = codes.iter().fold(0, |largest, code| largest.max(*code));
        #[expect(clippy::cast_possible_truncation, reason = "no code is larger than the largest")]
        if u8::try_from(largest).is_ok() {
            Self::Codes8(codes.into_iter().map(|code| code as u8).collect())
        } else if u16::try_from(largest).is_ok() {
            Self::Codes16(codes.into_iter().map(|code| code as u16).collect())
        } else {
            Self::Codes32(codes)
        }
    }
}

/// Returns the codes of a column of account keys.
fn account_codes(column: &ArrayRef, dictionaries: &DictionaryBuilders) -> Result<UInt32Array, ArrowError> {
    let texts = dictionaries.of(ACCOUNT);
    by_text(ACCOUNT, column, |text| lock(&texts).code(text))?
        .map(UInt32Array::from)
        .ok_or_else(|| unsound_column(ACCOUNT))
}

/// Returns the codes of a column of stages.
fn stage_codes(column: &ArrayRef) -> Result<UInt8Array, ArrowError> {
    // A dictionary may hold a text that is no stage, if no row has it.
    const NONE: u8 = u8::MAX;
    let code = |name: &str| Some(Stage::from_name(name).map_or(NONE, Stage::code));
    let codes = by_text(TYPE, column, code)?.filter(|codes| !codes.contains(&NONE));
    codes.map(UInt8Array::from).ok_or_else(|| unsound_column(TYPE))
}

/// Encodes a dimension. It keeps its texts if the dictionary has no room for them, or if they hardly recur.
fn dimension_column(
    name: &str,
    column: &ArrayRef,
    dictionaries: &DictionaryBuilders,
) -> Result<DimensionColumn, ArrowError> {
    let mut texts_left = FEW_TEXTS.max(column.len() / ROWS_PER_TEXT);
    // A dictionary with more texts than rows has texts that no row has.
    let compacted = match dictionary(column) {
        Some((coded, texts)) if texts.len() > coded.len() => Some(garbage_collect_dictionary(coded)?),
        _ => None,
    };
    let coded = match &compacted {
        Some(coded) => Some(coded).zip(coded.values().as_string_opt::<i32>()),
        None => dictionary(column),
    };
    if coded.is_some_and(|(_, texts)| texts.len() > texts_left) {
        return Ok(DimensionColumn::Strings(plain_texts(name, column)?));
    }
    let texts = dictionaries.of(name);
    let code = |text: &str| {
        texts_left = texts_left.checked_sub(1)?;
        lock(&texts).code(text)
    };
    let codes = match coded {
        Some((coded, texts)) => values_of_texts(texts, code).map(|codes| match NarrowCodes::of(codes) {
            NarrowCodes::Codes8(codes) => NarrowCodes::Codes8(of_rows(coded.keys(), &codes, 0)),
            NarrowCodes::Codes16(codes) => NarrowCodes::Codes16(of_rows(coded.keys(), &codes, 0)),
            NarrowCodes::Codes32(codes) => NarrowCodes::Codes32(of_rows(coded.keys(), &codes, 0)),
        }),
        None => by_text(name, column, code)?.map(NarrowCodes::of),
    };
    Ok(match codes {
        Some(NarrowCodes::Codes8(codes)) => DimensionColumn::Codes8(codes.into()),
        Some(NarrowCodes::Codes16(codes)) => DimensionColumn::Codes16(codes.into()),
        Some(NarrowCodes::Codes32(codes)) => DimensionColumn::Codes32(codes.into()),
        None => DimensionColumn::Strings(plain_texts(name, column)?),
    })
}

/// Returns the texts of a column, which may be an Arrow dictionary.
pub(super) fn plain_texts(name: &str, column: &ArrayRef) -> Result<StringArray, ArrowError> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Ok(texts.clone());
    }
    arrow_cast::cast(column, &DataType::Utf8)?.as_string_opt::<i32>().cloned().ok_or_else(|| unsound_column(name))
}

/// Returns the column as an Arrow dictionary of texts, if it is one.
fn dictionary(column: &ArrayRef) -> Option<(&DictionaryArray<Int32Type>, &StringArray)> {
    let coded = column.as_dictionary_opt::<Int32Type>()?;
    Some((coded, coded.values().as_string_opt::<i32>()?))
}

/// Maps the text of each row; null counts as the empty text. Calls `of_text` once for each distinct text; of an Arrow
/// dictionary for the empty text and for each text that the dictionary holds, even if no row has it. Returns `None` as
/// soon as `of_text` does.
fn by_text<T: Copy + Default>(
    name: &str,
    column: &ArrayRef,
    mut of_text: impl FnMut(&str) -> Option<T>,
) -> Result<Option<Vec<T>>, ArrowError> {
    if let Some((coded, texts)) = dictionary(column) {
        let Some(empty) = of_text("") else { return Ok(None) };
        return Ok(values_of_texts(texts, of_text).map(|values| of_rows(coded.keys(), &values, empty)));
    }
    let texts = column.as_string_opt::<i32>().ok_or_else(|| unsound_column(name))?;
    let mut known: HashMap<&str, T> = HashMap::new();
    let mut last: Option<(&str, T)> = None;
    let mut values = Vec::with_capacity(texts.len());
    for text in texts.iter().map(Option::unwrap_or_default) {
        let seen = last.filter(|(last, _)| *last == text).map(|(_, value)| value).or_else(|| known.get(text).copied());
        let value = match seen {
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

/// Maps each text of an Arrow dictionary. Returns `None` as soon as `of_text` does.
fn values_of_texts<T>(texts: &StringArray, mut of_text: impl FnMut(&str) -> Option<T>) -> Option<Vec<T>> {
    texts.iter().map(|text| of_text(text.unwrap_or_default())).collect()
}

/// Maps each key of an Arrow dictionary; null becomes `empty`.
fn of_rows<T: Copy + Default>(keys: &Int32Array, of_key: &[T], empty: T) -> Vec<T> {
    // The key of a null row may be anything.
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
