//! The events of a chunk of customers that lie in the range, with what their customer's history and state say of them.

use super::Context;
use super::history::History;
use super::state::{Facts, fact};
use crate::dictionary::Measure;
use crate::money;
use crate::plan::{LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{NO_VALUE, Split, TextColumn, stage};
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
    /// The column of grades, the facts of a conversion by the code of its grade, and which accounts are graded, by their code.
    grades: Option<(&'a TextColumn, Vec<Facts>, Vec<bool>)>,
    /// The column of customer statuses, and by code whether it is matched.
    statuses: Option<(&'a TextColumn, Vec<bool>)>,
    needs_history: bool,
    needs_revenue: bool,
    segment: u32,
}

/// A customer in a sub-range: consecutive events, and what one look at their stages tells.
struct Segment {
    events: Range<usize>,
    /// Bit by stage: the stages that occur.
    stages: u8,
    /// The furthest stage that no cancellation undid, or canceled.
    state: u8,
    /// The last event in the state.
    state_event: usize,
    /// The first event that no cancellation undid.
    live_from: usize,
    first_booked: usize,
}

impl Segment {
    fn new(stages: &[u8], events: Range<usize>) -> Self {
        let (mut met, mut live, mut live_from, mut first_booked) = (0_u8, 0_u8, events.start, usize::MAX);
        let mut last = [events.start; stage::COUNT];
        for (event, stage) in (events.start..).zip(&stages[events.clone()]) {
            if *stage == stage::BOOKED && first_booked == usize::MAX {
                first_booked = event;
            }
            met |= 1 << stage;
            live |= 1 << stage;
            last[usize::from(*stage)] = event;
            if *stage == stage::CANCELED {
                live = 0;
                live_from = event + 1;
            }
        }
        // Closed work is never undone: then every event is live.
        if met & (1 << stage::CLOSED) != 0 {
            live = met & !(1 << stage::CANCELED);
            live_from = events.start;
        }
        // Nothing live: the last event is a cancellation.
        #[expect(clippy::cast_possible_truncation, reason = "at most seven")]
        let state = live.checked_ilog2().map_or(stage::CANCELED, |furthest| furthest as u8);
        Self { events, stages: met, state, state_event: last[usize::from(state)], live_from, first_booked }
    }

    const fn has(&self, stage: u8) -> bool {
        self.stages & (1 << stage) != 0
    }
}

impl<'a> Enricher<'a> {
    pub(crate) fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let keys = split.runs.account_keys();
        let grades = split.text(LABEL_COLUMN).map(|column| {
            (column, column.dictionary().iter().map(|label| grade(label)).collect(), context.graded(keys))
        });
        let is_matched = |status: &str| !matches!(status, "" | "Unmatched");
        let statuses = split
            .text(STATUS_COLUMN)
            .map(|column| (column, column.dictionary().iter().map(|status| is_matched(status)).collect()));
        Self {
            context,
            split,
            selected: context.selected(keys),
            grades,
            statuses,
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
        let calendar = &self.context.calendar;
        let mut from = first;
        while from < end {
            let sub_range = calendar.sub_range(days[from]);
            let mut to = from + 1;
            while to < end && calendar.sub_range(days[to]) == sub_range {
                to += 1;
            }
            let segment = Segment::new(&self.split.stages, events.start + from..events.start + to);
            self.push_segment(customer, events.start, &segment, sub_range, &history, rows);
            from = to;
        }
    }

    fn push_segment(
        &mut self,
        customer: usize,
        first_of_all: usize,
        segment: &Segment,
        sub_range: u32,
        history: &History,
        rows: &mut Enriched,
    ) {
        self.segment += 1;
        let from = rows.events.len();
        for event in segment.events.clone() {
            rows.facts.push(self.row_facts(customer, event, event == first_of_all, history));
            #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
            rows.events.push(event as u32);
        }
        let to = rows.events.len();
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        rows.customers.resize(to, customer as u32);
        rows.sub_ranges.resize(to, sub_range);
        rows.segments.resize(to, self.segment);
        rows.states.resize(to, segment.state);
        let at = from + (segment.state_event - segment.events.start);
        rows.facts[at] |= self.state_facts(customer, segment, history);
        let revenue = if self.needs_revenue { self.revenue(segment) } else { 0 };
        rows.state_rows.push(StateRow { at, revenue });
    }

    fn row_facts(&self, customer: usize, event: usize, first_of_all: bool, history: &History) -> Facts {
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

    fn state_facts(&self, customer: usize, segment: &Segment, history: &History) -> Facts {
        let is_matched = self
            .statuses
            .as_ref()
            .is_some_and(|(column, matched)| matched[column.code(customer, segment.state_event) as usize]);
        let booked = segment.has(stage::BOOKED);
        fact(Measure::Customers)
            | fact(if is_matched { Measure::MatchedCustomers } else { Measure::UnmatchedCustomers })
            | when(matches!(segment.state, stage::SOLD | stage::CLOSED), Measure::PayingCustomers)
            | when(segment.has(stage::CANCELED), Measure::CanceledCustomers)
            | when(booked, Measure::BookedCustomers)
            | when(booked && history.canceled_after(segment.first_booked), Measure::CanceledAfterBooking)
    }

    fn grade(&self, customer: usize, event: usize) -> Facts {
        match &self.grades {
            Some((column, facts, graded)) if graded[self.split.runs.accounts()[customer] as usize] => {
                facts[column.code(customer, event) as usize]
            }
            _ => 0,
        }
    }

    /// The customer's revenue in its state.
    fn revenue(&self, segment: &Segment) -> i128 {
        let state = segment.state;
        if !matches!(state, stage::ESTIMATED | stage::SOLD | stage::CLOSED) {
            return 0;
        }
        let live = segment.live_from..segment.events.end;
        let (mut sum, mut count) = (0_i128, 0_u64);
        for event in live.filter(|event| self.split.stages[*event] == state) {
            let total = self.split.totals[event];
            if total != NO_VALUE {
                sum += i128::from(total);
                count += 1;
            }
        }
        if state == stage::ESTIMATED { money::average(sum, count) } else { sum }
    }
}

fn when(holds: bool, measure: Measure) -> Facts {
    if holds { fact(measure) } else { 0 }
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
