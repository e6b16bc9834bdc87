//! The events of one split to partial state.

use super::Context;
use super::coder::Coder;
use super::enrich::{Enriched, Enricher};
use super::groups::Groups;
use super::mask::{BoundTest, Truth};
use super::state::{MeasureLayout, State, fact};
use crate::dictionary::Measure;
use crate::plan::{AGENT_COLUMN, Condition};
use crate::scan::{NO_VALUE, Split, stage};
use std::sync::Arc;

/// Customers are read until so many rows have gathered.
const CHUNK_ROWS: usize = 4_096;

/// State of one split's groups; a group's key is the sub-range and a code per dimension.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) groups: Groups,
    pub(crate) state: State,
    /// Per dimension, its texts by code.
    pub(crate) texts: Vec<Vec<Arc<str>>>,
    /// The agents by code.
    pub(crate) agents: Vec<Arc<str>>,
    /// Rows that passed the filter.
    pub(crate) rows: u64,
}

/// Aggregates a split.
pub(crate) fn aggregate_events(context: &Context<'_>, split: &Split) -> Partial {
    let mut aggregation = Aggregation::new(context, split);
    let mut enricher = Enricher::new(context, split);
    let mut rows = Enriched::default();
    for customer in 0..split.runs.len() {
        enricher.push(customer, &mut rows);
        if rows.len() >= CHUNK_ROWS {
            aggregation.add(&rows);
            rows.clear();
        }
    }
    aggregation.add(&rows);
    aggregation.finish()
}

struct Aggregation<'a> {
    split: &'a Split,
    layout: &'a MeasureLayout,
    condition: Option<Condition<BoundTest<'a>>>,
    coders: Vec<Coder<'a>>,
    /// Codes of a chunk, per dimension.
    codes: Vec<Vec<u32>>,
    groups: Groups,
    state: State,
    /// Per group, the segment that was counted last; only kept where distinct customers are counted.
    last_segment: Vec<u32>,
    counts_opportunities: bool,
    total_place: Option<usize>,
    /// For the states estimated, sold and closed, where their revenue is held.
    revenue_places: [(u8, Option<usize>); 3],
    rows: u64,
}

impl<'a> Aggregation<'a> {
    fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let plan = context.plan;
        let layout = &context.layout;
        let coders: Vec<_> = plan.dimensions.iter().map(|dimension| Coder::new(context, split, dimension)).collect();
        let radices: Vec<_> =
            std::iter::once(u32::try_from(plan.sub_ranges.len()).ok()).chain(coders.iter().map(Coder::radix)).collect();
        let place = |measure| layout.money.iter().position(|held| *held == measure);
        Self {
            split,
            layout,
            condition: plan
                .row_condition
                .as_ref()
                .map(|condition| condition.map(&mut |test| BoundTest::new(context, split, test))),
            codes: vec![Vec::new(); coders.len()],
            coders,
            groups: Groups::new(&radices),
            state: State::new(layout),
            last_segment: Vec::new(),
            counts_opportunities: layout.counts.contains(&Measure::Opportunities),
            total_place: place(Measure::Total),
            revenue_places: [
                (stage::ESTIMATED, place(Measure::EstimatedRevenue)),
                (stage::SOLD, place(Measure::SoldRevenue)),
                (stage::CLOSED, place(Measure::ClosedRevenue)),
            ],
            rows: 0,
        }
    }

    fn add(&mut self, rows: &Enriched) {
        let kept = self.kept(rows);
        for (coder, codes) in self.coders.iter_mut().zip(&mut self.codes) {
            coder.fill(rows, codes);
        }
        let numbers = self.count(rows, &kept);
        for state_row in &rows.state_rows {
            let Some(group) = numbers[state_row.at] else { continue };
            let state = rows.states[state_row.at];
            for (of, place) in self.revenue_places {
                if let (true, Some(place)) = (of == state, place) {
                    self.state.add_money(group, place, state_row.revenue);
                }
            }
            if self.layout.agents {
                self.add_agent(group, rows, state_row.at);
            }
        }
    }

    /// Which rows pass the filter.
    fn kept(&mut self, rows: &Enriched) -> Vec<bool> {
        let split = self.split;
        let mut codes = Vec::new();
        match &mut self.condition {
            None => vec![true; rows.len()],
            Some(condition) => {
                let truths = condition.evaluate(rows.len(), &mut |test, truths: &mut Vec<Truth>| {
                    test.fill(split, rows, &mut codes, truths)
                });
                truths.into_iter().map(|truth| truth == Truth::True).collect()
            }
        }
    }

    /// Counts the rows that are kept, and says the group of each.
    fn count(&mut self, rows: &Enriched, kept: &[bool]) -> Vec<Option<usize>> {
        let mut key = vec![0; self.coders.len() + 1];
        let mut numbers = Vec::with_capacity(rows.len());
        for (at, kept) in kept.iter().enumerate() {
            if !kept {
                numbers.push(None);
                continue;
            }
            key[0] = rows.sub_ranges[at];
            key[1..].iter_mut().zip(&self.codes).for_each(|(code, codes)| *code = codes[at]);
            let group = self.groups.number(&key);
            self.state.grow(self.groups.len());
            let mut facts = rows.facts[at];
            if self.counts_opportunities && self.is_new_in_group(group, rows.segments[at]) {
                facts |= fact(Measure::Opportunities);
            }
            self.state.count(group, facts);
            if let Some(place) = self.total_place {
                let total = self.split.totals[rows.events[at] as usize];
                self.state.add_money(group, place, if total == NO_VALUE { 0 } else { i128::from(total) });
            }
            self.rows += 1;
            numbers.push(Some(group));
        }
        numbers
    }

    /// Whether no row of the customer and sub-range has been counted in the group: its rows come one after the other.
    fn is_new_in_group(&mut self, group: usize, segment: u32) -> bool {
        if self.last_segment.len() <= group {
            self.last_segment.resize(group + 1, 0);
        }
        std::mem::replace(&mut self.last_segment[group], segment) != segment
    }

    fn add_agent(&mut self, group: usize, rows: &Enriched, at: usize) {
        let Some(column) = self.split.texts.get(AGENT_COLUMN) else { return };
        let code = column.code(rows.customers[at] as usize, rows.events[at] as usize);
        if code != 0 {
            self.state.agents.insert((u32::try_from(group).unwrap_or(u32::MAX), code));
        }
    }

    fn finish(self) -> Partial {
        Partial {
            groups: self.groups,
            state: self.state,
            texts: self.coders.iter().map(|coder| coder.texts().to_vec()).collect(),
            agents: self.split.texts.get(AGENT_COLUMN).map(|column| column.dictionary().to_vec()).unwrap_or_default(),
            rows: self.rows,
        }
    }
}
