//! Partial results as Arrow columns, for other processes.

use super::accumulators::{Accumulator, ArrowColumns, column, invalid, values};
use super::group::{GroupTable, Interner};
use super::partial_result::PartialResult;
use super::shape::ResultShape;
use super::types::GroupSlot;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, DictionaryArray, LargeStringArray, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// The groups of a partial result as Arrow columns without nulls: a table of events and one of spend, each with one row
/// per group, in any order.
///
/// | column | of | type | meaning |
/// |---|---|---|---|
/// | `subRange` | both | `UInt32` | the number of the sub-range, from 0 |
/// | `dimension.NAME` | both | `Dictionary(UInt32, LargeUtf8)` | the text of a dimension that the table has |
/// | `count.MEASURE` | events | `UInt64` | a count of rows, of their customers, or of state rows |
/// | `sum.MEASURE` | events | `Decimal128(38, 6)` | a sum of money, in currency units |
/// | `agents` | events | `List(Dictionary(UInt32, Utf8))` | the distinct agents, if the query counts them |
/// | `count.reachedPAIR` | events | `UInt64` | the number of durations between two stages |
/// | `sum.daysPAIR` | events | `UInt64` | the sum of these durations, in days |
/// | `dayCountsPAIR` | events | `Map(UInt16, UInt64)` | their number by days, if the query has a percentile of them |
/// | `sum.MEASURE` | spend | `Decimal128(38, 6)`, or `(38, 0)` for clicks and impressions | a sum of spend |
#[derive(Debug)]
pub(crate) struct GroupColumns {
    pub(crate) events: RecordBatch,
    pub(crate) spend: RecordBatch,
}

const SUB_RANGE: &str = "subRange";

/// Appends the keys of groups: the sub-range, and the `dimensions`.
fn push_keys(
    columns: &mut ArrowColumns,
    groups: &GroupTable,
    shape: &ResultShape,
    dimensions: impl Iterator<Item = usize>,
    texts: &[Interner],
) -> Result<(), ArrowError> {
    let codes = |place: usize| UInt32Array::from_iter_values((0..groups.len()).map(|group| groups.key(group)[place]));
    columns.push(SUB_RANGE.to_owned(), codes(0));
    for (place, dimension) in (1..).zip(dimensions) {
        let texts = Arc::new(LargeStringArray::from_iter_values(texts[dimension].texts().iter()));
        columns.push(dimension_name(shape, dimension), DictionaryArray::try_new(codes(place), texts)?);
    }
    Ok(())
}

fn dimension_name(shape: &ResultShape, dimension: usize) -> String {
    format!("dimension.{}", shape.dimensions[dimension].name)
}

impl PartialResult {
    /// Returns the groups as columns.
    ///
    /// # Errors
    /// A sum has more than 38 digits.
    pub(crate) fn to_columns(&self, shape: &ResultShape) -> Result<GroupColumns, ArrowError> {
        let (groups, spend_groups) = (&self.grouped.groups, &self.spend.table);
        let mut events = ArrowColumns::default();
        push_keys(&mut events, &groups.table, shape, 0..shape.dimensions.len(), &groups.texts)?;
        self.grouped.state.to_arrow(groups.table.len(), &mut events)?;
        let mut spend = ArrowColumns::default();
        push_keys(&mut spend, spend_groups, shape, shape.spend_dimensions(), &groups.texts)?;
        self.spend.sums.to_arrow(spend_groups.len(), &mut spend)?;
        Ok(GroupColumns { events: events.batch()?, spend: spend.batch()? })
    }

    /// Makes a partial result of columns that [`to_columns`](Self::to_columns) has made. `rows` is the number of rows
    /// of the query: events in a sub-range that passed the filter.
    ///
    /// # Errors
    /// The columns are not those of the shape, or a group occurs twice.
    pub(crate) fn from_columns(shape: &ResultShape, columns: &GroupColumns, rows: u64) -> Result<Self, ArrowError> {
        let mut result = Self::new(shape);
        result.rows = rows;
        let GroupColumns { events, spend } = columns;
        let keys = result.keys(shape, events, 0..shape.dimensions.len())?;
        let slots: Vec<GroupSlot> = keys.iter().map(|key| result.grouped.slot(key)).collect();
        if result.len() != slots.len() {
            return Err(invalid("a group occurs twice"));
        }
        result.grouped.state.add_arrow(events, &slots)?;
        let keys = result.keys(shape, spend, shape.spend_dimensions())?;
        let Self { grouped, spend: spend_groups, .. } = &mut result;
        let slots: Vec<GroupSlot> = keys.iter().map(|key| spend_groups.slot(key, &grouped.groups.texts)).collect();
        if spend_groups.table.len() != slots.len() {
            return Err(invalid("a group of spend occurs twice"));
        }
        spend_groups.sums.add_arrow(spend, &slots)?;
        Ok(result)
    }

    /// Returns the keys of the groups of a batch, with the codes of this result.
    fn keys(
        &mut self,
        shape: &ResultShape,
        batch: &RecordBatch,
        dimensions: impl Iterator<Item = usize>,
    ) -> Result<Vec<Vec<u32>>, ArrowError> {
        let sub_ranges = values::<UInt32Type>(batch, SUB_RANGE)?;
        if sub_ranges.iter().any(|sub_range| *sub_range as usize >= shape.sub_ranges) {
            return Err(invalid("a group has no sub-range"));
        }
        let mut keys: Vec<Vec<u32>> = sub_ranges.iter().map(|sub_range| vec![*sub_range]).collect();
        for dimension in dimensions {
            let name = dimension_name(shape, dimension);
            let texts = column(batch, &name)?.as_dictionary_opt::<UInt32Type>().filter(|texts| texts.null_count() == 0);
            let texts = texts.ok_or_else(|| invalid(&name))?;
            let values = texts.values().as_string_opt::<i64>().filter(|values| values.null_count() == 0);
            let values = values.ok_or_else(|| invalid(&name))?;
            let codes: Vec<u32> =
                values.iter().flatten().map(|text| self.grouped.groups.code(dimension, text)).collect();
            keys.iter_mut().zip(texts.keys().values()).for_each(|(key, code)| key.push(codes[*code as usize]));
        }
        Ok(keys)
    }
}
