//! The events of one split to partial state.

use super::Context;
use super::coder::Coder;
use super::enrich::{Enriched, Enricher};
use super::groups::Groups;
use super::mask::{BoundTest, Truth};
use super::state::{State, fact};
use crate::dictionary::Measure;
use crate::execution::{Interrupt, Interruption};
use crate::plan::{AGENT_COLUMN, Condition};
use crate::scan::{Dictionary, NO_VALUE, Split, stage};

/// Customers are read until so many rows have gathered.
const CHUNK_ROWS: usize = 4_096;

/// State of one split's groups; a group's key is the sub-range and a code per dimension.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) groups: Groups,
    pub(crate) state: State,
    /// Per dimension, its texts by code.
    pub(crate) texts: Vec<Dictionary>,
    /// The agents by code.
    pub(crate) agents: Dictionary,
    /// Rows that passed the filter.
    pub(crate) rows: u64,
}

/// Aggregates a split, unless it is interrupted.
pub(crate) fn aggregate_events(
    context: &Context<'_>,
    split: &Split,
    interrupt: &Interrupt,
) -> Result<Partial, Interruption> {
    let mut aggregation = Aggregation::new(context, split);
    let mut enricher = Enricher::new(context, split);
    let mut rows = Enriched::default();
    for customer in 0..split.runs.len() {
        enricher.push(customer, &mut rows);
        if rows.len() >= CHUNK_ROWS {
            interrupt.check()?;
            aggregation.add(&rows);
            rows.clear();
        }
    }
    aggregation.add(&rows);
    Ok(aggregation.finish())
}

/// Stands for the group of a row that did not pass the filter.
const NO_GROUP: u32 = u32::MAX;

struct Aggregation<'a> {
    split: &'a Split,
    condition: Option<Condition<BoundTest<'a>>>,
    coders: Vec<Coder<'a>>,
    /// Codes of a chunk, per dimension.
    codes: Vec<Vec<u32>>,
    /// The groups of a chunk's rows.
    numbers: Vec<u32>,
    groups: Groups,
    state: State,
    /// Per group, the segment that was counted last; kept where distinct customers are counted.
    last_segment: Option<Vec<u32>>,
    total_place: Option<usize>,
    /// By the code of a state, where its revenue is held.
    revenue_places: [Option<usize>; stage::COUNT],
    agents: bool,
    rows: u64,
}

impl<'a> Aggregation<'a> {
    fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let plan = context.plan;
        let layout = &context.layout;
        let coders: Vec<_> = plan.dimensions.iter().map(|dimension| Coder::new(context, split, dimension)).collect();
        let radices: Vec<_> =
            std::iter::once(u32::try_from(plan.sub_ranges.len()).ok()).chain(coders.iter().map(Coder::radix)).collect();
        let mut revenue_places = [None; stage::COUNT];
        revenue_places[usize::from(stage::ESTIMATED)] = layout.money_place(Measure::EstimatedRevenue);
        revenue_places[usize::from(stage::SOLD)] = layout.money_place(Measure::SoldRevenue);
        revenue_places[usize::from(stage::CLOSED)] = layout.money_place(Measure::ClosedRevenue);
        Self {
            split,
            condition: context
                .condition
                .as_ref()
                .map(|condition| condition.map(&mut |test| BoundTest::new(context, split, test))),
            codes: vec![Vec::new(); coders.len()],
            coders,
            numbers: Vec::new(),
            groups: Groups::new(&radices),
            state: State::new(layout),
            last_segment: layout.counts.contains(&Measure::Opportunities).then(Vec::new),
            total_place: layout.money_place(Measure::Total),
            revenue_places,
            agents: layout.agents,
            rows: 0,
        }
    }

    fn add(&mut self, rows: &Enriched) {
        for (coder, codes) in self.coders.iter_mut().zip(&mut self.codes) {
            coder.fill(rows, codes);
        }
        let kept = self.kept(rows);
        self.group(rows, kept.as_deref());
        self.count(rows);
        self.add_states(rows);
    }

    /// Which rows pass the filter, if there is one.
    fn kept(&mut self, rows: &Enriched) -> Option<Vec<Truth>> {
        let split = self.split;
        let mut codes = Vec::new();
        let test = &mut |test: &mut BoundTest<'_>, truths: &mut Vec<Truth>| test.fill(split, rows, &mut codes, truths);
        self.condition.as_mut().map(|condition| condition.evaluate(rows.len(), test))
    }

    /// Finds the group of each row.
    fn group(&mut self, rows: &Enriched, kept: Option<&[Truth]>) {
        let mut key = vec![0; self.coders.len() + 1];
        self.numbers.clear();
        for at in 0..rows.len() {
            if kept.is_some_and(|kept| kept[at] != Truth::True) {
                self.numbers.push(NO_GROUP);
                continue;
            }
            key[0] = rows.sub_ranges[at];
            for (code, codes) in key[1..].iter_mut().zip(&self.codes) {
                *code = codes[at];
            }
            self.numbers.push(self.groups.number(&key));
        }
        self.state.grow(self.groups.len());
        if let Some(last_segment) = &mut self.last_segment {
            last_segment.resize(self.groups.len(), 0);
        }
    }

    fn count(&mut self, rows: &Enriched) {
        for (at, group) in self.numbers.iter().enumerate().filter(|(_, group)| **group != NO_GROUP) {
            let group = *group as usize;
            let mut facts = rows.facts[at];
            if let Some(last_segment) = &mut self.last_segment {
                // A customer's rows of a sub-range come one after the other: it is new in the group if it was not counted last.
                let segment = rows.segments[at];
                if std::mem::replace(&mut last_segment[group], segment) != segment {
                    facts |= fact(Measure::Opportunities);
                }
            }
            self.state.count(group, facts);
            if let Some(place) = self.total_place {
                let total = self.split.totals[rows.events[at] as usize];
                self.state.add_money(group, place, if total == NO_VALUE { 0 } else { i128::from(total) });
            }
            self.rows += 1;
        }
    }

    /// Adds what only state rows carry.
    fn add_states(&mut self, rows: &Enriched) {
        let agents = if self.agents { self.split.text(AGENT_COLUMN) } else { None };
        for state_row in &rows.state_rows {
            let at = state_row.at;
            let group = self.numbers[at];
            if group == NO_GROUP {
                continue;
            }
            if let Some(place) = self.revenue_places[usize::from(rows.states[at])] {
                self.state.add_money(group as usize, place, state_row.revenue);
            }
            if let Some(column) = agents {
                let code = column.code(rows.customers[at] as usize, rows.events[at] as usize);
                if code != 0 {
                    self.state.agents.insert((group, code));
                }
            }
        }
    }

    fn finish(self) -> Partial {
        Partial {
            groups: self.groups,
            state: self.state,
            texts: self.coders.into_iter().map(Coder::into_texts).collect(),
            agents: self.split.text(AGENT_COLUMN).map(|column| column.dictionary().clone()).unwrap_or_default(),
            rows: self.rows,
        }
    }
}
