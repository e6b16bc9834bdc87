//! The rules by which events and customers are counted, in words.

use crate::aggregate::accumulators::CountedEvent;
use crate::dictionary::{GRADE_COLUMN, Measure, STATUS_COLUMN};
use crate::model::Stage;
use crate::query::CohortWindow;
use crate::{Day, Shown};
use std::fmt::Write;

const FIRST_TOUCH: &str = "first touch: the customer's first event of all, and a conversion";

/// Returns the rule by which a measure counts an event, or a customer on its state event.
pub(super) fn rule(measure: Measure, event: &CountedEvent<'_>) -> String {
    match measure {
        Measure::Rows => "an event".to_owned(),
        Measure::Conversions => "a conversion: an event of stage lead-originated".to_owned(),
        Measure::Leads => FIRST_TOUCH.to_owned(),
        Measure::BookedLeads => and_then(event, FIRST_TOUCH, Stage::Booked),
        Measure::SoldLeads => and_then(event, FIRST_TOUCH, Stage::Sold),
        Measure::ClosedLeads => and_then(event, FIRST_TOUCH, Stage::Closed),
        Measure::OpenLeads => format!("{FIRST_TOUCH}; {}", open_window(event)),
        Measure::FirstBooked => first_of(Stage::Booked),
        Measure::FirstBookedEstimated => and_then(event, &first_of(Stage::Booked), Stage::Estimated),
        Measure::FirstEstimated => first_of(Stage::Estimated),
        Measure::FirstEstimatedSold => and_then(event, &first_of(Stage::Estimated), Stage::Sold),
        Measure::FirstSold => first_of(Stage::Sold),
        Measure::FirstSoldClosed => and_then(event, &first_of(Stage::Sold), Stage::Closed),
        Measure::Opportunities => "the customer's first event in the row".to_owned(),
        Measure::MatchedCustomers | Measure::UnmatchedCustomers => match event.text(STATUS_COLUMN) {
            "" => format!("{}; no customer status", event.state()),
            status => format!("{}; customer status `{}`", event.state(), Shown(status)),
        },
        Measure::BookedCustomers => format!("{}; {}", event.state(), booked(event)),
        Measure::CanceledCustomers => match event.last_canceled() {
            Some(canceled) => format!("{}; canceled by {}", event.state(), event.reference(canceled)),
            None => event.state(),
        },
        Measure::CanceledAfterBooking => format!("{}; {}", event.state(), canceled_after_booking(event)),
        graded if graded.columns().contains(&GRADE_COLUMN) => {
            format!("a conversion graded `{}`", Shown(event.text(GRADE_COLUMN)))
        }
        _ => event.state(),
    }
}

fn first_of(stage: Stage) -> String {
    format!("the customer's first {} event of all", stage.name())
}

/// Returns a rule with the event by which the customer reaches a stage.
fn and_then(event: &CountedEvent<'_>, rule: &str, stage: Stage) -> String {
    match event.first(event.history.clone(), stage) {
        Some(reached) => format!("{rule}; the customer is {} by {}", stage.name(), event.reference(reached)),
        None => rule.to_owned(),
    }
}

/// Returns by which event the customer is booked in the sub-range, and whether that is undone.
fn booked(event: &CountedEvent<'_>) -> String {
    let Some(booked) = event.first(event.segment.clone(), Stage::Booked) else { return "booked".to_owned() };
    let mut rule = format!("booked by {}", event.reference(booked));
    let is_undone = event.outcome.state != Stage::Closed.code();
    if let Some(canceled) = event.last_canceled().filter(|canceled| is_undone && *canceled > booked) {
        let _ = write!(rule, ", which {} undid", event.reference(canceled));
    }
    rule
}

fn canceled_after_booking(event: &CountedEvent<'_>) -> String {
    let booked = event.first(event.segment.clone(), Stage::Booked);
    let canceled = booked.and_then(|booked| event.first(booked..event.history.end, Stage::Canceled));
    match booked.zip(canceled) {
        Some((booked, canceled)) => {
            format!("booked by {}, and later canceled by {}", event.reference(booked), event.reference(canceled))
        }
        None => "booked, and later canceled".to_owned(),
    }
}

/// Returns when the window of a lead ends.
fn open_window(event: &CountedEvent<'_>) -> String {
    let first = Day::from_number(event.columns.days[event.event]);
    match (event.cohort, event.last_event) {
        (Some(within @ CohortWindow::Days(_)), Some(last)) => {
            format!("its window ends on {}, after the last event, on {last}", within.last_day(first))
        }
        _ => "its window never ends".to_owned(),
    }
}
