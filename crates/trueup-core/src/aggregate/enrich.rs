//! The events of a chunk of customers that lie in the range, with what their customer's history and state say of them.

use super::Context;
use super::history::History;
use super::state::{Facts, fact};
use crate::dictionary::Measure;
use crate::money;
use crate::plan::{LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{NO_VALUE, Split, stage};
use std::ops::Range;

/// Enriched rows, column by column.
#[derive(Debug, Default)]
pub(crate) struct Enriched {
    /// The event in the split.
    pub(crate) events: Vec<u32>,
    /// The customer in the split.
    pub(crate) customers: Vec<u32>,
    /// The number of the sub-range.
    pub(crate) sub_ranges: Vec<u32>,
    /// A number for customer and sub-range together, from 1, rising.
    pub(crate) segments: Vec<u32>,
    /// The customer's state in the sub-range: a stage's code.
    pub(crate) states: Vec<u8>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) state_rows: Vec<StateRow>,
}

/// What only the state row of a customer and sub-range carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateRow {
    /// Where it stands among the enriched rows.
    pub(crate) at: usize,
    /// The customer's revenue in its state, in millionths.
    pub(crate) revenue: i128,
}

impl Enriched {
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.customers.clear();
        self.sub_ranges.clear();
        self.segments.clear();
        self.states.clear();
        self.facts.clear();
        self.state_rows.clear();
    }
}

const REVENUES: [Measure; 3] = [Measure::EstimatedRevenue, Measure::SoldRevenue, Measure::ClosedRevenue];

/// Measures that look beyond the range.
const HISTORICAL: [Measure; 10] = [
    Measure::SoldLeads,
    Measure::ClosedLeads,
    Measure::BookedLeads,
    Measure::FirstBooked,
    Measure::FirstBookedEstimated,
    Measure::FirstEstimated,
    Measure::FirstEstimatedSold,
    Measure::FirstSold,
    Measure::FirstSoldClosed,
    Measure::CanceledAfterBooking,
];

/// Enriches customer after customer of one split.
#[derive(Debug)]
pub(crate) struct Enricher<'a> {
    context: &'a Context<'a>,
    split: &'a Split,
    selected: Vec<bool>,
    /// Facts of a conversion by the code of its grade; empty if no grade is asked for.
    grades: Vec<Facts>,
    graded: Vec<bool>,
    /// By the code of a customer status, whether it is matched.
    matched: Vec<bool>,
    needs_history: bool,
    needs_revenue: bool,
    segment: u32,
}

impl<'a> Enricher<'a> {
    pub(crate) fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let keys = split.runs.account_keys();
        let by_text = |name: &str| split.texts.get(name).map(|column| column.dictionary()).unwrap_or_default();
        Self {
            context,
            split,
            selected: context.selected(keys),
            grades: by_text(LABEL_COLUMN).iter().map(|label| grade(label)).collect(),
            graded: context.graded(keys),
            matched: by_text(STATUS_COLUMN).iter().map(|status| !matches!(&**status, "" | "Unmatched")).collect(),
            needs_history: context.layout.needs(&HISTORICAL),
            needs_revenue: context.layout.needs(&REVENUES),
            segment: 0,
        }
    }

    /// Appends the customer's rows, if it has any in the range.
    pub(crate) fn push(&mut self, customer: usize, rows: &mut Enriched) {
        if !self.selected[self.split.runs.accounts()[customer] as usize] {
            return;
        }
        let events = self.split.runs.events(customer);
        let days = &self.split.days[events.clone()];
        let range = self.context.plan.range;
        let first = days.partition_point(|day| *day < range.start.number());
        let end = days.partition_point(|day| *day <= range.end.number());
        if first >= end {
            return;
        }
        let history = if self.needs_history { History::of(self.split, customer) } else { History::default() };
        let mut from = events.start + first;
        while from < events.start + end {
            let sub_range = self.context.calendar.sub_range(self.split.days[from]);
            let in_same = |day: &&u16| self.context.calendar.sub_range(**day) == sub_range;
            let to = from + self.split.days[from..events.start + end].iter().take_while(in_same).count();
            self.push_segment(customer, from..to, sub_range, &history, rows);
            from = to;
        }
    }

    fn push_segment(
        &mut self,
        customer: usize,
        events: Range<usize>,
        sub_range: u32,
        history: &History,
        rows: &mut Enriched,
    ) {
        let stages = &self.split.stages;
        let live = live_events(stages, events.clone());
        let furthest = stages[live.clone()].iter().copied().filter(|stage| *stage != stage::CANCELED).max();
        // Without a live event other than a cancellation, the last event is a cancellation.
        let state = furthest.unwrap_or(stage::CANCELED);
        let state_event = events.clone().rev().find(|event| stages[*event] == state).unwrap_or(events.start);
        self.segment += 1;
        let first_of_all = self.split.runs.events(customer).start;
        for event in events.clone() {
            let mut facts = self.row_facts(customer, event, event == first_of_all, history);
            if event == state_event {
                facts |= self.state_facts(customer, event, state, events.clone(), history);
                let revenue = if self.needs_revenue { self.revenue(state, live.clone()) } else { 0 };
                rows.state_rows.push(StateRow { at: rows.events.len(), revenue });
            }
            #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
            {
                rows.events.push(event as u32);
                rows.customers.push(customer as u32);
            }
            rows.sub_ranges.push(sub_range);
            rows.segments.push(self.segment);
            rows.states.push(state);
            rows.facts.push(facts);
        }
    }

    fn row_facts(&self, customer: usize, event: usize, first_of_all: bool, history: &History) -> Facts {
        let when = |holds: bool, measure: Measure| if holds { fact(measure) } else { 0 };
        let mut facts = fact(Measure::Rows);
        let stage = self.split.stages[event];
        if stage == stage::LEAD_ORIGINATED {
            facts |= fact(Measure::Conversions) | self.grade(customer, event);
            if first_of_all {
                facts |= fact(Measure::Leads)
                    | when(history.ever(stage::BOOKED), Measure::BookedLeads)
                    | when(history.ever(stage::SOLD), Measure::SoldLeads)
                    | when(history.ever(stage::CLOSED), Measure::ClosedLeads);
            }
        }
        if history.first(stage) == Some(event) {
            facts |= match stage {
                stage::BOOKED => {
                    fact(Measure::FirstBooked) | when(history.ever(stage::ESTIMATED), Measure::FirstBookedEstimated)
                }
                stage::ESTIMATED => {
                    fact(Measure::FirstEstimated) | when(history.ever(stage::SOLD), Measure::FirstEstimatedSold)
                }
                stage::SOLD => fact(Measure::FirstSold) | when(history.ever(stage::CLOSED), Measure::FirstSoldClosed),
                _ => 0,
            };
        }
        facts
    }

    fn state_facts(&self, customer: usize, event: usize, state: u8, events: Range<usize>, history: &History) -> Facts {
        let stages = &self.split.stages;
        let mut facts = fact(Measure::Customers);
        let status = self.split.texts.get(STATUS_COLUMN).map_or(0, |column| column.code(customer, event) as usize);
        let is_matched = self.matched.get(status).copied().unwrap_or(false);
        facts |= fact(if is_matched { Measure::MatchedCustomers } else { Measure::UnmatchedCustomers });
        if matches!(state, stage::SOLD | stage::CLOSED) {
            facts |= fact(Measure::PayingCustomers);
        }
        if stages[events.clone()].contains(&stage::CANCELED) {
            facts |= fact(Measure::CanceledCustomers);
        }
        if let Some(booked) = events.clone().find(|event| stages[*event] == stage::BOOKED) {
            facts |= fact(Measure::BookedCustomers);
            if history.canceled_after(booked) {
                facts |= fact(Measure::CanceledAfterBooking);
            }
        }
        facts
    }

    fn grade(&self, customer: usize, event: usize) -> Facts {
        match self.split.texts.get(LABEL_COLUMN) {
            Some(column) if self.graded[self.split.runs.accounts()[customer] as usize] => {
                self.grades.get(column.code(customer, event) as usize).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The revenue of a customer in `state`. In state closed every event of the sub-range is live.
    fn revenue(&self, state: u8, live: Range<usize>) -> i128 {
        let in_state = live.filter(|event| self.split.stages[*event] == state);
        let amounts = in_state.map(|event| self.split.totals[event]).filter(|amount| *amount != NO_VALUE);
        match state {
            stage::ESTIMATED => {
                let (sum, count) = amounts.fold((0, 0), |(sum, count), amount| (sum + i128::from(amount), count + 1));
                money::average(sum, count)
            }
            stage::SOLD | stage::CLOSED => amounts.map(i128::from).sum(),
            _ => 0,
        }
    }
}

/// The events that no cancellation undid: all if one is closed, otherwise those after the last cancellation.
fn live_events(stages: &[u8], events: Range<usize>) -> Range<usize> {
    let here = &stages[events.clone()];
    if here.contains(&stage::CLOSED) {
        return events;
    }
    match here.iter().rposition(|stage| *stage == stage::CANCELED) {
        Some(last) => events.start + last + 1..events.end,
        None => events,
    }
}

fn grade(label: &str) -> Facts {
    let graded = fact(Measure::GradedConversions);
    match label {
        "" => 0,
        "Bookable - Booked" => graded | fact(Measure::BookedConversions),
        "Bookable - Didn't Book" => graded | fact(Measure::BookableUnbookedConversions),
        "Unbookable" => graded | fact(Measure::UnbookableConversions),
        _ => graded,
    }
}
