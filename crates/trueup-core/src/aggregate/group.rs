//! Step 3: the group of each unit.
//!
//! | file | what it does |
//! |---|---|
//! | `local_group_cache` | fast path: finds the slot of a unit by its codes in the row group |
//! | `interner` | translates the codes of a row group to codes that all row groups share |
//! | `group_table` | finds the slot of a combination of shared codes |

mod group_table;
mod interner;
mod local_group_cache;

pub(crate) use group_table::GroupTable;
pub(crate) use interner::{CodeMap, Interner, NewTexts};

use super::context::QueryContext;
use super::key_encoder::KeyEncoder;
use super::segment::GroupingUnits;
use super::shape::ResultShape;
use super::types::{Granularity, GroupSlot};
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption, StringList};
use local_group_cache::LocalGroupCache;

/// The groups of a partial result. The key of a group is its sub-range and, for each dimension, a code that all row
/// groups share.
#[derive(Clone, Debug)]
pub(crate) struct SharedGroups {
    pub(crate) table: GroupTable,
    /// For each dimension, its distinct texts by code.
    pub(crate) texts: Vec<Interner>,
}

/// A query's dimensions, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct Grouping<'a> {
    encoders: Vec<KeyEncoder<'a>>,
    /// For each dimension, the shared codes of the row group's codes.
    code_maps: Vec<CodeMap>,
    /// `None` if units of the row group have no dense keys, as [`LocalGroupCache::new`] decides.
    local_groups: Option<LocalGroupCache>,
    /// Whether the query has a single sub-range.
    has_one_sub_range: bool,
    /// The sub-range of each unit.
    sub_ranges: Vec<u32>,
    /// For each dimension, the code of each unit.
    codes: Vec<Vec<u32>>,
    /// The dense key of each unit, where the row group has a local cache.
    dense_keys: Vec<u32>,
}

impl<'a> Grouping<'a> {
    /// Binds the dimensions to the columns of a row group; `customers` is the number of customers that the query reads.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn bind(
        context: &'a QueryContext<'a>,
        columns: &'a EventColumns,
        customers: usize,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let bind = |dimension| KeyEncoder::bind(context, columns, dimension, interrupt);
        let encoders: Vec<_> = context.plan.dimensions.iter().map(bind).collect::<Result<_, _>>()?;
        let sub_ranges = context.plan.sub_ranges.len();
        Ok(Self {
            code_maps: encoders.iter().map(|_| CodeMap::default()).collect(),
            local_groups: LocalGroupCache::new(sub_ranges, &encoders, customers),
            has_one_sub_range: sub_ranges == 1,
            sub_ranges: Vec::new(),
            codes: vec![Vec::new(); encoders.len()],
            dense_keys: Vec::new(),
            encoders,
        })
    }

    /// Returns the largest units whose rows are all in the same group.
    pub(crate) fn granularity(&self) -> Granularity {
        self.encoders.iter().map(KeyEncoder::granularity).fold(Granularity::Segment, Granularity::min)
    }

    /// Returns the number of bits of a dense key, or `None` if units of the row group have no dense keys.
    pub(crate) fn dense_key_bits(&self) -> Option<u32> {
        self.local_groups.as_ref().map(LocalGroupCache::key_bits)
    }

    /// Returns the most groups that `units` units of the row group add.
    pub(crate) fn max_groups(&self, units: usize) -> usize {
        self.dense_key_bits().map_or(units, |bits| units.min(1 << bits))
    }

    /// Returns the number of bytes that may be held here and in `groups` while `units` units are grouped.
    pub(crate) fn bytes_while_adding(&self, units: usize, groups: &SharedGroups) -> usize {
        let dimensions = self.encoders.iter().zip(&self.code_maps).zip(&groups.texts);
        let dimensions = dimensions.map(|((encoder, code_map), texts)| {
            let (new, growing) = match encoder.new_texts(units) {
                Some(new) => (new, encoder.bytes_while_adding(units)),
                None => (code_map.new_texts(units, encoder.texts()), 0),
            };
            growing + code_map.bytes(encoder.texts()) + texts.bytes_while_adding(new)
        });
        let local = self.local_groups.as_ref().map_or(0, LocalGroupCache::bytes);
        local + groups.table.bytes_while_adding(self.max_groups(units)) + dimensions.sum::<usize>()
    }

    /// Finds the sub-range of each unit and its code for each dimension.
    fn encode(&mut self, units: &GroupingUnits<'_>) -> Result<(), Interruption> {
        if self.has_one_sub_range {
            self.sub_ranges.clear();
            self.sub_ranges.resize(units.len(), 0);
        } else {
            units.sub_ranges(&mut self.sub_ranges);
        }
        for (encoder, codes) in self.encoders.iter_mut().zip(&mut self.codes) {
            encoder.encode(units, codes)?;
        }
        Ok(())
    }

    /// Writes the dense key of each unit to `dense_keys`. The row group must have [dense keys](Self::dense_key_bits).
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn dense_keys(
        &mut self,
        units: &GroupingUnits<'_>,
        dense_keys: &mut Vec<u32>,
    ) -> Result<(), Interruption> {
        self.encode(units)?;
        if let Some(local_groups) = &self.local_groups {
            local_groups.dense_keys(&self.sub_ranges, &self.codes, dense_keys);
        }
        Ok(())
    }

    /// Writes the slot of each unit to `slots`.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn slots(
        &mut self,
        units: &GroupingUnits<'_>,
        groups: &mut SharedGroups,
        slots: &mut Vec<GroupSlot>,
    ) -> Result<(), Interruption> {
        self.encode(units)?;
        if let Some(local_groups) = &self.local_groups {
            let mut dense_keys = std::mem::take(&mut self.dense_keys);
            local_groups.dense_keys(&self.sub_ranges, &self.codes, &mut dense_keys);
            slots.clear();
            slots.extend(dense_keys.iter().map(|dense_key| self.slot(*dense_key, groups)));
            self.dense_keys = dense_keys;
            return Ok(());
        }
        let Self { encoders, code_maps, sub_ranges, codes, .. } = self;
        for (dimension, (encoder, code_map)) in encoders.iter().zip(code_maps).enumerate() {
            let texts = &mut groups.texts[dimension];
            code_map.apply(&mut codes[dimension], encoder.texts(), texts);
            groups.table.expect(dimension + 1, texts.texts().len());
        }
        let columns: Vec<&[u32]> = std::iter::once(&*sub_ranges).chain(&*codes).map(Vec::as_slice).collect();
        groups.table.slots(&columns, units.len(), slots);
        Ok(())
    }

    /// Returns the slot of a dense key.
    #[inline]
    pub(crate) fn slot(&mut self, dense_key: u32, groups: &mut SharedGroups) -> GroupSlot {
        let Self { encoders, code_maps, local_groups, .. } = self;
        let Some(local_groups) = local_groups else { return GroupSlot::NONE };
        local_groups.slot(dense_key, |key| {
            for (dimension, (encoder, code_map)) in encoders.iter().zip(code_maps).enumerate() {
                key[dimension + 1] = groups.shared_code(dimension, key[dimension + 1], encoder.texts(), code_map);
            }
            groups.table.slot(key)
        })
    }
}

impl SharedGroups {
    pub(crate) fn new(shape: &ResultShape) -> Self {
        let dimensions = shape.dimensions.len();
        Self {
            table: GroupTable::new(shape.sub_ranges, dimensions),
            texts: std::iter::repeat_with(Interner::default).take(dimensions).collect(),
        }
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.texts.iter().map(Interner::bytes).sum::<usize>()
    }

    /// Returns the shared code of a code of `texts`, which are a dimension's texts in one row group.
    pub(crate) fn shared_code(
        &mut self,
        dimension: usize,
        code: u32,
        texts: &StringList,
        code_map: &mut CodeMap,
    ) -> u32 {
        let interner = &mut self.texts[dimension];
        let shared = code_map.shared_code(code, texts, interner);
        self.table.expect(dimension + 1, interner.texts().len());
        shared
    }

    /// Returns the shared code of a text of a dimension.
    pub(crate) fn code(&mut self, dimension: usize, text: &str) -> u32 {
        let code = self.texts[dimension].code(text);
        self.table.expect(dimension + 1, self.texts[dimension].texts().len());
        code
    }

    /// Adds the empty text to each dimension, and returns its codes.
    pub(crate) fn blank_codes(&mut self) -> Vec<u32> {
        let codes = self.texts.iter_mut().map(|texts| texts.code("")).collect();
        self.expect_texts();
        codes
    }

    /// Adds the groups of another partial result. Returns the slot here of each of its groups and, for each dimension,
    /// by the shared code in the other result, the shared code here.
    pub(crate) fn merge(
        &mut self,
        other: Self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<GroupSlot>, Vec<Vec<u32>>), Interruption> {
        let texts = self.texts.iter_mut().zip(other.texts);
        let shared: Vec<_> = texts.map(|(texts, other)| texts.merge(other, interrupt)).collect::<Result<_, _>>()?;
        self.expect_texts();
        let slots = self.table.merge(&other.table, &shared, interrupt)?;
        Ok((slots, shared))
    }

    /// Lets the table know how many texts each dimension has.
    fn expect_texts(&mut self) {
        for (dimension, texts) in self.texts.iter().enumerate() {
            self.table.expect(dimension + 1, texts.texts().len());
        }
    }
}
