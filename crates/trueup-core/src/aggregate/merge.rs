//! Partial states of splits to one, under codes that all splits share.

use super::events::Partial;
use super::groups::Groups;
use super::spend::{SpendPartial, SpendSums};
use super::state::{MeasureLayout, State};
use crate::plan::Plan;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// The state of all groups met so far; a group's key is the sub-range and a shared code per dimension.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) groups: Groups,
    pub(crate) state: State,
    /// Per dimension, its distinct texts.
    pub(crate) texts: Vec<Interner>,
    pub(crate) spend: SpendTotals,
    agents: Interner,
}

/// Spend of all groups met so far; a group's key is the sub-range and a shared code per dimension that spend carries.
#[derive(Debug)]
pub(crate) struct SpendTotals {
    pub(crate) groups: Groups,
    pub(crate) sums: Vec<SpendSums>,
    /// Which dimensions of the query spend carries, by place.
    pub(crate) carried: Vec<usize>,
}

/// Distinct texts, each under one code.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    codes: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Interner {
    /// The code of a text, given now if it is new.
    pub(crate) fn code(&mut self, text: &Arc<str>) -> u32 {
        if let Some(code) = self.codes.get(text) {
            return *code;
        }
        let code = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.clone());
        self.codes.insert(text.clone(), code);
        code
    }

    /// The distinct texts by code.
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }
}

/// Shared codes of one split's codes, found when first met.
struct Translation<'a> {
    texts: &'a [Arc<str>],
    shared: Vec<Option<u32>>,
}

impl<'a> Translation<'a> {
    fn new(texts: &'a [Arc<str>]) -> Self {
        Self { texts, shared: vec![None; texts.len()] }
    }

    fn code(&mut self, code: u32, interner: &mut Interner) -> u32 {
        let at = code as usize;
        *self.shared[at].get_or_insert_with(|| interner.code(&self.texts[at]))
    }
}

impl Merged {
    pub(crate) fn new(plan: &Plan, layout: &MeasureLayout) -> Self {
        let carried: Vec<_> =
            (0..plan.dimensions.len()).filter(|place| plan.dimensions[*place].spend.is_some()).collect();
        Self {
            groups: Groups::hashed(plan.dimensions.len() + 1),
            state: State::new(layout),
            texts: plan.dimensions.iter().map(|_| Interner::default()).collect(),
            spend: SpendTotals { groups: Groups::hashed(carried.len() + 1), sums: Vec::new(), carried },
            agents: Interner::default(),
        }
    }

    /// Adds a split's groups.
    pub(crate) fn add(&mut self, partial: &Partial) {
        let mut translations: Vec<_> = partial.texts.iter().map(|texts| Translation::new(texts)).collect();
        let mut numbers = Vec::with_capacity(partial.groups.len());
        let mut key = Vec::new();
        for from in 0..partial.groups.len() {
            let (sub_range, codes) = partial.groups.key(from).split_at(1);
            key.clear();
            key.extend_from_slice(sub_range);
            let dimensions = translations.iter_mut().zip(&mut self.texts);
            key.extend(codes.iter().zip(dimensions).map(|(code, (split, shared))| split.code(*code, shared)));
            let group = self.groups.number(&key);
            self.state.grow(self.groups.len());
            self.state.merge(group, &partial.state, from);
            numbers.push(u32::try_from(group).unwrap_or(u32::MAX));
        }
        let mut agents = Translation::new(&partial.agents);
        for (from, agent) in &partial.state.agents {
            self.state.agents.insert((numbers[*from as usize], agents.code(*agent, &mut self.agents)));
        }
    }

    /// Adds a split's spend.
    pub(crate) fn add_spend(&mut self, partial: &SpendPartial) {
        let mut translations: Vec<_> = partial.texts.iter().map(|texts| Translation::new(texts)).collect();
        let mut key = Vec::new();
        for from in 0..partial.groups.len() {
            let (sub_range, codes) = partial.groups.key(from).split_at(1);
            key.clear();
            key.extend_from_slice(sub_range);
            for ((code, split), place) in codes.iter().zip(&mut translations).zip(&self.spend.carried) {
                key.push(split.code(*code, &mut self.texts[*place]));
            }
            let group = self.spend.groups.number(&key);
            self.spend.sums.resize(self.spend.groups.len(), SpendSums::default());
            self.spend.sums[group].add(&partial.sums[from]);
        }
    }

    /// Makes sure that the groups hold `key`, without rows if it is new.
    pub(crate) fn ensure(&mut self, key: &[u32]) {
        self.groups.number(key);
        self.state.grow(self.groups.len());
    }

    /// Gives spend that no event stands beside its own group: dimensions that spend does not carry are empty there.
    pub(crate) fn ensure_spend(&mut self) {
        let carried = self.spend.carried.clone();
        let mut beside = HashSet::new();
        let mut part = vec![0; carried.len() + 1];
        for number in 0..self.groups.len() {
            let key = self.groups.key(number);
            SpendTotals::project(&carried, key, &mut part);
            beside.extend(self.spend.groups.find(&part));
        }
        let empty: Arc<str> = Arc::from("");
        let blank: Vec<u32> = self.texts.iter_mut().map(|texts| texts.code(&empty)).collect();
        for number in 0..self.spend.groups.len() {
            if beside.contains(&number) || !self.spend.sums[number].shows() {
                continue;
            }
            let (sub_range, codes) = self.spend.groups.key(number).split_at(1);
            let mut key = sub_range.to_vec();
            key.extend_from_slice(&blank);
            carried.iter().zip(codes).for_each(|(place, code)| key[place + 1] = *code);
            self.ensure(&key);
        }
    }
}

impl SpendTotals {
    /// The spend beside the group of `key`.
    pub(crate) fn beside(&self, key: &[u32]) -> SpendSums {
        let mut part = vec![0; self.carried.len() + 1];
        Self::project(&self.carried, key, &mut part);
        self.groups.find(&part).map(|number| self.sums[number]).unwrap_or_default()
    }

    fn project(carried: &[usize], key: &[u32], part: &mut [u32]) {
        part[0] = key[0];
        part[1..].iter_mut().zip(carried).for_each(|(code, place)| *code = key[place + 1]);
    }
}
