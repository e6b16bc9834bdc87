//! The order of events in a row group: customers by account and start date, and the events of a customer by time.

use super::fault::too_many_rows;
use super::instant::UtcMicros;
use super::stored_events::{EventKeys, KeyGroups, StoredEvents, texts};
use crate::Day;
use crate::stage::Stage;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hash::BuildHasher;

/// Stored events in the order of a row group: by account, start date of the customer, customer, and place in its
/// history.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedEvents {
    /// The events.
    pub batch: RecordBatch,
    /// The row ranges of the customers: customer `i` has the rows `customers[i]..customers[i + 1]`.
    pub customers: Vec<u32>,
}

/// The order in which the rows of a batch of events are stored in a row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOrder {
    /// The row numbers, in order.
    pub rows: Vec<u32>,
    /// The ranges of the customers: customer `i` has `rows[customers[i]..customers[i + 1]]`.
    pub customers: Vec<u32>,
}

/// Sorts stored events. The result does not depend on the order of the input.
///
/// The events of one customer are sorted by:
/// 1. `date`;
/// 2. `dateTime`. Without one, a lead-originated event comes before all others of its date, any other event after them;
/// 3. stage;
/// 4. `eventId`, then `total`, then the other columns by name; null comes first in each.
///
/// # Errors
/// Returns an error if the batch is not in stored form, or if it has too many rows.
pub fn sort_events(batch: &RecordBatch) -> Result<SortedEvents, ArrowError> {
    let events = StoredEvents::of(batch)?;
    let keys = EventKeys {
        accounts: account_ranks(events.account)?,
        opportunity_ids: texts(events.opportunity_id),
        stages: stages(events.stage)?,
        dates: events.date.values().to_vec(),
        date_times: events.date_time.iter().map(|micros| micros.map(UtcMicros)).collect(),
        event_ids: texts(events.event_id),
    };
    let total = |row: usize| events.total.is_valid(row).then(|| events.total.value(row));
    let order = order_events(&keys, &|one, other| {
        let compare = |column: &&StringArray| text(column, one).cmp(text(column, other));
        total(one)
            .cmp(&total(other))
            .then_with(|| events.extra.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    })?;
    if order.rows.iter().zip(0..).all(|(row, at)| *row == at) {
        return Ok(SortedEvents { batch: batch.clone(), customers: order.customers });
    }
    let rows = UInt32Array::from(order.rows);
    let columns: Result<Vec<ArrayRef>, _> =
        batch.columns().par_iter().map(|column| take(column, &rows, None)).collect();
    Ok(SortedEvents { batch: RecordBatch::try_new(batch.schema(), columns?)?, customers: order.customers })
}

/// Returns the order of events in a row group, as [`sort_events`] does. Where the keys of two rows are equal,
/// `compare_rest` compares their totals and then their other columns by name; null comes first.
///
/// # Errors
/// Returns an error if there are more rows than `u32` can number.
pub fn order_events(
    keys: &EventKeys<'_>,
    compare_rest: &dyn Fn(usize, usize) -> Ordering,
) -> Result<EventOrder, ArrowError> {
    let len = u32::try_from(keys.len()).map_err(|_| too_many_rows(keys.len()))?;
    Ok(HistorySorter { keys, compare_rest }.sorted(len))
}

fn stages(names: &StringArray) -> Result<Vec<Stage>, ArrowError> {
    let stage = |name: &str| {
        Stage::from_name(name)
            .ok_or_else(|| ArrowError::InvalidArgumentError(format!("expected a stage, but found `{name}`")))
    };
    names.iter().map(|name| stage(name.unwrap_or_default())).collect()
}

/// Returns the rank of each row's account among all accounts, by key.
fn account_ranks(keys: &StringArray) -> Result<Vec<u32>, ArrowError> {
    let len = u32::try_from(keys.len()).map_err(|_| too_many_rows(keys.len()))?;
    let hasher = DefaultHashBuilder::default();
    let groups =
        KeyGroups::of(len, |row| hasher.hash_one(keys.value(row)), |one, other| keys.value(one) == keys.value(other));
    let mut by_key: Vec<(&str, usize)> =
        groups.first_row.iter().map(|row| keys.value(*row as usize)).zip(0..).collect();
    by_key.sort_unstable();
    let mut ranks = vec![0_u32; by_key.len()];
    for ((_, group), rank) in by_key.into_iter().zip(0..) {
        ranks[group] = rank;
    }
    Ok(groups.of_row.into_iter().map(|group| ranks[group as usize]).collect())
}

/// Sorts customers, and the events of each.
struct HistorySorter<'a> {
    keys: &'a EventKeys<'a>,
    compare_rest: &'a dyn Fn(usize, usize) -> Ordering,
}

/// The keys by which a customer is sorted, and the group that holds its rows.
struct CustomerRows<'a> {
    account: u32,
    /// The date of the customer's first event, in days since 1970-01-01.
    start: i32,
    opportunity_id: &'a str,
    group: u32,
}

impl HistorySorter<'_> {
    /// Returns the order of all `len` rows.
    fn sorted(&self, len: u32) -> EventOrder {
        let (accounts, opportunities) = (&self.keys.accounts, &self.keys.opportunity_ids);
        let hasher = DefaultHashBuilder::default();
        let groups = KeyGroups::of(
            len,
            |row| hasher.hash_one((accounts[row], opportunities[row])),
            |one, other| accounts[one] == accounts[other] && opportunities[one] == opportunities[other],
        );
        let rows = groups.rows();
        let mut customers: Vec<CustomerRows<'_>> = (0_u32..)
            .zip(&groups.first_row)
            .map(|(group, first)| CustomerRows {
                account: accounts[*first as usize],
                start: self.start(rows.of_group(group)),
                opportunity_id: opportunities[*first as usize],
                group,
            })
            .collect();
        customers.sort_unstable_by(|one, other| {
            let key = |customer: &CustomerRows<'_>| (customer.account, customer.start);
            key(one).cmp(&key(other)).then_with(|| one.opportunity_id.cmp(other.opportunity_id))
        });
        let mut order =
            EventOrder { rows: Vec::with_capacity(len as usize), customers: Vec::with_capacity(customers.len() + 1) };
        let mut start = 0;
        let mut history = Vec::new();
        for customer in &customers {
            order.customers.push(start);
            self.sort_history(rows.of_group(customer.group), &mut history);
            for (_, row) in &history {
                order.rows.push(*row);
                start += 1;
            }
        }
        order.customers.push(start);
        order
    }

    /// Returns the earliest date of `rows`.
    fn start(&self, rows: &[u32]) -> i32 {
        rows.iter().map(|row| self.keys.dates[*row as usize]).min().unwrap_or_default()
    }

    /// Sorts the rows of one customer into `history`.
    fn sort_history(&self, rows: &[u32], history: &mut Vec<(EventMoment, u32)>) {
        history.clear();
        history.extend(rows.iter().map(|row| (self.moment(*row as usize), *row)));
        let compare = |one: &(EventMoment, u32), other: &(EventMoment, u32)| {
            one.0.cmp(&other.0).then_with(|| self.compare_in_moment(one.1 as usize, other.1 as usize))
        };
        if history.len() > 1 {
            history.sort_unstable_by(compare);
        }
    }

    /// Returns the place of a row in the history of its customer.
    fn moment(&self, row: usize) -> EventMoment {
        let stage = self.keys.stages[row];
        let time = match self.keys.date_times[row] {
            Some(time) => PlaceInDay::At(time),
            None if stage == Stage::LeadOriginated => PlaceInDay::BeforeAll,
            None => PlaceInDay::AfterAll,
        };
        (self.keys.dates[row], time, stage)
    }

    /// Compares two rows that have the same place in their history by event id, and then by the rest.
    fn compare_in_moment(&self, one: usize, other: usize) -> Ordering {
        let ids = &self.keys.event_ids;
        ids[one].cmp(ids[other]).then_with(|| (self.compare_rest)(one, other))
    }
}

/// Returns the text of a row; null is the empty text.
fn text(column: &StringArray, row: usize) -> &str {
    if column.is_valid(row) { column.value(row) } else { "" }
}

/// The place of an event in its history: the date in days since 1970-01-01, the place in that day, and the stage.
type EventMoment = (i32, PlaceInDay, Stage);

/// The place of an event among the events of its date.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceInDay {
    /// The place of a lead-originated event without a point in time.
    BeforeAll,
    At(UtcMicros),
    /// The place of any other event without a point in time.
    AfterAll,
}

/// The period of a customer: the calendar quarters that its events span.
///
/// A row group holds customers of one period, so that it covers few days and a query about other days skips it. Periods
/// are ordered by first quarter, then by last quarter. [`Far`](Self::Far) comes last.
///
/// ```
/// use trueup_core::model::QuarterSpan;
///
/// let span = QuarterSpan::of("2025-01-31".parse()?, "2025-04-01".parse()?);
/// assert!(matches!(span, QuarterSpan::Near { first, last } if last == first + 1));
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuarterSpan {
    /// One quarter, or two consecutive ones, as numbers from 0, which is the quarter of 1970-01-01.
    Near {
        /// The quarter of the first event.
        first: u16,
        /// The quarter of the last event.
        last: u16,
    },
    /// More quarters than two consecutive ones. Such customers are few. They share row groups of their own, because
    /// each would widen the range of days of a row group with other customers.
    Far,
}

impl QuarterSpan {
    /// Returns the period of a customer whose events are from `first` to `last`.
    #[must_use]
    pub fn of(first: Day, last: Day) -> Self {
        let (first, last) = (first.quarter(), last.quarter());
        if last > first.saturating_add(1) { Self::Far } else { Self::Near { first, last } }
    }
}
