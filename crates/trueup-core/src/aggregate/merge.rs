//! Partial states of splits to one, under codes that all splits share.

use super::events::Partial;
use super::groups::Groups;
use super::spend::{SpendPartial, SpendSums};
use super::state::{MeasureLayout, State};
use crate::plan::Plan;
use hashbrown::HashMap;
use std::sync::Arc;

/// The state of all groups met so far; a group's key is the sub-range and a shared code per dimension.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) groups: Groups,
    pub(crate) state: State,
    /// Per dimension, its distinct texts.
    pub(crate) texts: Vec<Interner>,
    /// Events that lay in the range and passed the filter.
    pub(crate) rows: u64,
    spend: SpendTotals,
    agents: Interner,
}

/// Spend of all groups met so far; a group's key is the sub-range and a shared code per dimension that spend carries.
#[derive(Debug)]
struct SpendTotals {
    groups: Groups,
    sums: Vec<SpendSums>,
    /// Which dimensions of the query spend carries, by place.
    carried: Vec<usize>,
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
    shared: HashMap<u32, u32>,
}

impl<'a> Translation<'a> {
    fn new(texts: &'a [Arc<str>]) -> Self {
        Self { texts, shared: HashMap::new() }
    }

    fn code(&mut self, code: u32, interner: &mut Interner) -> u32 {
        *self.shared.entry(code).or_insert_with(|| interner.code(&self.texts[code as usize]))
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
            rows: 0,
        }
    }

    /// Adds a split's groups.
    pub(crate) fn add(&mut self, partial: &Partial) {
        let mut translations: Vec<_> = partial.texts.iter().map(|texts| Translation::new(texts)).collect();
        let mut key = vec![0; translations.len() + 1];
        let numbers: Vec<u32> = (0..partial.groups.len())
            .map(|from| {
                let (sub_range, codes) = partial.groups.key(from).split_at(1);
                key[..1].copy_from_slice(sub_range);
                let dimensions = codes.iter().zip(translations.iter_mut().zip(&mut self.texts));
                for (shared, (code, (split, texts))) in key[1..].iter_mut().zip(dimensions) {
                    *shared = split.code(*code, texts);
                }
                self.groups.number(&key)
            })
            .collect();
        self.state.grow(self.groups.len());
        for (from, group) in numbers.iter().enumerate() {
            self.state.merge(*group as usize, &partial.state, from);
        }
        let mut agents = Translation::new(&partial.agents);
        for (from, agent) in &partial.state.agents {
            self.state.agents.insert((numbers[*from as usize], agents.code(*agent, &mut self.agents)));
        }
        self.rows += partial.rows;
    }

    /// Adds a split's spend.
    pub(crate) fn add_spend(&mut self, partial: &SpendPartial) {
        let mut translations: Vec<_> = partial.texts.iter().map(|texts| Translation::new(texts)).collect();
        let mut key = vec![0; translations.len() + 1];
        for (from, sums) in partial.sums.iter().enumerate() {
            let (sub_range, codes) = partial.groups.key(from).split_at(1);
            key[..1].copy_from_slice(sub_range);
            let dimensions = codes.iter().zip(translations.iter_mut().zip(&self.spend.carried));
            for (shared, (code, (split, place))) in key[1..].iter_mut().zip(dimensions) {
                *shared = split.code(*code, &mut self.texts[*place]);
            }
            let group = self.spend.groups.number(&key) as usize;
            if group == self.spend.sums.len() {
                self.spend.sums.push(SpendSums::default());
            }
            self.spend.sums[group].add(sums);
        }
    }

    /// Makes sure that the groups hold `key`, without rows if it is new.
    pub(crate) fn ensure(&mut self, key: &[u32]) {
        self.groups.number(key);
        self.state.grow(self.groups.len());
    }

    /// Gives spend that no event stands beside its own group: dimensions that spend does not carry are empty there.
    pub(crate) fn ensure_spend(&mut self) {
        let mut alone: Vec<bool> = self.spend.sums.iter().map(SpendSums::shows).collect();
        for number in self.spend_groups().into_iter().flatten() {
            alone[number as usize] = false;
        }
        let empty: Arc<str> = Arc::from("");
        let blank: Vec<u32> = self.texts.iter_mut().map(|texts| texts.code(&empty)).collect();
        for number in (0..alone.len()).filter(|number| alone[*number]) {
            let (sub_range, codes) = self.spend.groups.key(number).split_at(1);
            let mut key = [sub_range, &blank].concat();
            self.spend.carried.iter().zip(codes).for_each(|(place, code)| key[place + 1] = *code);
            self.ensure(&key);
        }
    }

    /// The spend beside each group.
    pub(crate) fn spend_beside(&self) -> Vec<SpendSums> {
        let sums = |number: Option<u32>| number.map(|number| self.spend.sums[number as usize]).unwrap_or_default();
        self.spend_groups().into_iter().map(sums).collect()
    }

    /// For each group, the spend group that has its carried dimensions, if there is one.
    fn spend_groups(&self) -> Vec<Option<u32>> {
        let mut part = vec![0; self.spend.carried.len() + 1];
        let beside = |number| {
            let key = self.groups.key(number);
            part[0] = key[0];
            part[1..].iter_mut().zip(&self.spend.carried).for_each(|(code, place)| *code = key[place + 1]);
            self.spend.groups.find(&part)
        };
        (0..self.groups.len()).map(beside).collect()
    }
}
