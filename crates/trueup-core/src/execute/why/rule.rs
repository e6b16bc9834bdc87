//! The rule by which an event, a customer or a row of spend counts, in words.

use super::lines::{EventLine, SpendLine};
use crate::aggregate::{SegmentOutcome, revenue_state};
use crate::dictionary::{Measure, StagePair};
use crate::model::{EVENT_ID, Stage};
use crate::plan::{GRADE_COLUMN, STATUS_COLUMN};
use crate::query::CohortWindow;
use crate::scan::EventColumns;
use crate::{Day, Shown, money};
use std::fmt::Write;
use std::ops::Range;

/// The most amounts that a rule lists.
const MAX_LISTED: usize = 8;

/// The customer of a line, with its history.
pub(super) struct Customer<'a> {
    /// The columns of the row group, with the ids of events.
    columns: &'a EventColumns,
    customer: usize,
    /// The event that the line counts.
    event: usize,
    /// The events of the customer that exist for the query: all or, in a cohort, those up to the end of the window.
    history: Range<usize>,
    /// The events of the sub-range among them.
    segment: Range<usize>,
    outcome: SegmentOutcome,
    cohort: Option<CohortWindow>,
}

impl<'a> Customer<'a> {
    pub(super) fn new(columns: &'a EventColumns, line: &EventLine, cohort: Option<CohortWindow>) -> Self {
        let (customer, first) = (line.counted.customer as usize, line.counted.first as usize);
        let segment = first..first + line.counted.length as usize;
        let mut history = columns.customers.events(customer);
        if cohort.is_some() {
            history.end = segment.end;
        }
        let flags = columns.histories.events().slice(history.clone());
        let outcome = SegmentOutcome::new(flags, segment.start - history.start..segment.end - history.start);
        Self { columns, customer, event: line.counted.event as usize, history, segment, outcome, cohort }
    }

    /// Returns the id of the counted event; empty if it has none.
    pub(super) fn event_id(&self) -> &'a str {
        self.id(self.event)
    }

    /// Returns the stage of the counted event.
    pub(super) fn stage(&self) -> &'static str {
        self.stage_of(self.event).name()
    }

    /// Returns the rule by which a measure counts the event or the customer. `last_event` is the last day of the
    /// events, where the measure depends on it.
    pub(super) fn rule(&self, measure: Measure, last_event: Option<Day>) -> String {
        const FIRST_TOUCH: &str = "first touch: the customer's first event of all, and a conversion";
        let reached = |stage| self.first(self.history.clone(), stage);
        let and_then = |rule: &str, stage| match reached(stage) {
            Some(event) => {
                format!("{rule}; the customer is {stage} by {}", self.reference(event), stage = stage.name())
            }
            None => rule.to_owned(),
        };
        let first_of = |stage: Stage| format!("the customer's first {} event of all", stage.name());
        match measure {
            Measure::Rows => "an event".to_owned(),
            Measure::Conversions => "a conversion: an event of stage lead-originated".to_owned(),
            Measure::Leads => FIRST_TOUCH.to_owned(),
            Measure::BookedLeads => and_then(FIRST_TOUCH, Stage::Booked),
            Measure::SoldLeads => and_then(FIRST_TOUCH, Stage::Sold),
            Measure::ClosedLeads => and_then(FIRST_TOUCH, Stage::Closed),
            Measure::OpenLeads => format!("{FIRST_TOUCH}; {}", self.open_window(last_event)),
            Measure::GradedConversions
            | Measure::BookedConversions
            | Measure::BookableUnbookedConversions
            | Measure::UnbookableConversions => {
                format!("a conversion graded `{}`", Shown(self.text(GRADE_COLUMN)))
            }
            Measure::FirstBooked => first_of(Stage::Booked),
            Measure::FirstBookedEstimated => and_then(&first_of(Stage::Booked), Stage::Estimated),
            Measure::FirstEstimated => first_of(Stage::Estimated),
            Measure::FirstEstimatedSold => and_then(&first_of(Stage::Estimated), Stage::Sold),
            Measure::FirstSold => first_of(Stage::Sold),
            Measure::FirstSoldClosed => and_then(&first_of(Stage::Sold), Stage::Closed),
            Measure::Reached(pair) | Measure::NotReached(pair) | Measure::Days(pair) => self.duration(pair),
            Measure::Opportunities => "the customer's first event in the row".to_owned(),
            Measure::Total => "the amount of an event".to_owned(),
            Measure::Customers | Measure::PayingCustomers => self.state(),
            Measure::MatchedCustomers | Measure::UnmatchedCustomers => match self.text(STATUS_COLUMN) {
                "" => format!("{}; no customer status", self.state()),
                status => format!("{}; customer status `{}`", self.state(), Shown(status)),
            },
            Measure::BookedCustomers => format!("{}; {}", self.state(), self.booked()),
            Measure::CanceledCustomers => match self.last_canceled() {
                Some(canceled) => format!("{}; canceled by {}", self.state(), self.reference(canceled)),
                None => self.state(),
            },
            Measure::CanceledAfterBooking => format!("{}; {}", self.state(), self.canceled_after_booking()),
            Measure::EstimatedRevenue | Measure::SoldRevenue | Measure::ClosedRevenue => {
                format!("{}; {}", self.state(), self.revenue(measure))
            }
            Measure::OpportunityAgents
            | Measure::DayCounts(_)
            | Measure::AdSpend
            | Measure::ManagementFee
            | Measure::CampaignSpend
            | Measure::Clicks
            | Measure::Impressions => String::new(),
        }
    }

    /// Returns which event is the state event, and why.
    pub(super) fn state(&self) -> String {
        let state = Stage::from_code(self.outcome.state).unwrap_or(Stage::Canceled);
        let canceled = self.last_canceled().map(|canceled| self.reference(canceled));
        let furthest = self.segment.clone().map(|event| self.stage_of(event)).filter(|stage| *stage != Stage::Canceled);
        match (state, canceled, furthest.max()) {
            (Stage::Canceled, Some(canceled), Some(furthest)) => {
                format!("state event: {}, but canceled by {canceled}", furthest.name())
            }
            (Stage::Canceled, _, _) => "state event: the last cancellation, with nothing else".to_owned(),
            (Stage::Closed, Some(canceled), _) => {
                format!("state event: the last closed event; {canceled} cancels nothing, because work is closed")
            }
            (Stage::Closed, None, _) => "state event: the last closed event".to_owned(),
            (state, Some(canceled), _) => {
                format!("state event: the last live {} event; {canceled} undid what came before it", state.name())
            }
            (state, None, _) => format!("state event: the last live {} event", state.name()),
        }
    }

    /// Returns by which event the customer is booked in the sub-range, and whether that is undone.
    fn booked(&self) -> String {
        let Some(booked) = self.first(self.segment.clone(), Stage::Booked) else { return "booked".to_owned() };
        let mut rule = format!("booked by {}", self.reference(booked));
        let is_undone = self.outcome.state != Stage::Closed.code();
        if let Some(canceled) = self.last_canceled().filter(|canceled| is_undone && *canceled > booked) {
            let _ = write!(rule, ", which {} undid", self.reference(canceled));
        }
        rule
    }

    fn canceled_after_booking(&self) -> String {
        let booked = self.first(self.segment.clone(), Stage::Booked);
        let canceled = booked.and_then(|booked| self.first(booked..self.history.end, Stage::Canceled));
        match booked.zip(canceled) {
            Some((booked, canceled)) => {
                format!("booked by {}, and later canceled by {}", self.reference(booked), self.reference(canceled))
            }
            None => "booked, and later canceled".to_owned(),
        }
    }

    /// Returns which amounts make up the revenue of the customer.
    fn revenue(&self, measure: Measure) -> String {
        let SegmentOutcome { first_live_row, state_row, .. } = self.outcome;
        let rows = self.segment.start + first_live_row as usize..self.segment.start + state_row as usize + 1;
        let state = revenue_state(measure);
        let amount = |event: usize| Some((event, self.columns.totals.as_ref()?.get(event)?));
        let amounts: Vec<(usize, i64)> =
            rows.filter(|event| self.stage_of(*event) == state).filter_map(amount).collect();
        let (what, things) = match state {
            Stage::Estimated => ("the average", "live estimated events"),
            Stage::Sold => ("the sum", "live sold events"),
            _ => ("the sum", "closed events"),
        };
        match amounts.as_slice() {
            [] => format!("none of its {things} has an amount"),
            [(event, amount)] => {
                format!("the amount of {}, {}", self.reference(*event), money::format_micros((*amount).into()))
            }
            amounts => {
                let listed = amounts.iter().take(MAX_LISTED);
                let mut list: Vec<String> = listed
                    .map(|(event, amount)| format!("{} {}", self.short(*event), money::format_micros((*amount).into())))
                    .collect();
                if amounts.len() > MAX_LISTED {
                    list.push(format!("and {} more", amounts.len() - MAX_LISTED));
                }
                format!("{what} of {} {things} with an amount: {}", amounts.len(), list.join(", "))
            }
        }
    }

    /// Returns with which events a duration begins and ends, or that there is none.
    fn duration(&self, pair: StagePair) -> String {
        let (first, second) = pair.stages();
        let what = match first {
            Stage::LeadOriginated => "first touch".to_owned(),
            stage => format!("the customer's first {} event of all", stage.name()),
        };
        let day = self.columns.days[self.event];
        let same_day = self.history.clone().find(|event| self.columns.days[*event] == day).unwrap_or(self.event);
        match self.first(same_day..self.history.end, second) {
            Some(next) => {
                let days = self.columns.days[next] - day;
                let days = format!("{days} day{}", if days == 1 { "" } else { "s" });
                format!("{what}; {days} later, the customer is {} by {}", second.name(), self.reference(next))
            }
            None => {
                let until = if self.cohort.is_some() { ", up to the end of its window" } else { "" };
                format!("{what}; no {} event on that day or later{until}", second.name())
            }
        }
    }

    /// Returns when the window of a lead ends.
    fn open_window(&self, last_event: Option<Day>) -> String {
        let first = Day::from_number(self.columns.days[self.event]);
        match (self.cohort, last_event) {
            (Some(within @ CohortWindow::Days(_)), Some(last)) => {
                format!("its window ends on {}, after the last event, on {last}", within.last_day(first))
            }
            _ => "its window never ends".to_owned(),
        }
    }

    fn last_canceled(&self) -> Option<usize> {
        self.segment.clone().rfind(|event| self.stage_of(*event) == Stage::Canceled)
    }

    /// Returns the first of some events that has a stage.
    fn first(&self, mut events: Range<usize>, stage: Stage) -> Option<usize> {
        events.find(|event| self.stage_of(*event) == stage)
    }

    fn stage_of(&self, event: usize) -> Stage {
        // An event of the history has a stage.
        Stage::from_code(self.columns.histories.events().get(event).stage()).unwrap_or(Stage::Canceled)
    }

    fn id(&self, event: usize) -> &'a str {
        self.columns.text(EVENT_ID).map_or("", |ids| &ids.dictionary()[ids.code(self.customer, event)])
    }

    /// Returns the text of the counted event in a column.
    fn text(&self, column: &str) -> &'a str {
        self.columns.text(column).map_or("", |texts| &texts.dictionary()[texts.code(self.customer, self.event)])
    }

    fn day(&self, event: usize) -> Day {
        Day::from_number(self.columns.days[event])
    }

    /// Names an event by its id and its day or, without an id, by its stage and its day.
    fn reference(&self, event: usize) -> String {
        match self.id(event) {
            "" => format!("the {} event on {}", self.stage_of(event).name(), self.day(event)),
            id => format!("event {} on {}", Shown(id), self.day(event)),
        }
    }

    /// Names an event by its id or, without one, by its day.
    fn short(&self, event: usize) -> String {
        match self.id(event) {
            "" => self.day(event).to_string(),
            id => Shown(id).to_string(),
        }
    }
}

/// Returns the rule by which a measure counts a customer for its agent, who has this number of customers.
pub(super) fn agent_rule(agent: &str, customers: u64) -> String {
    match customers {
        1 => format!("agent `{}`, on the state event of this customer", Shown(agent)),
        _ => format!(
            "agent `{}`, on the state events of {customers} customers, of which this is the first",
            Shown(agent)
        ),
    }
}

/// Returns the rule by which a measure counts a row of spend. `not_split` names the dimensions of the query that spend
/// does not have.
pub(super) fn spend_rule(measure: Measure, line: &SpendLine, not_split: &[&str]) -> String {
    let what = match measure {
        Measure::AdSpend => "the ad spend",
        Measure::ManagementFee => "the management fee",
        Measure::CampaignSpend => "the ad spend and management fee",
        Measure::Clicks => "the clicks",
        _ => "the impressions",
    };
    let names = ["category", "channel", "campaign"].into_iter().zip(&line.texts).filter(|(_, text)| !text.is_empty());
    let names: Vec<String> = names.map(|(name, text)| format!("{name} `{}`", Shown(text))).collect();
    let mut rule = match names.as_slice() {
        [] => format!("{what} of a row of spend without an attribution"),
        names => format!("{what} of {}", names.join(", ")),
    };
    if !not_split.is_empty() {
        let _ = write!(rule, "; {} does not split spend", not_split.join(" or "));
    }
    rule
}
