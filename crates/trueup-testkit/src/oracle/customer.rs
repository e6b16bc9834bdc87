//! Sections 1, 2 and 16: the stored events, the order of a customer's history, and the conversions that are credited.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::request::{Attribution, is_stored};
use super::tables::{AccountRow, EventRow, Tables, local_date};
use super::values::text_of;

/// Section 2: "stage, in the order lead-originated, booked, estimated, sold, closed, canceled".
const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// One stored event.
#[derive(Clone)]
pub(super) struct StoredEvent {
    pub(super) kind: String,
    /// `date`, or else the calendar date of `dateTime` in the account's time zone.
    pub(super) date: NaiveDate,
    /// Microseconds since 1970-01-01 UTC.
    pub(super) date_time: Option<i64>,
    /// `""` if the event has no id.
    pub(super) event_id: String,
    /// Millionths of a currency unit.
    pub(super) total: Option<i64>,
    /// The stored dimensions as text. A missing name is `""`.
    pub(super) other: BTreeMap<String, String>,
}

/// A customer with its whole history, in order. In a cohort the history ends with the window.
#[derive(Clone)]
pub(super) struct CustomerHistory {
    pub(super) account: AccountRow,
    pub(super) opportunity_id: String,
    pub(super) events: Vec<StoredEvent>,
}

impl CustomerHistory {
    /// Returns the index in the history of the earliest event of a stage; `None` if there is none.
    pub(super) fn earliest(&self, stage: &str) -> Option<usize> {
        self.events.iter().position(|event| event.kind == stage)
    }

    /// Returns whether the customer ever reaches a stage. Section 6: "'ever' and 'anywhere' look at the whole history,
    /// before and after the range."
    pub(super) fn ever(&self, stage: &str) -> bool {
        self.earliest(stage).is_some()
    }
}

/// Takes the attribution dimensions of the events of a customer from its conversions. Section 16: "A customer without a
/// conversion keeps what is recorded."
pub(super) fn attribute(customer: &mut CustomerHistory, attribution: Attribution) {
    let recorded = customer.events.clone();
    let conversions: Vec<usize> =
        (0..recorded.len()).filter(|place| recorded[*place].kind == "lead-originated").collect();
    let Some(first) = conversions.first() else { return };
    for (place, event) in customer.events.iter_mut().enumerate() {
        let credited = match attribution {
            Attribution::Recorded => place,
            Attribution::First => *first,
            Attribution::Last => *conversions.iter().rfind(|conversion| **conversion <= place).unwrap_or(first),
        };
        event.other.retain(|name, _| !is_of_attribution(name));
        let values = recorded[credited].other.iter().filter(|(name, _)| is_of_attribution(name));
        event.other.extend(values.map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// Section 16: "`attributionCategory`, `attributionChannel`, `campaign`, and every stored column whose name begins with
/// `attribution`".
fn is_of_attribution(name: &str) -> bool {
    name == "campaign" || name.starts_with("attribution")
}

/// Returns all customers: "A customer is the pair (account, opportunityId)".
pub(super) fn customers(tables: &Tables) -> Vec<CustomerHistory> {
    let mut rows: BTreeMap<(String, String), Vec<StoredEvent>> = BTreeMap::new();
    for row in last_of_each_id(&tables.events) {
        let account = tables.account(&row.account);
        let key = (row.account.clone(), row.opportunity_id.clone());
        rows.entry(key).or_default().extend(event(row, &account));
    }
    let mut customers = Vec::new();
    for ((account, opportunity_id), mut events) in rows {
        events.sort_by(order);
        customers.push(CustomerHistory { account: tables.account(&account), opportunity_id, events });
    }
    customers
}

/// Returns the rows that are stored. Section 1: "Events by (account, `eventId`), the whole event, even if its customer
/// differs; inside one ingest the last row of the last input wins. Events without an id are added."
fn last_of_each_id(rows: &[EventRow]) -> Vec<&EventRow> {
    fn id(row: &EventRow) -> &str {
        row.event_id.as_deref().unwrap_or("")
    }
    let mut kept = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let same_id = |later: &EventRow| row.account == later.account && id(row) == id(later);
        if id(row).is_empty() || !rows[index + 1..].iter().any(same_id) {
            kept.push(row);
        }
    }
    kept
}

/// Returns the stored event of a row. A row without `date` and without a usable `dateTime` is not valid input and is
/// left out.
fn event(row: &EventRow, account: &AccountRow) -> Option<StoredEvent> {
    let date = match (row.date, row.date_time) {
        (Some(date), _) => date,
        (None, Some(micros)) => local_date(micros, &account.time_zone)?,
        (None, None) => return None,
    };
    // Section 1: "A stored column whose name is computed or is a metric other than `total` is ignored".
    let stored = row.other.iter().filter(|(name, _)| is_stored(name));
    Some(StoredEvent {
        kind: row.kind.clone(),
        date,
        date_time: row.date_time,
        event_id: row.event_id.clone().unwrap_or_default(),
        total: row.total,
        other: stored.map(|(name, cell)| (name.clone(), text_of(cell))).collect(),
    })
}

/// Compares two events of a customer. Section 2: "ordered by: `date`; `dateTime`; stage; `eventId` as text, absent
/// first; `total`, absent first; then the other columns' rendered values, by column name." A null dimension is `""`.
fn order(a: &StoredEvent, b: &StoredEvent) -> Ordering {
    a.date
        .cmp(&b.date)
        .then_with(|| within_its_date(a).cmp(&within_its_date(b)))
        .then_with(|| stage(&a.kind).cmp(&stage(&b.kind)))
        .then_with(|| a.event_id.cmp(&b.event_id))
        .then_with(|| a.total.cmp(&b.total))
        .then_with(|| by_other_columns(a, b))
}

/// Returns the position of an event among those of its date: "`dateTime` (absent: before all others of its date for
/// lead-originated, after them for every other stage)".
fn within_its_date(event: &StoredEvent) -> (u8, i64) {
    match event.date_time {
        Some(micros) => (1, micros),
        None if event.kind == "lead-originated" => (0, 0),
        None => (2, 0),
    }
}

fn stage(kind: &str) -> usize {
    STAGES.iter().position(|stage| *stage == kind).unwrap_or(STAGES.len())
}

fn by_other_columns(a: &StoredEvent, b: &StoredEvent) -> Ordering {
    let names: BTreeSet<&String> = a.other.keys().chain(b.other.keys()).collect();
    for name in names {
        let text = |event: &StoredEvent| event.other.get(name).cloned().unwrap_or_default();
        match text(a).cmp(&text(b)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    Ordering::Equal
}
