//! The state of all groups, under codes that all splits share, and the merging of what several threads have gathered.

use super::QueryContext;
use super::group_state::GroupState;
use super::group_table::GroupTable;
use super::interner::{CodeMap, Interner};
use super::key_encoder::KeyEncoder;
use super::spend::{SpendPartial, SpendSums};
use crate::{Interrupt, Interruption, TextList};

/// GroupTable that are worked on before the interrupt is looked at again.
pub(super) const STEP: usize = 1 << 13;

/// The state of all groups met so far; a group's key is the sub-range and a shared code per dimension.
#[derive(Debug)]
pub(crate) struct PartialResult {
    pub(crate) groups: GroupTable,
    pub(crate) state: GroupState,
    /// Per dimension, its distinct texts.
    pub(crate) texts: Vec<Interner>,
    /// Events that lay in the range and passed the filter.
    pub(crate) rows: u64,
    spend: SpendTotals,
    /// Distinct agents.
    pub(crate) agents: Interner,
}

/// Spend of all groups met so far; a group's key is the sub-range and a shared code per dimension that spend carries.
#[derive(Debug)]
struct SpendTotals {
    groups: GroupTable,
    sums: Vec<SpendSums>,
    /// Which dimensions of the query spend carries, by place.
    carried: Vec<usize>,
}

impl SpendTotals {
    /// Adds to the group of a key; `texts` are those of all dimensions of the query.
    fn add(&mut self, key: &[u32], sums: &SpendSums, texts: &[Interner]) {
        for (at, place) in self.carried.iter().enumerate() {
            self.groups.expect(at + 1, texts[*place].texts().len());
        }
        let group = self.groups.slot(key) as usize - 1;
        if group == self.sums.len() {
            self.sums.push(SpendSums::default());
        }
        self.sums[group].add(sums);
    }
}

impl PartialResult {
    pub(crate) fn new(context: &QueryContext<'_>) -> Self {
        let plan = context.plan;
        let interner = || Interner::new(&context.hasher);
        let carried: Vec<_> =
            (0..plan.dimensions.len()).filter(|place| plan.dimensions[*place].spend.is_some()).collect();
        Self {
            groups: GroupTable::new(plan.sub_ranges.len(), plan.dimensions.len()),
            state: GroupState::new(&context.layout),
            texts: plan.dimensions.iter().map(|_| interner()).collect(),
            spend: SpendTotals {
                groups: GroupTable::new(plan.sub_ranges.len(), carried.len()),
                sums: Vec::new(),
                carried,
            },
            agents: interner(),
            rows: 0,
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.texts.iter().map(Interner::bytes).sum::<usize>() + self.agents.bytes();
        let spend = self.spend.groups.bytes() + self.spend.sums.capacity() * size_of::<SpendSums>();
        self.groups.bytes() + self.state.bytes() + texts + spend
    }

    /// Returns the bytes that may be held after `groups` more groups. If they do not fit, growing holds the old and the new tables together.
    pub(crate) fn bytes_with(&self, groups: usize) -> usize {
        self.bytes() * if self.groups.has_room(groups) { 1 } else { 2 }
    }

    /// Adds what another thread has gathered.
    pub(crate) fn merge(&mut self, mut other: Self, interrupt: &Interrupt) -> Result<(), Interruption> {
        if self.groups.len() < other.groups.len() {
            std::mem::swap(self, &mut other);
        }
        let texts = self.texts.iter_mut().zip(other.texts);
        let shared: Vec<_> = texts.map(|(texts, other)| texts.merge(other, interrupt)).collect::<Result<_, _>>()?;
        for (place, texts) in self.texts.iter().enumerate() {
            self.groups.expect(place + 1, texts.texts().len());
        }
        let slots = self.groups.merge(&other.groups, &shared, interrupt)?;
        self.state.grow(self.groups.len());
        self.state.merge(&other.state, &slots, interrupt)?;
        let agents = self.agents.merge(other.agents, interrupt)?;
        for (from, agent) in &other.state.agents {
            self.state.agents.insert((slots[*from as usize] - 1, agents[*agent as usize]));
        }
        self.rows += other.rows;
        self.merge_spend(&other.spend, &shared);
        Ok(())
    }

    /// Adds spend under codes for which `shared` gives the ones here, by dimension of the query.
    fn merge_spend(&mut self, other: &SpendTotals, shared: &[Vec<u32>]) {
        let mut key = vec![0; other.carried.len() + 1];
        for (from, sums) in other.sums.iter().enumerate() {
            let (sub_range, codes) = other.groups.key(from).split_at(1);
            key[..1].copy_from_slice(sub_range);
            for (at, (place, code)) in other.carried.iter().zip(codes).enumerate() {
                key[at + 1] = shared[*place][*code as usize];
            }
            self.spend.add(&key, sums, &self.texts);
        }
    }

    /// The shared code of a code of `texts`, which are a dimension's.
    pub(super) fn shared(&mut self, place: usize, code: u32, texts: &TextList, translation: &mut CodeMap) -> u32 {
        let interner = &mut self.texts[place];
        let shared = translation.code(code, texts, interner);
        self.groups.expect(place + 1, interner.texts().len());
        shared
    }

    /// Adds a split's spend.
    pub(crate) fn add_spend(&mut self, partial: &SpendPartial) {
        let mut translations: Vec<_> = partial.texts.iter().map(|_| CodeMap::default()).collect();
        let mut key = vec![0; translations.len() + 1];
        for (from, sums) in partial.sums.iter().enumerate() {
            let (sub_range, codes) = partial.groups.key(from).split_at(1);
            key[..1].copy_from_slice(sub_range);
            for (at, code) in codes.iter().enumerate() {
                let place = self.spend.carried[at];
                key[at + 1] = self.shared(place, *code, &partial.texts[at], &mut translations[at]);
            }
            self.spend.add(&key, sums, &self.texts);
        }
    }

    /// Makes room for as many new groups as there are customers, with the texts of `coders`: what has room need not be moved as it grows.
    pub(super) fn reserve(&mut self, customers: usize, coders: &[KeyEncoder<'_>]) {
        for (texts, coder) in self.texts.iter_mut().zip(coders) {
            texts.reserve(customers.min(coder.texts().len()), coder.texts());
        }
        // So much that a few more have room too.
        let groups = (self.groups.len() + customers).next_power_of_two();
        self.groups.reserve(groups);
        self.state.reserve(groups);
    }

    /// The slot of the group of a key, without rows if it is new.
    pub(crate) fn slot(&mut self, key: &[u32]) -> u32 {
        let slot = self.groups.slot(key);
        self.state.grow(self.groups.len());
        slot
    }

    /// Gives spend that no event stands beside its own group, where dimensions that spend does not carry are empty; returns for each group
    /// the number of the spend beside it, if there is any.
    pub(crate) fn ensure_spend(&mut self, interrupt: &Interrupt) -> Result<Vec<Option<u32>>, Interruption> {
        let mut alone: Vec<bool> = self.spend.sums.iter().map(SpendSums::shows).collect();
        let mut beside = self.spend_groups(interrupt)?;
        for number in beside.iter().flatten() {
            alone[*number as usize] = false;
        }
        let blank: Vec<u32> = self.texts.iter_mut().map(|texts| texts.code("")).collect();
        for (place, texts) in self.texts.iter().enumerate() {
            self.groups.expect(place + 1, texts.texts().len());
        }
        for (number, _) in (0_u32..).zip(alone).filter(|(_, alone)| *alone) {
            interrupt.check()?;
            let (sub_range, codes) = self.spend.groups.key(number as usize).split_at(1);
            let mut key = [sub_range, &blank].concat();
            self.spend.carried.iter().zip(codes).for_each(|(place, code)| key[place + 1] = *code);
            // The group is new: any other that has what the spend carries would stand beside it.
            self.slot(&key);
            beside.push(Some(number));
        }
        Ok(beside)
    }

    /// The spend of a number that [`PartialResult::ensure_spend`] gave.
    pub(crate) fn spend(&self, number: u32) -> &SpendSums {
        &self.spend.sums[number as usize]
    }

    /// For each group, the spend group that has its carried dimensions, if there is one.
    fn spend_groups(&self, interrupt: &Interrupt) -> Result<Vec<Option<u32>>, Interruption> {
        let mut part = vec![0; self.spend.carried.len() + 1];
        let beside = |number: usize| {
            if number.is_multiple_of(STEP) {
                interrupt.check()?;
            }
            let key = self.groups.key(number);
            part[0] = key[0];
            part[1..].iter_mut().zip(&self.spend.carried).for_each(|(code, place)| *code = key[place + 1]);
            Ok(self.spend.groups.find(&part))
        };
        (0..self.groups.len()).map(beside).collect()
    }
}
