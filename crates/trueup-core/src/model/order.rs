//! The order of events: customers by account and start, and inside a customer its history.

use super::grouping::Grouping;
use super::normalize::too_many_rows;
use super::stage::Stage;
use super::stored::StoredEvents;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hash::BuildHasher;

/// Stored events in order: by account, start date of the customer, customer, and the customer's own order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted {
    /// The events.
    pub batch: RecordBatch,
    /// Customer `i` has the rows `customers[i]..customers[i + 1]`; one number more than there are customers.
    pub customers: Vec<u32>,
}

/// Sorts stored events. The result does not depend on the order in which they are given.
///
/// A customer's own order is that by date; `dateTime` (absent: before all others of its date for lead-originated, after them for
/// every other stage); stage; `eventId`, absent first; `total`, absent first; the other columns by name, absent first.
///
/// # Errors
/// The batch is not in stored form, or is too large.
pub fn sort_events(batch: &RecordBatch) -> Result<Sorted, ArrowError> {
    let len = u32::try_from(batch.num_rows()).map_err(|_| too_many_rows(batch.num_rows()))?;
    let events = StoredEvents::of(batch)?;
    let histories = Histories { stages: stages(events.stage)?, events };
    let (order, customers) = histories.sorted(len);
    if order.iter().zip(0..).all(|(row, at)| *row == at) {
        return Ok(Sorted { batch: batch.clone(), customers });
    }
    let order = UInt32Array::from(order);
    let columns: Result<Vec<ArrayRef>, _> =
        batch.columns().par_iter().map(|column| take(column, &order, None)).collect();
    Ok(Sorted { batch: RecordBatch::try_new(batch.schema(), columns?)?, customers })
}

fn stages(names: &StringArray) -> Result<Vec<Stage>, ArrowError> {
    let stage = |name: &str| {
        Stage::from_name(name)
            .ok_or_else(|| ArrowError::InvalidArgumentError(format!("expected a stage, but found `{name}`")))
    };
    names.iter().map(|name| stage(name.unwrap_or_default())).collect()
}

struct Histories<'a> {
    stages: Vec<Stage>,
    events: StoredEvents<'a>,
}

/// What orders customers, and the number of their group.
struct Customer<'a> {
    account: u32,
    start: i32,
    opportunity_id: &'a str,
    group: u32,
}

impl Histories<'_> {
    /// All rows in order, and where each customer begins.
    fn sorted(&self, len: u32) -> (Vec<u32>, Vec<u32>) {
        let accounts = self.account_ranks(len);
        let opportunities = self.events.opportunity_id;
        let hasher = DefaultHashBuilder::default();
        let groups = Grouping::of(
            len,
            |row| hasher.hash_one((accounts[row], opportunities.value(row))),
            |one, other| accounts[one] == accounts[other] && opportunities.value(one) == opportunities.value(other),
        );
        let rows = groups.rows();
        let mut customers: Vec<Customer<'_>> = (0_u32..)
            .zip(&groups.first_row)
            .map(|(group, first)| Customer {
                account: accounts[*first as usize],
                start: self.start(rows.of_group(group)),
                opportunity_id: opportunities.value(*first as usize),
                group,
            })
            .collect();
        customers.par_sort_unstable_by(|one, other| {
            let key = |customer: &Customer<'_>| (customer.account, customer.start);
            key(one).cmp(&key(other)).then_with(|| one.opportunity_id.cmp(other.opportunity_id))
        });
        let mut order = Vec::with_capacity(len as usize);
        let mut starts = Vec::with_capacity(customers.len() + 1);
        let mut start = 0;
        let mut history = Vec::new();
        for customer in &customers {
            starts.push(start);
            self.sort_history(rows.of_group(customer.group), &mut history);
            for (_, row) in &history {
                order.push(*row);
                start += 1;
            }
        }
        starts.push(start);
        (order, starts)
    }

    /// For each row the place of its account among all accounts.
    fn account_ranks(&self, len: u32) -> Vec<u32> {
        let keys = self.events.account;
        let hasher = DefaultHashBuilder::default();
        let groups = Grouping::of(
            len,
            |row| hasher.hash_one(keys.value(row)),
            |one, other| keys.value(one) == keys.value(other),
        );
        let mut by_key: Vec<(&str, usize)> =
            groups.first_row.iter().map(|row| keys.value(*row as usize)).zip(0..).collect();
        by_key.sort_unstable();
        let mut ranks = vec![0_u32; by_key.len()];
        for ((_, group), rank) in by_key.into_iter().zip(0..) {
            ranks[group] = rank;
        }
        groups.of_row.into_iter().map(|group| ranks[group as usize]).collect()
    }

    /// The earliest date of some rows.
    fn start(&self, rows: &[u32]) -> i32 {
        rows.iter().map(|row| self.events.date.value(*row as usize)).min().unwrap_or_default()
    }

    /// The rows of one customer in its own order, into `history`.
    fn sort_history(&self, rows: &[u32], history: &mut Vec<(Moment, u32)>) {
        history.clear();
        history.extend(rows.iter().map(|row| (self.moment(*row as usize), *row)));
        let compare = |one: &(Moment, u32), other: &(Moment, u32)| {
            one.0.cmp(&other.0).then_with(|| self.compare_rest(one.1 as usize, other.1 as usize))
        };
        if history.len() > 1 {
            history.sort_unstable_by(compare);
        }
    }

    fn moment(&self, row: usize) -> Moment {
        let (times, stage) = (self.events.date_time, self.stages[row]);
        let time = match times.is_valid(row) {
            true => Time::At(times.value(row)),
            false if stage == Stage::LeadOriginated => Time::BeforeAll,
            false => Time::AfterAll,
        };
        (self.events.date.value(row), time, stage)
    }

    /// What decides between events of one moment.
    fn compare_rest(&self, one: usize, other: usize) -> Ordering {
        let total = |row| self.events.total.is_valid(row).then(|| self.events.total.value(row));
        let texts = |column: &StringArray| text(column, one).cmp(text(column, other));
        texts(self.events.event_id).then_with(|| total(one).cmp(&total(other))).then_with(|| {
            self.events.extra.iter().map(|column| texts(column)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

/// The text of a row; empty if absent, which orders before all others.
fn text(column: &StringArray, row: usize) -> &str {
    if column.is_valid(row) { column.value(row) } else { "" }
}

/// When in a history an event stands; stored dates are days since 1970-01-01.
type Moment = (i32, Time, Stage);

/// When on its date an event stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Time {
    BeforeAll,
    At(i64),
    AfterAll,
}

#[cfg(test)]
mod tests;
