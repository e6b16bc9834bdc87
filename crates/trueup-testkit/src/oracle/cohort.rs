//! Section 12: the customers of a cohort.

use chrono::{Days, NaiveDate};

use super::customer::{CustomerHistory, StoredEvent};
use super::request::Window;
use super::segment::{CustomerSegment, segment};

/// Returns the customers of the cohort of one sub-range, each with the events up to the end of its window: "it selects
/// the customers in scope that are leads (section 2) and whose first event has a date d in the sub-range. Each of them
/// is treated as if its history ended on day d + W."
pub(super) fn cohort(
    customers: &[CustomerHistory],
    start: NaiveDate,
    end: NaiveDate,
    window: Window,
) -> Vec<CustomerHistory> {
    let originated = |first: &StoredEvent| first.kind == "lead-originated" && start <= first.date && first.date <= end;
    let selected = customers.iter().filter(|customer| customer.events.first().is_some_and(originated));
    selected
        .map(|customer| {
            let last = last_day(customer, window);
            let inside = customer.events.iter().filter(|event| event.date <= last).cloned();
            CustomerHistory { events: inside.collect(), ..customer.clone() }
        })
        .collect()
}

/// Returns the segment of a customer of a cohort: "The events that remain take the place of 'the customer's events in
/// the sub-range' in section 4".
pub(super) fn cohort_segment(customer: &CustomerHistory) -> Option<CustomerSegment<'_>> {
    segment(customer, NaiveDate::MIN, NaiveDate::MAX)
}

/// Returns whether the window of a lead is open: "d + W is later than the last event date of the dataset version in the
/// accounts in scope. With `all`, every lead is open." `last` is that date; `None` without events.
pub(super) fn is_open(customer: &CustomerHistory, window: Window, last: Option<NaiveDate>) -> bool {
    window == Window::All || last.is_some_and(|last| last_day(customer, window) > last)
}

/// Returns the last day of a customer's window, d + W.
fn last_day(customer: &CustomerHistory, window: Window) -> NaiveDate {
    match window {
        Window::Days(days) => {
            customer.events[0].date.checked_add_days(Days::new(u64::from(days))).unwrap_or(NaiveDate::MAX)
        }
        Window::All => NaiveDate::MAX,
    }
}
