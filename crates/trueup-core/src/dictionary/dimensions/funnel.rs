//! The event and how far its customer has come.

use super::super::Computed;
use super::super::Field;
use super::super::FieldGroup::Funnel;
use super::super::entry::{STAGES, computed, stored};

pub(super) static FIELDS: &[Field] = &[
    computed(Funnel, "type", "Event Type", Computed::Type)
        .values(STAGES)
        .means("The funnel stage that the event stands for. Never empty on an event."),
    computed(Funnel, "adjustedType", "Adjusted Type", Computed::AdjustedType).values(STAGES).means(
        "The customer's state in the range, the same on all its events there: the furthest stage among events that no \
         later cancellation undid, where completed work cannot be undone; canceled if nothing else is left. Never \
         empty on an event.",
    ),
    computed(Funnel, "typeIsLast", "Is State Event", Computed::TypeIsLast).boolean().means(
        "Whether the event is its customer's state event: the last live event of the furthest stage. True on exactly \
         one event for a customer and range. Never empty on an event.",
    ),
    computed(Funnel, "opportunityStartDate", "Opportunity Start Date", Computed::OpportunityStartDate).day().means(
        "The day of the customer's first event of all, even before the range, as YYYY-MM-DD. Never empty on an event.",
    ),
    computed(Funnel, "firstBooked", "First Booked Date", Computed::FirstBooked)
        .day()
        .means("The day of the customer's earliest booking of all, as YYYY-MM-DD. Empty if it is never booked."),
    computed(Funnel, "firstEstimated", "First Estimated Date", Computed::FirstEstimated)
        .day()
        .means("The day of the customer's earliest estimate of all, as YYYY-MM-DD. Empty if it never has one."),
    computed(Funnel, "firstSold", "First Sold Date", Computed::FirstSold)
        .day()
        .means("The day of the customer's earliest sale of all, as YYYY-MM-DD. Empty if it is never sold anything."),
    computed(Funnel, "firstClosed", "First Closed Date", Computed::FirstClosed)
        .day()
        .means("The day on which work for the customer was first completed, as YYYY-MM-DD. Empty if it never is."),
    computed(Funnel, "firstCanceled", "First Canceled Date", Computed::FirstCanceled)
        .day()
        .means("The day of the customer's earliest cancellation of all, as YYYY-MM-DD. Empty if it never cancels."),
    computed(Funnel, "opportunityBooked", "Opportunity Booked", Computed::OpportunityBooked)
        .boolean()
        .means("Whether the customer is booked at any time, before, in or after the range. Never empty on an event."),
    computed(Funnel, "eventId", "Event ID", Computed::EventId)
        .means("The event's own identifier, which is its alone in the account. Empty if it has none."),
    stored(Funnel, "sourceId", "Source ID")
        .means("The identifier of the event's record in the system that it came from. Empty if unknown."),
    stored(Funnel, "source", "Source")
        .means("The system that reported the event, such as call tracking or a booking calendar. Empty if unknown."),
    stored(Funnel, "detail", "Detail").means("Free words of the source on what took place. Empty if it has none."),
    stored(Funnel, "agent", "Agent")
        .means("The person of the business who handled the event, such as who took the call. Empty if unknown."),
    stored(Funnel, "technician", "Technician")
        .means("The person who was sent to do the work that the event is about. Empty if unknown, or nobody was."),
];
