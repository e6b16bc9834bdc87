use super::grade::Grade;

/// The funnel stage of an event.
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

/// A moment in the account's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalTime {
    /// Days since 1970-01-01.
    pub(super) day: i32,
    /// Seconds since midnight.
    pub(super) second: u32,
}

impl LocalTime {
    /// Later on the same day, if it is not over by then.
    pub(super) fn plus_minutes(self, minutes: u32) -> Self {
        Self { second: (self.second + 60 * minutes).min(86_399), ..self }
    }
}

/// What belongs to a single conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    pub(super) campaign: usize,
    /// Call, form and so on.
    pub(super) kind: &'static str,
    pub(super) grade: Option<Grade>,
}

/// One event, before it is spelt out as a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) stage: Stage,
    pub(super) at: LocalTime,
    pub(super) cents: Option<u64>,
    pub(super) conversion: Option<Conversion>,
    /// Of a later job of the same customer, who is then an existing one.
    pub(super) returning: bool,
}

/// What all events of a customer have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct CustomerProfile {
    pub(super) account: usize,
    /// The month in which it begins, and its number in that month.
    pub(super) month: usize,
    pub(super) number: u64,
    /// The campaign credited with it; none for a walk-in.
    pub(super) campaign: Option<usize>,
    pub(super) status: &'static str,
    pub(super) agent: usize,
    pub(super) technician: usize,
    /// The unit that does the job.
    pub(super) unit: usize,
    pub(super) zip: Option<usize>,
    pub(super) source: &'static str,
    pub(super) kind: &'static str,
}

/// An event with its customer and its place in the customer's history: one row to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRow {
    pub(super) customer: CustomerProfile,
    pub(super) event: Event,
    pub(super) nth: usize,
}
