//! Events and customers, before they become rows of a table.

use super::dice::Dice;

/// The stage of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    LeadOriginated,
    Booked,
    Estimated,
    Sold,
    Closed,
    Canceled,
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LeadOriginated => "lead-originated",
            Self::Booked => "booked",
            Self::Estimated => "estimated",
            Self::Sold => "sold",
            Self::Closed => "closed",
            Self::Canceled => "canceled",
        }
    }
}

/// A date and time in the account's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalTime {
    /// Days since 1970-01-01.
    pub(super) day: i32,
    /// Seconds since midnight.
    pub(super) second: u32,
}

impl LocalTime {
    /// Returns a later time on the same day, at most the end of the day.
    pub(super) fn plus_minutes(self, minutes: u32) -> Self {
        Self { second: (self.second + 60 * minutes).min(86_399), ..self }
    }
}

/// The conversion of an event at the stage `LeadOriginated`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    /// Index of the campaign in the account's list.
    pub(super) campaign: usize,
    /// How the customer made contact, such as `Call` or `Form`.
    pub(super) kind: &'static str,
    pub(super) grade: Option<Grade>,
}

/// One event of a customer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) stage: Stage,
    pub(super) at: LocalTime,
    /// Amount of an estimate, a sale or an invoice.
    pub(super) cents: Option<u64>,
    pub(super) conversion: Option<Conversion>,
    /// Whether the event belongs to a later job than the customer's first, or is the conversion that leads to one.
    pub(super) returning: bool,
}

/// What all events of a customer have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct CustomerProfile {
    /// Index of the account.
    pub(super) account: usize,
    /// Index of the month in which the customer begins.
    pub(super) month: usize,
    /// Number of the customer within that month, from 1.
    pub(super) number: u64,
    /// Index of the credited campaign among those of the account; `None` for a walk-in.
    pub(super) campaign: Option<usize>,
    /// Status in the software in which the account keeps its jobs, such as `New`.
    pub(super) status: &'static str,
    /// Index of the agent, and of the technician, among those of the account.
    pub(super) agent: usize,
    pub(super) technician: usize,
    /// Index of the business unit that does the job, among those of the industry.
    pub(super) unit: usize,
    /// Index of the ZIP code among those of the account; `None` if it is unknown.
    pub(super) zip: Option<usize>,
    /// How the customer came into that software, such as `Phone`.
    pub(super) source: &'static str,
    /// How the customer made contact first, such as `phone`; `None` for a walk-in.
    pub(super) contact: Option<&'static str>,
    /// Kind of the job, such as `Service`.
    pub(super) job: &'static str,
}

/// An event with its customer, and its position in the customer's history: one row of the event table.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRow {
    pub(super) customer: CustomerProfile,
    pub(super) event: Event,
    /// Position in the customer's history, from 0.
    pub(super) nth: usize,
}

/// The grade of a conversion: what a person who reviewed the conversion found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grade {
    pub(super) label: &'static str,
    /// What the customer wanted.
    pub(super) intent: &'static str,
    /// Why the conversion could not be booked; `None` unless the label is `Unbookable`.
    pub(super) reason: Option<&'static str>,
}

/// Reasons why a conversion could not be booked, with their weights.
const REASONS: [(u32, &str); 6] = [
    (280, "Service Not Offered"),
    (220, "Out of Service Area"),
    (190, "Price Shopping"),
    (140, "Existing Job"),
    (100, "Wrong Number"),
    (70, "Solicitor"),
];

/// Intents of conversions, with their weights.
const INTENTS: [(u32, &str); 5] =
    [(420, "Repair"), (210, "Estimate"), (170, "Maintenance"), (130, "Installation"), (70, "Emergency")];

/// Draws the grade of a conversion; `None` for the few that are never graded. `booked` is whether the customer was
/// booked.
pub(super) fn grade(dice: &mut Dice, booked: bool) -> Option<Grade> {
    if !dice.chance(860) {
        return None;
    }
    let intent = dice.table(&INTENTS);
    let label = match (booked, dice.below(100)) {
        (true, 0..84) => "Bookable - Booked",
        (true, 84..94) | (false, 0..46) => "Bookable - Didn't Book",
        _ => "Unbookable",
    };
    let reason = (label == "Unbookable").then(|| dice.table(&REASONS));
    Some(Grade { label, intent, reason })
}
