//! GroupState per group: columns indexed by the group's number.

use super::facts::Facts;
use super::partial_result::STEP;
use crate::dictionary::{Measure, MeasureKind};
use crate::scan::stage;
use crate::{Interrupt, Interruption};
use hashbrown::HashSet;
use std::ops::Add;

/// Counts are held in banks of so many, which are added to at once.
pub(crate) const LANES: usize = 4;

/// What is added to a bank.
pub(crate) type CounterQuad = [u32; LANES];

/// Which measures a query gathers from events, and where each is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasureLayout {
    /// Counts of rows and state rows.
    counts: Vec<Measure>,
    /// Sums of money.
    money: Vec<Measure>,
    /// Whether distinct agents are gathered.
    pub(crate) agents: bool,
    /// By the code of a state, where the revenue of customers in it is held; `None` if it is not gathered.
    pub(crate) revenues: [Option<usize>; stage::COUNT],
}

impl MeasureLayout {
    pub(crate) fn new(measures: &[Measure]) -> Self {
        let mut layout = Self::default();
        for measure in measures {
            match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => layout.counts.push(*measure),
                MeasureKind::RowMoney | MeasureKind::StateMoney => layout.money.push(*measure),
                MeasureKind::StateDistinct => layout.agents = true,
                MeasureKind::SpendMoney | MeasureKind::SpendCount => {}
            }
        }
        for (state, measure) in [
            (stage::ESTIMATED, Measure::EstimatedRevenue),
            (stage::SOLD, Measure::SoldRevenue),
            (stage::CLOSED, Measure::ClosedRevenue),
        ] {
            layout.revenues[usize::from(state)] = layout.money_place(measure);
        }
        layout
    }

    /// Where a sum of money is held, if it is gathered.
    pub(crate) fn money_place(&self, measure: Measure) -> Option<usize> {
        self.money.iter().position(|held| *held == measure)
    }

    /// Whether a count or a sum is gathered.
    pub(crate) fn has(&self, measure: Measure) -> bool {
        self.counts.contains(&measure) || self.money.contains(&measure)
    }

    /// Whether any count hangs on the grades of conversions.
    pub(crate) fn needs_grades(&self) -> bool {
        let graded = [
            Measure::GradedConversions,
            Measure::BookedConversions,
            Measure::BookableUnbookedConversions,
            Measure::UnbookableConversions,
        ];
        graded.into_iter().any(|measure| self.has(measure))
    }

    /// Whether any count hangs on the statuses of customers.
    pub(crate) fn needs_statuses(&self) -> bool {
        self.has(Measure::MatchedCustomers) || self.has(Measure::UnmatchedCustomers)
    }

    /// Whether anything is gathered that hangs on the states of customers.
    pub(crate) fn needs_states(&self) -> bool {
        let of_state = |measure: &Measure| matches!(measure.kind(), MeasureKind::StateRows | MeasureKind::StateMoney);
        self.agents || self.counts.iter().chain(&self.money).any(of_state)
    }

    /// Where a count is held, if it is gathered.
    pub(crate) fn count_place(&self, measure: Measure) -> Option<usize> {
        self.counts.iter().position(|held| *held == measure)
    }

    /// How many banks hold the counts.
    pub(crate) fn banks(&self) -> usize {
        self.counts.len().div_ceil(LANES)
    }
}

/// Per bank, what rows with each of these facts add to it.
pub(crate) fn by_bank(layout: &MeasureLayout, facts: impl Iterator<Item = Facts> + Clone) -> Vec<Vec<CounterQuad>> {
    let bank = |measures: &[Measure]| {
        // A lane that is none has the bit that no fact has.
        let mut bits = [Facts::BITS - 1; LANES];
        bits.iter_mut().zip(measures).for_each(|(bit, measure)| *bit = *measure as u32);
        facts.clone().map(|facts| bits.map(|bit| facts >> bit & 1)).collect()
    };
    layout.counts.chunks(LANES).map(bank).collect()
}

/// LocalGroupCache come in runs if one is so many times the same as the next, on average.
const RUN: usize = 4;

/// Where all that is counted goes to one slot, so many numbers are worth looking at one by one.
const FEW: usize = 1 << 12;

/// What has been gathered per group. A slot is one more than the number of its group.
#[derive(Debug)]
pub(crate) struct GroupState {
    /// GroupTable that there is room for, and one.
    slots: usize,
    /// Counts by bank and slot.
    banks: Vec<Vec<CounterQuad>>,
    /// What the counts would have overflowed with, likewise; empty as long as they have not.
    carried: Vec<Vec<[u64; LANES]>>,
    /// Rows that have been counted since anything was carried.
    counted: u32,
    /// Whether there is one slot only.
    is_one: bool,
    /// Whether slots come in runs.
    in_runs: bool,
    money: Vec<i128>,
    /// The sums of money of a slot.
    money_width: usize,
    /// Group and code of an agent.
    pub(crate) agents: HashSet<(u32, u32)>,
}

impl GroupState {
    pub(crate) fn new(layout: &MeasureLayout) -> Self {
        let mut state = Self {
            slots: 0,
            banks: vec![Vec::new(); layout.banks()],
            carried: vec![Vec::new(); layout.banks()],
            counted: 0,
            is_one: false,
            in_runs: false,
            money: Vec::new(),
            money_width: layout.money.len(),
            agents: HashSet::new(),
        };
        state.grow(0);
        state
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let banks = self.banks.iter().map(Vec::capacity).sum::<usize>() * size_of::<CounterQuad>();
        let carried = self.carried.iter().map(Vec::capacity).sum::<usize>() * size_of::<[u64; LANES]>();
        banks + carried + self.money.capacity() * size_of::<i128>() + self.agents.allocation_size()
    }

    /// Makes room for groups below `groups`.
    #[inline]
    pub(crate) fn grow(&mut self, groups: usize) {
        if groups >= self.slots {
            self.grow_to(groups + 1);
        }
    }

    /// Makes room for so many groups.
    pub(crate) fn reserve(&mut self, groups: usize) {
        let more = (groups + 1).saturating_sub(self.slots);
        self.banks.iter_mut().for_each(|bank| bank.reserve(more));
        self.money.reserve(more * self.money_width);
    }

    #[cold]
    fn grow_to(&mut self, slots: usize) {
        self.slots = slots;
        for bank in &mut self.banks {
            bank.resize(slots, [0; LANES]);
        }
        self.money.resize(slots * self.money_width, 0);
    }

    /// Makes sure that so many rows can be counted.
    pub(crate) fn expect_rows(&mut self, rows: usize) {
        let expected = u32::try_from(rows).ok().and_then(|rows| self.counted.checked_add(rows));
        self.counted = expected.unwrap_or_else(|| {
            self.carry();
            u32::try_from(rows).unwrap_or(u32::MAX)
        });
    }

    /// Looks at the slots that are counted next: where the same one comes again and again, as it does where groups follow time or accounts,
    /// what it gets is added up before it goes there, since an addition would wait for the one before.
    pub(crate) fn expect_slots(&mut self, slots: &[u32]) {
        let changes = slots.windows(2).filter(|pair| pair[0] != pair[1]).count();
        self.is_one = changes == 0;
        self.in_runs = changes * RUN < slots.len();
    }

    fn carry(&mut self) {
        for (bank, carried) in self.banks.iter_mut().zip(&mut self.carried) {
            carried.resize(bank.len(), [0; LANES]);
            for (count, carried) in bank.iter_mut().flatten().zip(carried.iter_mut().flatten()) {
                *carried += u64::from(std::mem::take(count));
            }
        }
    }

    /// Counts rows, each with its slot and the number that it has in `lanes`: per bank, what is added.
    pub(crate) fn count(&mut self, lanes: &[Vec<CounterQuad>], rows: impl Iterator<Item = (u32, u32)> + Clone) {
        let Some(numbers) = lanes.first().map(Vec::len) else { return };
        let banks =
            lanes.iter().zip(&mut self.banks).filter(|(lanes, _)| lanes.iter().any(|lanes| *lanes != [0; LANES]));
        if self.is_one && numbers <= FEW {
            // How often a number is met is found first.
            let mut times = vec![0; numbers];
            let mut one = 0;
            for (slot, number) in rows {
                one = slot;
                times[number as usize] += 1;
            }
            let met: Vec<_> = (0_usize..).zip(times).filter(|(_, times)| *times > 0).collect();
            for (lanes, bank) in banks {
                for (number, times) in &met {
                    add(&mut bank[one as usize], &lanes[*number].map(|lane| lane * times));
                }
            }
            return;
        }
        for (lanes, bank) in banks {
            let rows = rows.clone().map(|(slot, number)| (slot, &lanes[number as usize]));
            if !self.in_runs {
                rows.for_each(|(slot, lanes)| add(&mut bank[slot as usize], lanes));
                continue;
            }
            let (mut open, mut sums) = (0, [0; LANES]);
            for (slot, lanes) in rows {
                if slot != open {
                    add(&mut bank[open as usize], &sums);
                    (open, sums) = (slot, [0; LANES]);
                }
                add(&mut sums, lanes);
            }
            add(&mut bank[open as usize], &sums);
        }
    }

    /// Adds to a bank of a slot.
    #[inline]
    pub(crate) fn add_lanes(&mut self, slot: u32, bank: usize, lanes: &CounterQuad) {
        add(&mut self.banks[bank][slot as usize], lanes);
    }

    /// Adds money, each to the sum of its slot at `place` of the layout.
    pub(crate) fn add_each(&mut self, place: usize, money: impl Iterator<Item = (u32, i128)>) {
        let (mut open, mut sum) = (0, 0);
        for (slot, micros) in money {
            if !self.in_runs || slot != open {
                self.add_money(open, place, std::mem::take(&mut sum));
                open = slot;
            }
            sum += micros;
        }
        self.add_money(open, place, sum);
    }

    /// Adds money to the sum at `place` of the layout.
    #[inline]
    pub(crate) fn add_money(&mut self, slot: u32, place: usize, micros: i128) {
        self.money[slot as usize * self.money_width + place] += micros;
    }

    /// Adds another state, each group to that of its slot in `slots`; agents apart.
    pub(crate) fn merge(&mut self, other: &Self, slots: &[u32], interrupt: &Interrupt) -> Result<(), Interruption> {
        self.expect_rows(other.counted as usize);
        for start in (0..slots.len()).step_by(STEP) {
            interrupt.check()?;
            // The other's slot, and the one here.
            let pairs = (start + 1..).zip(slots[start..].iter().take(STEP)).map(|(from, slot)| (from, *slot as usize));
            for (place, bank) in self.banks.iter_mut().enumerate() {
                let more = &other.banks[place];
                pairs.clone().for_each(|(from, slot)| add(&mut bank[slot], &more[from]));
                let (carried, more) = (&mut self.carried[place], &other.carried[place]);
                if !more.is_empty() {
                    carried.resize(bank.len(), [0; LANES]);
                }
                pairs
                    .clone()
                    .take_while(|(from, _)| *from < more.len())
                    .for_each(|(from, slot)| add(&mut carried[slot], &more[from]));
            }
            let width = self.money_width;
            for (from, slot) in pairs {
                let into = &mut self.money[slot * width..(slot + 1) * width];
                into.iter_mut().zip(&other.money[from * width..]).for_each(|(into, sum)| *into += sum);
            }
        }
        Ok(())
    }

    /// The count at `place` of the layout.
    pub(crate) fn count_at(&self, group: usize, place: usize) -> u64 {
        let (bank, lane, slot) = (place / LANES, place % LANES, group + 1);
        let carried = self.carried[bank].get(slot).map_or(0, |lanes| lanes[lane]);
        u64::from(self.banks[bank][slot][lane]) + carried
    }

    /// The sum at `place` of the layout.
    pub(crate) fn money_at(&self, group: usize, place: usize) -> i128 {
        self.money[(group + 1) * self.money_width + place]
    }
}

/// Adds to lanes, all at once: what goes to memory one by one is added one by one.
#[inline]
pub(crate) fn add<T: Copy + Add<Output = T>>(sums: &mut [T; LANES], more: &[T; LANES]) {
    let mut all = *sums;
    for lane in 0..LANES {
        all[lane] = all[lane] + more[lane];
    }
    *sums = all;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_beyond_what_a_lane_holds() {
        let mut state = GroupState::new(&MeasureLayout::new(&[Measure::Conversions, Measure::Leads]));
        state.grow(1);
        state.expect_rows(u32::MAX as usize);
        state.banks[0][1][1] = u32::MAX;
        state.expect_rows(1);
        state.count(&[vec![[0, 1, 0, 0]]], std::iter::once((1, 0)));
        assert_eq!((state.count_at(0, 0), state.count_at(0, 1)), (0, 1 << 32));
        let mut sum = GroupState::new(&MeasureLayout::new(&[Measure::Conversions, Measure::Leads]));
        sum.grow(1);
        for _ in 0..2 {
            assert_eq!(sum.merge(&state, &[1], &Interrupt::default()), Ok(()));
        }
        assert_eq!((sum.count_at(0, 0), sum.count_at(0, 1)), (0, 2 << 32));
    }
}
