//! Partial results as Arrow columns, for other processes.

use super::count::{DayCount, DurationSums, GroupState};
use super::group::{GroupTable, Interner};
use super::partial_result::PartialResult;
use super::shape::ResultShape;
use super::spend::SpendSums;
use super::types::GroupSlot;
use crate::dictionary::Measure;
use arrow_array::builder::{ListBuilder, MapBuilder, StringDictionaryBuilder, UInt16Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, DictionaryArray, LargeStringArray, RecordBatch, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
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
const AGENTS: &str = "agents";

/// The digits of a decimal.
const DIGITS: u8 = 38;

/// A sum of spend: its measure, the digits of its fraction, and where it is held.
type SpendSumColumn = (Measure, i8, fn(&mut SpendSums) -> &mut i128);

/// The sums of spend.
const SPEND: [SpendSumColumn; 5] = [
    (Measure::AdSpend, 6, |sums| &mut sums.ad_spend),
    (Measure::ManagementFee, 6, |sums| &mut sums.management_fee),
    (Measure::CampaignSpend, 6, |sums| &mut sums.campaign_spend),
    (Measure::Clicks, 0, |sums| &mut sums.clicks),
    (Measure::Impressions, 0, |sums| &mut sums.impressions),
];

/// Columns that become a record batch.
#[derive(Default)]
struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: String, array: impl Array + 'static) {
        self.fields.push(Field::new(name, array.data_type().clone(), false));
        self.arrays.push(Arc::new(array));
    }

    /// Adds the keys of groups: the sub-range, and the `dimensions`.
    fn push_keys(
        &mut self,
        groups: &GroupTable,
        shape: &ResultShape,
        dimensions: impl Iterator<Item = usize>,
        texts: &[Interner],
    ) -> Result<(), ArrowError> {
        let codes =
            |place: usize| UInt32Array::from_iter_values((0..groups.len()).map(|group| groups.key(group)[place]));
        self.push(SUB_RANGE.to_owned(), codes(0));
        for (place, dimension) in (1..).zip(dimensions) {
            let texts = Arc::new(LargeStringArray::from_iter_values(texts[dimension].texts().iter()));
            self.push(dimension_name(shape, dimension), DictionaryArray::try_new(codes(place), texts)?);
        }
        Ok(())
    }

    fn push_sums(&mut self, name: String, fraction: i8, sums: impl Iterator<Item = i128>) -> Result<(), ArrowError> {
        let sums = Decimal128Array::from_iter_values(sums).with_precision_and_scale(DIGITS, fraction)?;
        sums.validate_decimal_precision(DIGITS)?;
        self.push(name, sums);
        Ok(())
    }

    /// Adds the durations of groups.
    fn push_durations(&mut self, state: &GroupState, groups: usize) -> Result<(), ArrowError> {
        for durations in state.durations.pairs() {
            let sums = || (0..groups).map(|group| durations.sums_of(group));
            let reached = UInt64Array::from_iter_values(sums().map(|sums| sums.reached));
            self.push(measure_name("count", Measure::Reached(durations.pair)), reached);
            let days = UInt64Array::from_iter_values(sums().map(|sums| sums.days));
            self.push(measure_name("sum", Measure::Days(durations.pair)), days);
            let Some(by_day) = durations.by_day() else { continue };
            let mut by_day: Vec<DayCount> = by_day.collect();
            by_day.sort_unstable();
            let mut by_day = by_day.into_iter().peekable();
            let mut maps = MapBuilder::new(None, UInt16Builder::new(), UInt64Builder::new());
            for group in 0..groups {
                while let Some(DayCount { days, count, .. }) = by_day.next_if(|of| of.group as usize == group) {
                    maps.keys().append_value(days);
                    maps.values().append_value(count);
                }
                maps.append(true)?;
            }
            self.push(Measure::DayCounts(durations.pair).name().to_owned(), maps.finish());
        }
        Ok(())
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}

fn dimension_name(shape: &ResultShape, dimension: usize) -> String {
    format!("dimension.{}", shape.dimensions[dimension].name)
}

fn measure_name(kind: &str, measure: Measure) -> String {
    format!("{kind}.{}", measure.name())
}

impl PartialResult {
    /// Returns the groups as columns.
    ///
    /// # Errors
    /// A sum has more than 38 digits.
    pub(crate) fn to_columns(&self, shape: &ResultShape) -> Result<GroupColumns, ArrowError> {
        let (groups, state) = (&self.grouped.groups, &self.grouped.state);
        let (table, layout) = (&groups.table, &shape.layout);
        let mut events = Columns::default();
        events.push_keys(table, shape, 0..shape.dimensions.len(), &groups.texts)?;
        for (place, measure) in layout.counts().iter().enumerate() {
            let counts = (0..table.len()).map(|group| state.count_at(group, place));
            events.push(measure_name("count", *measure), UInt64Array::from_iter_values(counts));
        }
        for (place, measure) in layout.money().iter().enumerate() {
            let sums = (0..table.len()).map(|group| state.money_at(group, place));
            events.push_sums(measure_name("sum", *measure), 6, sums)?;
        }
        if layout.agents {
            let mut by_group: Vec<(usize, &str)> = state.agents.iter().collect();
            by_group.sort_unstable();
            let mut by_group = by_group.into_iter().peekable();
            let mut agents = ListBuilder::new(StringDictionaryBuilder::<UInt32Type>::new());
            for group in 0..table.len() {
                while let Some((_, agent)) = by_group.next_if(|(of, _)| *of == group) {
                    agents.values().append(agent)?;
                }
                agents.append(true);
            }
            events.push(AGENTS.to_owned(), agents.finish());
        }
        events.push_durations(state, table.len())?;
        let mut spend = Columns::default();
        spend.push_keys(self.spend_groups(), shape, shape.spend_dimensions(), &groups.texts)?;
        for (measure, fraction, sum) in SPEND {
            let sums = self.spend_sums().iter().map(|sums| *sum(&mut sums.clone()));
            spend.push_sums(measure_name("sum", measure), fraction, sums)?;
        }
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
        let state = &mut result.grouped.state;
        for (place, measure) in shape.layout.counts().iter().enumerate() {
            let counts = values::<UInt64Type>(events, &measure_name("count", *measure))?;
            slots.iter().zip(counts).for_each(|(slot, count)| state.add_count(*slot, place, *count));
        }
        for (place, measure) in shape.layout.money().iter().enumerate() {
            let sums = values::<Decimal128Type>(events, &measure_name("sum", *measure))?;
            slots.iter().zip(sums).for_each(|(slot, sum)| state.add_money(*slot, place, *sum));
        }
        if shape.layout.agents {
            add_agents(events, &slots, state)?;
        }
        add_durations(events, &slots, state)?;
        let keys = result.keys(shape, spend, shape.spend_dimensions())?;
        let mut sums = vec![SpendSums::default(); keys.len()];
        for (measure, _, sum) in SPEND {
            let values = values::<Decimal128Type>(spend, &measure_name("sum", measure))?;
            sums.iter_mut().zip(values).for_each(|(sums, value)| *sum(sums) = *value);
        }
        keys.iter().zip(&sums).for_each(|(key, sums)| result.add_spend_of_key(key, sums));
        if result.spend_sums().len() == keys.len() { Ok(result) } else { Err(invalid("a group of spend occurs twice")) }
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

/// Adds the agents of the groups of a batch.
fn add_agents(events: &RecordBatch, slots: &[GroupSlot], state: &mut GroupState) -> Result<(), ArrowError> {
    let lists = column(events, AGENTS)?.as_list_opt::<i32>().ok_or_else(|| invalid(AGENTS))?;
    for (slot, agents) in slots.iter().zip(lists.iter()) {
        let agents = agents.ok_or_else(|| invalid(AGENTS))?;
        let agents = agents.as_dictionary_opt::<UInt32Type>().ok_or_else(|| invalid(AGENTS))?;
        let names = agents.downcast_dict::<arrow_array::StringArray>().ok_or_else(|| invalid(AGENTS))?;
        names.into_iter().flatten().for_each(|agent| state.agents.insert(*slot, agent));
    }
    Ok(())
}

/// Adds the durations of the groups of a batch.
fn add_durations(events: &RecordBatch, slots: &[GroupSlot], state: &mut GroupState) -> Result<(), ArrowError> {
    for durations in state.durations.pairs_mut() {
        let reached = values::<UInt64Type>(events, &measure_name("count", Measure::Reached(durations.pair)))?;
        let days = values::<UInt64Type>(events, &measure_name("sum", Measure::Days(durations.pair)))?;
        for (slot, (reached, days)) in slots.iter().zip(reached.iter().zip(days)) {
            durations.add(*slot, DurationSums { reached: *reached, days: *days });
        }
        if durations.by_day().is_none() {
            continue;
        }
        let name = Measure::DayCounts(durations.pair).name();
        let maps = column(events, name)?.as_map_opt().filter(|maps| maps.null_count() == 0);
        let maps = maps.ok_or_else(|| invalid(name))?;
        let days = maps.keys().as_primitive_opt::<UInt16Type>().filter(|days| days.null_count() == 0);
        let days = days.ok_or_else(|| invalid(name))?;
        let counts = maps.values().as_primitive_opt::<UInt64Type>().filter(|counts| counts.null_count() == 0);
        let counts = counts.ok_or_else(|| invalid(name))?;
        for (slot, ends) in slots.iter().zip(maps.value_offsets().windows(2)) {
            for entry in (ends[0]..ends[1]).filter_map(|entry| usize::try_from(entry).ok()) {
                durations.count_day(*slot, days.value(entry), counts.value(entry));
            }
        }
    }
    Ok(())
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ArrowError> {
    batch.column_by_name(name).ok_or_else(|| invalid(name))
}

/// Returns the values of a column without nulls.
fn values<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, name: &str) -> Result<&'a [T::Native], ArrowError> {
    let array = column(batch, name)?.as_primitive_opt::<T>().filter(|array| array.null_count() == 0);
    array.map(|array| &**array.values()).ok_or_else(|| invalid(name))
}

fn invalid(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("not the columns of a partial result: {what}"))
}
