//! Section 4: the segment of a customer in one sub-range, and its enriched events.

use chrono::NaiveDate;

use super::customer::{CustomerHistory, StoredEvent};
use super::request::GRADING_FIELDS;
use super::values;

/// The segment of a customer in one sub-range. Events are given by their index in the customer's history.
pub(super) struct CustomerSegment<'a> {
    pub(super) customer: &'a CustomerHistory,
    /// The customer's events in the sub-range.
    pub(super) in_range: Vec<usize>,
    /// The live ones among them.
    pub(super) live: Vec<usize>,
    /// `adjustedType`.
    pub(super) state: &'static str,
    /// The only event on which `typeIsLast` is true.
    pub(super) state_event: usize,
}

/// An event of a segment with its computed fields.
#[derive(Clone, Copy)]
pub(super) struct EnrichedEvent<'a> {
    pub(super) segment: &'a CustomerSegment<'a>,
    /// Index of the event in the customer's history.
    pub(super) place: usize,
}

/// Returns a customer's segment in a sub-range: "For one sub-range, take a customer's events in it." `None` if there
/// are none.
pub(super) fn segment(customer: &CustomerHistory, start: NaiveDate, end: NaiveDate) -> Option<CustomerSegment<'_>> {
    let kind = |place: usize| customer.events[place].kind.as_str();
    let dated = |place: &usize| start <= customer.events[*place].date && customer.events[*place].date <= end;
    let in_range: Vec<usize> = (0..customer.events.len()).filter(dated).collect();

    // "If one of them is `closed`, all of them are live; otherwise those after the last `canceled` are live (all, if
    // none is canceled)".
    let last_canceled = in_range.iter().copied().rfind(|place| kind(*place) == "canceled");
    let live: Vec<usize> = match last_canceled {
        Some(canceled) if !in_range.iter().any(|place| kind(*place) == "closed") => {
            in_range.iter().copied().filter(|place| *place > canceled).collect()
        }
        _ => in_range.clone(),
    };

    // "the furthest stage among its live events other than canceled (closed > sold > estimated > booked >
    // lead-originated); `canceled` if there is none."
    let furthest_first = ["closed", "sold", "estimated", "booked", "lead-originated"];
    let reached = |stage: &&str| live.iter().any(|place| kind(*place) == *stage);
    let state = furthest_first.into_iter().find(reached).unwrap_or("canceled");

    // "the last live event whose type is the state (for `canceled`: the last canceled event)."
    let state_event = match state {
        "canceled" => last_canceled?,
        stage => live.iter().copied().rfind(|place| kind(*place) == stage)?,
    };
    Some(CustomerSegment { customer, in_range, live, state, state_event })
}

impl<'a> CustomerSegment<'a> {
    /// Returns the enriched events: "Every event in the sub-range is enriched".
    pub(super) fn rows(&'a self) -> impl Iterator<Item = EnrichedEvent<'a>> {
        self.in_range.iter().map(|place| EnrichedEvent { segment: self, place: *place })
    }

    /// Returns the events of that stage in the sub-range, live or not.
    pub(super) fn events_in_range(&self, stage: &str) -> Vec<usize> {
        self.of_stage(&self.in_range, stage)
    }

    /// Returns the live events of that stage.
    pub(super) fn live_events(&self, stage: &str) -> Vec<usize> {
        self.of_stage(&self.live, stage)
    }

    fn of_stage(&self, places: &[usize], stage: &str) -> Vec<usize> {
        places.iter().copied().filter(|place| self.customer.events[*place].kind == stage).collect()
    }
}

impl EnrichedEvent<'_> {
    pub(super) fn event(&self) -> &StoredEvent {
        &self.segment.customer.events[self.place]
    }

    pub(super) fn type_is_last(&self) -> bool {
        self.place == self.segment.state_event
    }

    /// Returns the value of a dimension on this event (sections 4 and 5).
    pub(super) fn dimension(&self, name: &str) -> String {
        let customer = self.segment.customer;
        let event = self.event();
        // Section 6: "for an account whose `leadGrading` is false, the fields of that group read as `""`".
        if GRADING_FIELDS.contains(&name) && !customer.account.lead_grading {
            return String::new();
        }
        let first_date = |stage: &str| {
            let dates = customer.events.iter().filter(|event| event.kind == stage).map(|event| event.date);
            dates.min().map(values::date).unwrap_or_default()
        };
        match name {
            "account" | "accountKey" => customer.account.account.clone(),
            "accountName" => customer.account.name().to_owned(),
            "currency" => customer.account.currency().to_owned(),
            "opportunityId" => customer.opportunity_id.clone(),
            "type" => event.kind.clone(),
            "eventId" => event.event_id.clone(),
            "date" => values::date(event.date),
            "week" => values::week(event.date),
            "month" => values::month(event.date),
            "dateTime" => event.date_time.map(values::timestamp).unwrap_or_default(),
            "adjustedType" => self.segment.state.to_owned(),
            "typeIsLast" => self.type_is_last().to_string(),
            "opportunityStartDate" => values::date(customer.events[0].date),
            "firstBooked" => first_date("booked"),
            "firstEstimated" => first_date("estimated"),
            "firstSold" => first_date("sold"),
            "firstClosed" => first_date("closed"),
            "firstCanceled" => first_date("canceled"),
            "opportunityBooked" => customer.ever("booked").to_string(),
            stored_or_unknown => event.other.get(stored_or_unknown).cloned().unwrap_or_default(),
        }
    }
}
