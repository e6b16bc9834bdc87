//! What one thread has aggregated, and the merge of two such results.

use super::accumulators::{Accumulator, AddValues, Spend};
use super::count::GroupedState;
use super::group::{CodeMap, GroupTable, Interner, SharedGroups};
use super::shape::ResultShape;
use super::spend::SpendPartial;
use super::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::dictionary::Measure;
use crate::{Interrupt, Interruption, StringList};

/// The groups that one thread has seen, with their state and their spend. The order of merges changes nothing but the
/// numbers of groups and codes.
#[derive(Clone, Debug)]
pub(crate) struct PartialResult {
    pub(crate) grouped: GroupedState,
    pub(super) spend: SpendGroups,
    /// The number of rows of the query: events in a sub-range that passed the filter.
    pub(crate) rows: u64,
}

/// The sums of spend per group. The key of a group is its sub-range and, for each dimension of the query that spend
/// has, a shared code.
#[derive(Clone, Debug)]
pub(super) struct SpendGroups {
    pub(super) table: GroupTable,
    pub(super) sums: Spend,
    /// The dimensions of the query that spend has, by their places in the query.
    dimensions: Vec<usize>,
}

impl SpendGroups {
    fn new(shape: &ResultShape) -> Self {
        let dimensions: Vec<_> = shape.spend_dimensions().collect();
        let table = GroupTable::new(shape.sub_ranges, dimensions.len());
        Self { table, sums: Spend::new(&shape.layout), dimensions }
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.sums.bytes()
    }

    /// Returns the slot of the group with a key, which becomes a group without spend if it is new. `texts` are the
    /// texts of all dimensions of the query.
    pub(super) fn slot(&mut self, key: &[u32], texts: &[Interner]) -> GroupSlot {
        for (at, dimension) in self.dimensions.iter().enumerate() {
            self.table.expect(at + 1, texts[*dimension].texts().len());
        }
        let slot = self.table.slot(key);
        self.sums.grow(self.table.len() + 1);
        slot
    }

    /// Adds the sums of other groups. `to_shared` returns the shared code of a code of theirs, given the place of its
    /// dimension in their keys and in the query.
    fn merge(
        &mut self,
        others: &GroupTable,
        sums: Spend,
        groups: &mut SharedGroups,
        interrupt: &Interrupt,
        mut to_shared: impl FnMut(&mut SharedGroups, usize, usize, u32) -> u32,
    ) -> Result<(), Interruption> {
        let mut key = vec![0; self.dimensions.len() + 1];
        let mut slots = Vec::with_capacity(others.len());
        for group in 0..others.len() {
            if group.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            let (sub_range, codes) = others.key(group).split_at(1);
            key[..1].copy_from_slice(sub_range);
            for (at, (dimension, code)) in self.dimensions.iter().zip(codes).enumerate() {
                key[at + 1] = to_shared(groups, at, *dimension, *code);
            }
            slots.push(self.slot(&key, &groups.texts));
        }
        self.sums.merge(sums, &slots, interrupt)
    }
}

impl PartialResult {
    pub(crate) fn new(shape: &ResultShape) -> Self {
        Self { grouped: GroupedState::new(shape), spend: SpendGroups::new(shape), rows: 0 }
    }

    /// Returns the number of groups.
    pub(crate) const fn len(&self) -> usize {
        self.grouped.len()
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.grouped.bytes() + self.spend.bytes()
    }

    /// Returns the number of bytes that may be held while groups are added, when the old and the new tables are held at
    /// the same time.
    pub(crate) fn bytes_while_growing(&self) -> usize {
        self.bytes() * 2
    }

    /// Adds what another thread has aggregated.
    pub(crate) fn merge(&mut self, mut other: Self, interrupt: &Interrupt) -> Result<(), Interruption> {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        let shared = self.grouped.merge(other.grouped, interrupt)?;
        self.rows += other.rows;
        let to_shared = |_: &mut _, _, dimension: usize, code: u32| shared[dimension][code as usize];
        let SpendGroups { table, sums, .. } = other.spend;
        self.spend.merge(&table, sums, &mut self.grouped.groups, interrupt, to_shared)
    }

    /// Subtracts what rows of events that this result has have added. The state must be
    /// [subtractable](GroupState::is_subtractable). Groups stay, even if they have no rows any more.
    pub(crate) fn subtract(&mut self, other: Self, interrupt: &Interrupt) -> Result<(), Interruption> {
        let GroupedState { groups, state } = other.grouped;
        let known = self.len();
        let (slots, _) = self.grouped.groups.merge(groups, interrupt)?;
        debug_assert_eq!(self.len(), known, "the rows are in groups of this result");
        self.grouped.state.grow(self.len());
        self.grouped.state.subtract(state, &slots, interrupt)?;
        self.rows -= other.rows;
        Ok(())
    }

    /// Drops the groups of events that have no rows, all spend if `drops_spend` is set, and the texts that no group has
    /// any more. A result with dimensions must count the rows of its groups; without dimensions, all groups stay,
    /// because each sub-range is one.
    pub(crate) fn without_empty(
        self,
        shape: &ResultShape,
        drops_spend: bool,
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let has_rows: Vec<bool> = match self.grouped.state.counts.value(Measure::Rows) {
            Some(rows) => GroupSlot::first(self.len()).map(|slot| rows(slot) > 0).collect(),
            None => vec![true; self.len()],
        };
        if !drops_spend && has_rows.iter().all(|has_rows| *has_rows) {
            return Ok(self);
        }
        let Self { grouped: GroupedState { groups, state }, spend, rows } = self;
        let mut left = Self::new(shape);
        left.rows = rows;
        let texts: Vec<&StringList> = groups.texts.iter().map(Interner::texts).collect();
        let mut code_maps: Vec<_> = texts.iter().map(|_| CodeMap::default()).collect();
        let mut to_shared = |shared: &mut SharedGroups, _, dimension: usize, code| {
            shared.shared_code(dimension, code, texts[dimension], &mut code_maps[dimension])
        };
        let (mut key, mut slots) = (vec![0; texts.len() + 1], Vec::with_capacity(groups.table.len()));
        for (group, has_rows) in has_rows.into_iter().enumerate() {
            if group.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            if !has_rows {
                // All of its sums are 0, so that `NONE` stays 0.
                slots.push(GroupSlot::NONE);
                continue;
            }
            let codes = groups.table.key(group);
            key[0] = codes[0];
            for dimension in 0..texts.len() {
                key[dimension + 1] = to_shared(&mut left.grouped.groups, 0, dimension, codes[dimension + 1]);
            }
            slots.push(left.grouped.groups.table.slot(&key));
        }
        left.grouped.state.grow(left.len());
        left.grouped.state.merge(state, &slots, interrupt)?;
        if !drops_spend {
            left.spend.merge(&spend.table, spend.sums, &mut left.grouped.groups, interrupt, to_shared)?;
        }
        Ok(left)
    }

    /// Returns the number of bytes of spend.
    pub(crate) fn spend_bytes(&self) -> usize {
        self.spend.bytes()
    }

    /// Returns the number of bytes that may be held while the spend of a row group is added.
    pub(crate) fn bytes_while_adding_spend(&self, partial: &SpendPartial) -> usize {
        let Self { grouped: GroupedState { groups, state }, spend, .. } = self;
        let new = partial.groups.len();
        // The slots of the groups are held until their sums are added.
        let slots = new * size_of::<GroupSlot>();
        let sums = spend.table.bytes_while_adding(new) + spend.sums.bytes_while_adding(new) + slots;
        let texts = spend.dimensions.iter().zip(&partial.texts).map(|(dimension, texts)| {
            let code_map = CodeMap::default();
            // The other dimensions have no new texts.
            let interner = &groups.texts[*dimension];
            code_map.bytes(texts) + interner.bytes_while_adding(code_map.new_texts(new, texts)) - interner.bytes()
        });
        groups.bytes() + state.bytes() + sums + texts.sum::<usize>()
    }

    /// Adds the spend of a row group.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn add_spend(&mut self, partial: SpendPartial, interrupt: &Interrupt) -> Result<(), Interruption> {
        let SpendPartial { groups, sums, texts } = partial;
        let mut code_maps: Vec<_> = texts.iter().map(|_| CodeMap::default()).collect();
        let to_shared = |shared: &mut SharedGroups, at: usize, dimension, code| {
            shared.shared_code(dimension, code, &texts[at], &mut code_maps[at])
        };
        self.spend.merge(&groups, sums, &mut self.grouped.groups, interrupt, to_shared)
    }

    /// Returns the sum over all groups of each column of state that adds up.
    pub(crate) fn sums(&self) -> Vec<i128> {
        let mut sums = self.grouped.state.sums();
        sums.extend(self.spend.sums.sums());
        sums
    }

    /// Calls `add` with the function from the slot of a group to the value of a measure, unless the query does not
    /// aggregate the measure. The slots of a measure of spend are the ones that
    /// [`add_spend_groups`](Self::add_spend_groups) has returned.
    pub(crate) fn with_value(&self, measure: Measure, add: &mut impl AddValues) {
        if measure.is_spend() {
            if let Some(value) = self.spend.sums.value(measure) {
                add.add(value);
            }
        } else {
            self.grouped.state.with_value(measure, add);
        }
    }

    /// Adds a group for each sub-range, with zeros unless it has rows. The query must have no dimensions.
    pub(crate) fn add_sub_ranges(&mut self, sub_ranges: usize) {
        for sub_range in (0_u32..).take(sub_ranges) {
            self.grouped.slot(&[sub_range]);
        }
    }

    /// Adds a group for spend that is not 0 and has no group of events. Dimensions that spend does not have are empty
    /// in it. Returns for each group the slot of its spend, or `NONE`.
    pub(crate) fn add_spend_groups(&mut self, interrupt: &Interrupt) -> Result<Vec<GroupSlot>, Interruption> {
        let mut needs_group: Vec<bool> = self.spend.sums.make_rows().collect();
        let mut spend = self.spend_of_groups(interrupt)?;
        for slot in spend.iter().filter(|slot| **slot != GroupSlot::NONE) {
            needs_group[slot.group()] = false;
        }
        let blank = self.grouped.groups.blank_codes();
        for (slot, _) in (1..).map(GroupSlot::last_of).zip(needs_group).filter(|(_, needs_group)| *needs_group) {
            interrupt.check()?;
            let (sub_range, codes) = self.spend.table.key(slot.group()).split_at(1);
            let mut key = [sub_range, &blank].concat();
            self.spend.dimensions.iter().zip(codes).for_each(|(dimension, code)| key[dimension + 1] = *code);
            // The group is new: any other group with the same dimensions of spend would have had this spend.
            self.grouped.slot(&key);
            spend.push(slot);
        }
        Ok(spend)
    }

    /// Returns for each group the slot of the spend with its dimensions, or `NONE`.
    fn spend_of_groups(&self, interrupt: &Interrupt) -> Result<Vec<GroupSlot>, Interruption> {
        let table = &self.grouped.groups.table;
        let mut spend_key = vec![0; self.spend.dimensions.len() + 1];
        let slot = |group: usize| {
            if group.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            let key = table.key(group);
            spend_key[0] = key[0];
            let codes = spend_key[1..].iter_mut().zip(&self.spend.dimensions);
            codes.for_each(|(code, dimension)| *code = key[dimension + 1]);
            Ok(self.spend.table.find(&spend_key))
        };
        (0..table.len()).map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::MeasureLayout;

    #[test]
    fn a_canceled_query_merges_no_spend() {
        let shape = ResultShape { sub_ranges: 1, dimensions: Vec::new(), layout: MeasureLayout::default() };
        let (mut result, mut others) = (PartialResult::new(&shape), GroupTable::new(1, 0));
        others.slot(&[0]);
        let mut merge = |interrupt: &Interrupt| {
            let PartialResult { grouped, spend, .. } = &mut result;
            spend.merge(&others, Spend::new(&shape.layout), &mut grouped.groups, interrupt, |_, _, _, code| code)
        };
        let interrupt = Interrupt::default();
        assert_eq!(merge(&interrupt), Ok(()));
        interrupt.cancel();
        assert_eq!(merge(&interrupt), Err(Interruption::Canceled));
    }
}
