//! State per group: columns indexed by the group's number.

use super::facts::{BANKS, LANES, Lanes, add, lane};
use super::merge::STEP;
use crate::dictionary::{Measure, MeasureKind};
use crate::{Interrupt, Interruption};
use hashbrown::HashSet;

/// Which measures a query gathers from events, and where each is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasureLayout {
    /// Counts of rows and state rows.
    counts: Vec<Measure>,
    /// Sums of money.
    money: Vec<Measure>,
    /// Whether distinct agents are gathered.
    pub(crate) agents: bool,
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

    /// Whether anything is gathered that hangs on the states of customers.
    pub(crate) fn needs_states(&self) -> bool {
        let of_state = |measure: &Measure| matches!(measure.kind(), MeasureKind::StateRows | MeasureKind::StateMoney);
        self.agents || self.counts.iter().chain(&self.money).any(of_state)
    }

    /// Whether a count of a bank is gathered.
    pub(crate) fn has_bank(&self, bank: usize) -> bool {
        self.counts.iter().any(|measure| lane(*measure) / LANES == bank)
    }
}

/// Slots come in runs if one is so many times the same as the next, on average.
const RUN: usize = 4;

/// What has been gathered per group. A slot is one more than the number of its group.
#[derive(Debug)]
pub(crate) struct State {
    /// Counts by slot, of the banks of which any count is gathered.
    banks: [Option<Vec<[u32; LANES]>>; BANKS],
    /// What the counts would have overflowed with, by slot; empty as long as they have not.
    carried: [Vec<[u64; LANES]>; BANKS],
    /// Rows that have been counted since anything was carried.
    counted: u32,
    /// Whether slots come in runs.
    in_runs: bool,
    money: Vec<i128>,
    /// The sums of money of a slot.
    money_width: usize,
    /// Group and code of an agent.
    pub(crate) agents: HashSet<(u32, u32)>,
}

impl State {
    pub(crate) fn new(layout: &MeasureLayout) -> Self {
        let mut state = Self {
            banks: std::array::from_fn(|bank| layout.has_bank(bank).then(Vec::new)),
            carried: Default::default(),
            counted: 0,
            in_runs: false,
            money: Vec::new(),
            money_width: layout.money.len(),
            agents: HashSet::new(),
        };
        state.grow(0);
        state
    }

    /// Makes room for groups below `groups`.
    pub(crate) fn grow(&mut self, groups: usize) {
        let slots = groups + 1;
        for bank in self.banks.iter_mut().flatten() {
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
        let changes = slots.iter().zip(slots.iter().skip(1)).filter(|(slot, next)| slot != next).count();
        self.in_runs = changes * RUN < slots.len();
    }

    fn carry(&mut self) {
        for (bank, carried) in self.banks.iter_mut().zip(&mut self.carried) {
            let Some(bank) = bank else { continue };
            carried.resize(bank.len(), [0; LANES]);
            for (count, carried) in bank.iter_mut().flatten().zip(carried.iter_mut().flatten()) {
                *carried += u64::from(std::mem::take(count));
            }
        }
    }

    /// Adds to the counts of a bank, if any is gathered: for each slot, the lanes of a row's facts, or of several rows'.
    pub(crate) fn count<'a>(&mut self, bank: usize, rows: impl Iterator<Item = (u32, &'a Lanes)>) {
        let Some(bank) = &mut self.banks[bank] else { return };
        if !self.in_runs {
            for (slot, lanes) in rows {
                add(&mut bank[slot as usize], &lanes.map(u32::from));
            }
            return;
        }
        let (mut open, mut sums) = (0, [0; LANES]);
        for (slot, lanes) in rows {
            if slot != open {
                add(&mut bank[open as usize], &sums);
                (open, sums) = (slot, [0; LANES]);
            }
            add(&mut sums, &lanes.map(u32::from));
        }
        add(&mut bank[open as usize], &sums);
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
    pub(crate) fn absorb(&mut self, other: &Self, slots: &[u32], interrupt: &Interrupt) -> Result<(), Interruption> {
        self.expect_rows(other.counted as usize);
        for start in (0..slots.len()).step_by(STEP) {
            interrupt.check()?;
            // The other's slot, and the one here.
            let pairs = (start + 1..).zip(slots[start..].iter().take(STEP)).map(|(from, slot)| (from, *slot as usize));
            for (place, bank) in self.banks.iter_mut().enumerate() {
                let (Some(bank), Some(more)) = (bank, &other.banks[place]) else { continue };
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

    /// The count of a measure that counts rows or state rows; 0 if it is not gathered.
    pub(crate) fn count_of(&self, group: usize, measure: Measure) -> u64 {
        let lane = lane(measure);
        self.held(lane / LANES, group + 1, lane % LANES)
    }

    fn held(&self, bank: usize, slot: usize, lane: usize) -> u64 {
        let counted = self.banks[bank].as_ref().and_then(|bank| bank.get(slot)).map_or(0, |lanes| lanes[lane]);
        u64::from(counted) + self.carried[bank].get(slot).map_or(0, |lanes| lanes[lane])
    }

    /// The sum at `place` of the layout.
    pub(crate) fn money_at(&self, group: usize, place: usize) -> i128 {
        self.money[(group + 1) * self.money_width + place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::facts::{fact, lanes};

    #[test]
    fn counts_go_beyond_what_a_lane_holds() {
        let mut state = State::new(&MeasureLayout::new(&[Measure::Leads]));
        state.grow(1);
        state.expect_rows(u32::MAX as usize);
        if let Some(bank) = &mut state.banks[0] {
            bank[1][lane(Measure::Leads)] = u32::MAX;
        }
        state.expect_rows(1);
        let [byte, ..] = fact(Measure::Leads).to_le_bytes();
        state.count(0, std::iter::once((1, lanes(byte))));
        assert_eq!(state.count_of(0, Measure::Leads), 1 << 32);
        let mut sum = State::new(&MeasureLayout::new(&[Measure::Leads]));
        sum.grow(1);
        for _ in 0..2 {
            assert_eq!(sum.absorb(&state, &[1], &Interrupt::default()), Ok(()));
        }
        assert_eq!(sum.count_of(0, Measure::Leads), 2 << 32);
        assert_eq!(sum.count_of(0, Measure::Customers), 0);
    }
}
