//! The state of groups: counters, sums of money, distinct agents and durations, in columns indexed by the group's slot.

use super::agents::DistinctAgents;
use super::durations::Durations;
use crate::aggregate::facts::{IncrementTable, quads};
use crate::aggregate::group::NewTexts;
use crate::aggregate::types::{CounterQuad, GroupSlot, INTERRUPT_CHECK_GROUPS, QUAD, add_quad};
use crate::memory::column_bytes_while_adding;
use crate::plan::MeasureLayout;
use crate::{Interrupt, Interruption};

/// Slots come in runs if on average at least `MIN_RUN` consecutive ones are equal.
const MIN_RUN: usize = 4;

/// The most kinds whose rows are counted kind by kind if all rows of a batch have the same slot: far fewer than rows.
const MAX_COUNTED_KINDS: usize = 1 << 10;

/// The state of groups. Every column has an entry for [`GroupSlot::NONE`], which stays 0.
#[derive(Debug)]
pub(crate) struct GroupState {
    /// The number of entries of a column.
    slots: usize,
    /// The counters, by quad and slot.
    counters: Vec<Vec<CounterQuad>>,
    /// What has been moved out of the counters before they could overflow, and what [`add_count`](Self::add_count) has
    /// added, by quad and slot. Empty until then.
    wide_counters: Vec<Vec<[u64; QUAD]>>,
    /// The number of rows counted since the counters were last moved to `wide_counters`.
    rows_since_widening: u32,
    /// Whether the slots of the batch come in runs.
    in_runs: bool,
    /// Whether all slots of the batch are equal.
    is_one_slot: bool,
    /// The sums of money, in millionths: `money_width` for each slot.
    money: Vec<i128>,
    money_width: usize,
    pub(crate) agents: DistinctAgents,
    pub(crate) durations: Durations,
}

impl GroupState {
    pub(crate) fn new(layout: &MeasureLayout) -> Self {
        Self::with_columns(quads(layout), layout.money().len(), Durations::new(layout))
    }

    fn with_columns(quads: usize, money_width: usize, durations: Durations) -> Self {
        let mut state = Self {
            slots: 0,
            counters: vec![Vec::new(); quads],
            wide_counters: vec![Vec::new(); quads],
            rows_since_widening: 0,
            in_runs: false,
            is_one_slot: false,
            money: Vec::new(),
            money_width,
            agents: DistinctAgents::default(),
            durations,
        };
        state.grow(0);
        state
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let counters = self.counters.iter().map(Vec::capacity).sum::<usize>() * size_of::<CounterQuad>();
        let wide = self.wide_counters.iter().map(Vec::capacity).sum::<usize>() * size_of::<[u64; QUAD]>();
        let money = self.money.capacity() * size_of::<i128>();
        counters + wide + money + self.agents.bytes() + self.durations.bytes()
    }

    /// Returns the number of bytes that may be held while `units` units are added, and at most `groups` groups.
    pub(crate) fn bytes_while_adding(&self, units: usize, groups: usize, agents: NewTexts) -> usize {
        let counters = self.counters.iter().map(|quad| column_bytes_while_adding(quad, groups));
        let wide = self.wide_counters.iter().map(|quad| column_bytes_while_adding(quad, 0));
        let money = column_bytes_while_adding(&self.money, groups * self.money_width);
        let agents = self.agents.bytes_while_adding(units, agents);
        counters.chain(wide).sum::<usize>() + money + agents + self.durations.bytes_while_adding(units, groups)
    }

    /// Adds entries so that there are `groups` groups.
    #[inline]
    pub(crate) fn grow(&mut self, groups: usize) {
        if groups >= self.slots {
            self.grow_to(groups + 1);
        }
    }

    #[cold]
    fn grow_to(&mut self, slots: usize) {
        self.slots = slots;
        for quad in &mut self.counters {
            quad.resize(slots, [0; QUAD]);
        }
        self.money.resize(slots * self.money_width, 0);
        self.durations.grow(slots);
    }

    /// Prepares the counters for `rows` more rows, so that none overflows.
    pub(crate) fn expect_rows(&mut self, rows: usize) {
        let expected = u32::try_from(rows).ok().and_then(|rows| self.rows_since_widening.checked_add(rows));
        self.rows_since_widening = expected.unwrap_or_else(|| {
            self.widen_counters();
            u32::try_from(rows).unwrap_or(u32::MAX)
        });
    }

    /// Detects runs of equal slots among those of the next batch. Sums within a run are accumulated locally, because
    /// consecutive additions to one memory location would wait for each other.
    pub(crate) fn expect_slots(&mut self, slots: &[GroupSlot]) {
        let changes = slots.windows(2).filter(|pair| pair[0] != pair[1]).count();
        self.in_runs = changes * MIN_RUN < slots.len();
        self.is_one_slot = changes == 0;
    }

    /// Moves the counters to `wide_counters`.
    fn widen_counters(&mut self) {
        for (quad, wide) in self.counters.iter_mut().zip(&mut self.wide_counters) {
            wide.resize(quad.len(), [0; QUAD]);
            for (counter, wide) in quad.iter_mut().flatten().zip(wide.iter_mut().flatten()) {
                *wide += u64::from(std::mem::take(counter));
            }
        }
    }

    /// Counts rows, each given as its slot and its kind in `increments`.
    pub(crate) fn count(&mut self, increments: &IncrementTable, rows: impl Iterator<Item = (GroupSlot, u32)> + Clone) {
        let Some(kinds) = increments.quads.first().map(Vec::len) else { return };
        let is_zero = |by_kind: &[CounterQuad]| by_kind.iter().all(|increment| *increment == [0; QUAD]);
        let quads = increments.quads.iter().zip(&mut self.counters).filter(|(by_kind, _)| !is_zero(by_kind));
        if self.is_one_slot && kinds <= MAX_COUNTED_KINDS {
            // One pass over the rows instead of one per quad.
            let (mut slot, mut times) = (GroupSlot::NONE, vec![0; kinds]);
            for (row_slot, kind) in rows {
                slot = row_slot;
                times[kind as usize] += 1;
            }
            for (by_kind, counters) in quads {
                for (increment, times) in by_kind.iter().zip(&times).filter(|(_, times)| **times > 0) {
                    add_quad(&mut counters[slot.index()], &increment.map(|count| count * times));
                }
            }
            return;
        }
        for (by_kind, counters) in quads {
            let rows = rows.clone().map(|(slot, kind)| (slot, &by_kind[kind as usize]));
            if !self.in_runs {
                rows.for_each(|(slot, increment)| add_quad(&mut counters[slot.index()], increment));
                continue;
            }
            let (mut open, mut sum) = (GroupSlot::NONE, [0; QUAD]);
            for (slot, increment) in rows {
                if slot != open {
                    add_quad(&mut counters[open.index()], &sum);
                    (open, sum) = (slot, [0; QUAD]);
                }
                add_quad(&mut sum, increment);
            }
            add_quad(&mut counters[open.index()], &sum);
        }
    }

    /// Adds to a quad of counters of a slot.
    #[inline]
    pub(crate) fn add_increment(&mut self, slot: GroupSlot, quad: usize, increment: &CounterQuad) {
        add_quad(&mut self.counters[quad][slot.index()], increment);
    }

    /// Adds amounts of money, in millionths, each to the sum of its slot at `place` of the layout.
    pub(crate) fn add_amounts(&mut self, place: usize, amounts: impl Iterator<Item = (GroupSlot, i128)>) {
        let (mut open, mut sum) = (GroupSlot::NONE, 0);
        for (slot, micros) in amounts {
            if !self.in_runs || slot != open {
                self.add_money(open, place, std::mem::take(&mut sum));
                open = slot;
            }
            sum += micros;
        }
        self.add_money(open, place, sum);
    }

    /// Adds an amount of money, in millionths, to the sum of a slot at `place` of the layout.
    #[inline]
    pub(crate) fn add_money(&mut self, slot: GroupSlot, place: usize, micros: i128) {
        self.money[slot.index() * self.money_width + place] += micros;
    }

    /// Adds another state. `slots` has for each of its groups the slot here.
    pub(crate) fn merge(
        &mut self,
        other: Self,
        slots: &[GroupSlot],
        interrupt: &Interrupt,
    ) -> Result<(), Interruption> {
        self.expect_rows(other.rows_since_widening as usize);
        for start in (0..slots.len()).step_by(INTERRUPT_CHECK_GROUPS) {
            interrupt.check()?;
            // The index of each group in the other state, and in this one.
            let pairs = (start + 1..).zip(slots[start..].iter().take(INTERRUPT_CHECK_GROUPS).map(|slot| slot.index()));
            for (quad, counters) in self.counters.iter_mut().enumerate() {
                let more = &other.counters[quad];
                pairs.clone().for_each(|(from, to)| add_quad(&mut counters[to], &more[from]));
                let (wide, more) = (&mut self.wide_counters[quad], &other.wide_counters[quad]);
                if !more.is_empty() {
                    wide.resize(counters.len(), [0; QUAD]);
                }
                let widened = pairs.clone().take_while(|(from, _)| *from < more.len());
                widened.for_each(|(from, to)| add_quad(&mut wide[to], &more[from]));
            }
            let width = self.money_width;
            for (from, to) in pairs {
                let sums = &mut self.money[to * width..(to + 1) * width];
                sums.iter_mut().zip(&other.money[from * width..]).for_each(|(sum, more)| *sum += more);
            }
        }
        self.durations.merge(other.durations, slots, interrupt)?;
        self.agents.merge(other.agents, slots, interrupt)
    }

    /// Adds to the count of a slot at `place` of the layout.
    pub(crate) fn add_count(&mut self, slot: GroupSlot, place: usize, count: u64) {
        let wide = &mut self.wide_counters[place / QUAD];
        wide.resize(self.slots, [0; QUAD]);
        wide[slot.index()][place % QUAD] += count;
    }

    /// Returns the count of a group at `place` of the layout.
    pub(crate) fn count_at(&self, group: usize, place: usize) -> u64 {
        let (quad, counter, slot) = (place / QUAD, place % QUAD, group + 1);
        let wide = self.wide_counters[quad].get(slot).map_or(0, |counters| counters[counter]);
        u64::from(self.counters[quad][slot][counter]) + wide
    }

    /// Returns the sum over all groups of each counter, of each sum of money, and of durations.
    pub(crate) fn sums(&self) -> Vec<i128> {
        let counters = self.counters.iter().zip(&self.wide_counters).flat_map(|(counters, wide)| {
            let mut sums = [0_u64; QUAD];
            counters.iter().for_each(|quad| add_quad(&mut sums, &quad.map(u64::from)));
            wide.iter().for_each(|quad| add_quad(&mut sums, quad));
            sums.map(i128::from)
        });
        let money = (0..self.money_width).map(|place| self.money.iter().skip(place).step_by(self.money_width).sum());
        counters.chain(money).chain(self.durations.sums()).collect()
    }

    /// Returns the sum of money of a group at `place` of the layout, in millionths.
    pub(crate) fn money_at(&self, group: usize, place: usize) -> i128 {
        self.money[(group + 1) * self.money_width + place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state of one group with one quad of counters.
    fn state() -> GroupState {
        let mut state = GroupState::with_columns(1, 0, Durations::new(&MeasureLayout::default()));
        state.grow(1);
        state
    }

    #[test]
    fn a_count_may_exceed_its_counter() {
        let slot = GroupSlot::last_of(1);
        let mut first = state();
        first.expect_rows(u32::MAX as usize);
        first.counters[0][1][1] = u32::MAX;
        first.expect_rows(1);
        first.count(&IncrementTable { quads: vec![vec![[0, 1, 0, 0]]] }, std::iter::once((slot, 0)));
        assert_eq!((first.count_at(0, 0), first.count_at(0, 1)), (0, 1 << 32));
        let mut second = state();
        second.expect_rows(u32::MAX as usize);
        second.counters[0][1][1] = u32::MAX;
        second.expect_rows(1);
        second.count(&IncrementTable { quads: vec![vec![[0, 1, 0, 0]]] }, std::iter::once((slot, 0)));
        let mut sum = state();
        for other in [first, second] {
            assert_eq!(sum.merge(other, &[slot], &Interrupt::default()), Ok(()));
        }
        assert_eq!((sum.count_at(0, 0), sum.count_at(0, 1)), (0, 2 << 32));
    }
}
