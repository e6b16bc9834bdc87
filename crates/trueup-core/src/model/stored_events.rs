//! Stored events: their keys, their columns by type, their concatenation, and the removal of replaced events.

use super::columns::{
    ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, extra_columns, stored_event_schema,
};
use super::fault::too_many_rows;
use super::instant::UtcMicros;
use crate::stage::Stage;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{ArrowError, Field};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use std::hash::BuildHasher;

/// The keys of a batch of events, column by column. Each list has one entry per row.
///
/// For example, the only event of a batch may have the account number 3, the customer `c-17`, the stage `Booked`, the
/// date 20000, no point in time, and the event id `e-1`.
#[derive(Clone, Debug, Default)]
pub struct EventKeys<'a> {
    /// The numbers of the accounts. Their order is the order of the account keys.
    pub accounts: Vec<u32>,
    /// The ids of the customers in their accounts; never empty.
    pub opportunity_ids: Vec<&'a str>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The dates, in days since 1970-01-01.
    pub dates: Vec<i32>,
    /// The points in time; `None` if only the day is known.
    pub date_times: Vec<Option<UtcMicros>>,
    /// The ids of the events in their accounts; empty if the event has none.
    pub event_ids: Vec<&'a str>,
}

impl EventKeys<'_> {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Returns which rows stay if a later row replaces the earlier ones with its account and event id; `None` if all
    /// rows stay. All rows without an event id stay.
    ///
    /// `is_new` says whether a row arrives now; among the rows of an id, new rows follow all others. New rows that
    /// share an id but differ in stage or customer are several events: none of them stays, and none replaces another
    /// row. A row that is not new may be replaced by one of another customer, which the result says.
    ///
    /// # Errors
    /// Returns an error if there are more rows than `u32` can number.
    ///
    /// ```
    /// use trueup_core::model::EventKeys;
    ///
    /// let keys = EventKeys {
    ///     accounts: vec![0, 0, 1],
    ///     event_ids: vec!["e", "e", "e"],
    ///     opportunity_ids: vec!["1", "2", "1"],
    ///     ..EventKeys::default()
    /// };
    /// let stored = keys.latest(|_| false)?.ok_or("nothing is replaced")?;
    /// assert_eq!((stored.kept, stored.shared), (vec![false, true, true], vec![]));
    /// let new = keys.latest(|_| true)?.ok_or("nothing is left out")?;
    /// assert_eq!((new.kept, new.shared), (vec![false, false, true], vec![0, 1]));
    /// let later = keys.latest(|row| row == 1)?.ok_or("nothing is replaced")?;
    /// assert_eq!((later.kept, later.reassigned), (vec![false, true, true], vec![(0, 1)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn latest(&self, is_new: impl Fn(usize) -> bool) -> Result<Option<LatestRows>, ArrowError> {
        let Self { opportunity_ids, stages, .. } = self;
        let is_same = |one: usize, other: usize| {
            stages.get(one) == stages.get(other) && opportunity_ids[one] == opportunity_ids[other]
        };
        let mut found = latest(&self.accounts, &self.event_ids, is_new, is_same)?;
        if let Some(LatestRows { reassigned, .. }) = &mut found {
            reassigned.retain(|(old, new)| opportunity_ids[*old as usize] != opportunity_ids[*new as usize]);
        }
        Ok(found)
    }
}

/// The rows of a batch that stay, by account and event id: see [`EventKeys::latest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestRows {
    /// Whether each row stays.
    pub kept: Vec<bool>,
    /// The new rows that share an id with another new row of another stage or customer, in order.
    pub shared: Vec<u32>,
    /// The rows that are not new and that a new row of another customer replaces, each with that row.
    pub reassigned: Vec<(u32, u32)>,
}

/// Returns which rows stay, as [`EventKeys::latest`] does, for any type of account key. `is_same` says whether two rows
/// with one id have the same stage and customer. A row counts as reassigned if either differs.
fn latest<A: Copy + Eq + std::hash::Hash>(
    accounts: &[A],
    ids: &[&str],
    is_new: impl Fn(usize) -> bool,
    is_same: impl Fn(usize, usize) -> bool,
) -> Result<Option<LatestRows>, ArrowError> {
    let len = u32::try_from(ids.len()).map_err(|_| too_many_rows(ids.len()))?;
    if ids.iter().all(|id| id.is_empty()) {
        return Ok(None);
    }
    let hasher = DefaultHashBuilder::default();
    // The key of a row without an id is its row number, so that it equals no other row.
    let groups = KeyGroups::of(
        len,
        |row| match ids[row] {
            "" => hasher.hash_one(row),
            id => hasher.hash_one((accounts[row], id)),
        },
        |one, other| {
            one == other || (!ids[one].is_empty() && ids[one] == ids[other] && accounts[one] == accounts[other])
        },
    );
    if groups.first_row.len() == ids.len() {
        return Ok(None);
    }
    let mut last_row = groups.first_row;
    let mut shared_groups: HashSet<u32> = HashSet::new();
    let mut reassigned: Vec<(u32, u32)> = Vec::new();
    for (row, group) in (0_u32..).zip(&groups.of_row) {
        let last = std::mem::replace(&mut last_row[*group as usize], row);
        if last == row || is_same(last as usize, row as usize) {
            continue;
        }
        // Of several rows, some two that follow each other differ if any two do.
        if is_new(last as usize) {
            shared_groups.insert(*group);
        } else if is_new(row as usize) {
            reassigned.push((last, row));
        }
    }
    let mut kept = vec![false; ids.len()];
    let mut shared = Vec::new();
    if !shared_groups.is_empty() {
        for (row, group) in (0_u32..).zip(&groups.of_row).filter(|(_, group)| shared_groups.contains(*group)) {
            if is_new(row as usize) {
                shared.push(row);
            } else {
                last_row[*group as usize] = row;
            }
        }
    }
    for row in last_row {
        kept[row as usize] = true;
    }
    for row in &shared {
        kept[*row as usize] = false;
    }
    // New rows that share an id replace no row.
    reassigned.retain(|(old, _)| !kept[*old as usize]);
    Ok(Some(LatestRows { kept, shared, reassigned }))
}

/// Rows grouped by key. Groups are numbered from 0 in the order of their first rows.
pub(super) struct KeyGroups {
    /// The group of each row.
    pub(super) of_row: Vec<u32>,
    /// The first row of each group.
    pub(super) first_row: Vec<u32>,
}

impl KeyGroups {
    /// Groups `rows` rows. `hash` returns the hash of a row's key, `same` whether two rows have equal keys.
    pub(super) fn of(rows: u32, hash: impl Fn(usize) -> u64, same: impl Fn(usize, usize) -> bool) -> Self {
        let mut first_row: Vec<u32> = Vec::new();
        let mut of_row: Vec<u32> = Vec::with_capacity(rows as usize);
        let mut table: HashTable<(u32, u32)> = HashTable::with_capacity(rows as usize);
        let mut next = 0;
        for row in 0..rows {
            // Rows with equal keys often follow each other.
            if let Some(group) = of_row.last().filter(|_| same(row as usize - 1, row as usize)) {
                of_row.push(*group);
                continue;
            }
            let entry = table.entry(
                hash(row as usize),
                |(_, first)| same(*first as usize, row as usize),
                |(_, first)| hash(*first as usize),
            );
            let (group, _) = *entry
                .or_insert_with(|| {
                    first_row.push(row);
                    next += 1;
                    (next - 1, row)
                })
                .get();
            of_row.push(group);
        }
        Self { of_row, first_row }
    }

    /// Sorts the rows by group, and by row inside a group.
    pub(super) fn rows(&self) -> GroupedRows {
        let mut starts = vec![0_u32; self.first_row.len() + 1];
        for group in &self.of_row {
            starts[*group as usize + 1] += 1;
        }
        for group in 1..starts.len() {
            starts[group] += starts[group - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; self.of_row.len()];
        for (row, group) in (0_u32..).zip(&self.of_row) {
            let at = &mut next[*group as usize];
            rows[*at as usize] = row;
            *at += 1;
        }
        GroupedRows { starts, rows }
    }
}

/// The rows of all groups, group by group. Group `g` has `rows[starts[g]..starts[g + 1]]`.
pub(super) struct GroupedRows {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl GroupedRows {
    /// Returns the rows of a group, in order.
    pub(super) fn of_group(&self, group: u32) -> &[u32] {
        let (start, end) = (self.starts[group as usize], self.starts[group as usize + 1]);
        &self.rows[start as usize..end as usize]
    }
}

/// Concatenates batches of stored events, in the order given. The result has the columns of all batches; a column that
/// a batch lacks is null in its rows.
///
/// # Errors
/// Returns an error if a batch is not in stored form, or if the result is too large for one batch (2 GiB in one column
/// of text).
pub fn concat_events(batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let schema = stored_event_schema(batches.iter().flat_map(|batch| extra_columns(batch.schema_ref())));
    let concatenated = |field: &Field| -> Result<ArrayRef, ArrowError> {
        let parts: Vec<ArrayRef> = batches
            .iter()
            .map(|batch| match batch.column_by_name(field.name()) {
                Some(column) => column.clone(),
                None => new_null_array(field.data_type(), batch.num_rows()),
            })
            .collect();
        match parts.as_slice() {
            [] => Ok(new_null_array(field.data_type(), 0)),
            [part] => Ok(part.clone()),
            parts => concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
        }
    };
    let columns = schema.fields().iter().map(|field| concatenated(field)).collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema, columns)
}

/// Removes replaced events: of the rows with one account and `eventId`, only the last stays. All rows without an
/// `eventId` stay. Keeps the order.
///
/// # Errors
/// Returns an error if the batch is not in stored form, or if it has too many rows.
pub fn keep_latest(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let events = StoredEvents::of(batch)?;
    match latest(&texts(events.account), &texts(events.event_id), |_| false, |_, _| true)? {
        Some(latest) => filter_record_batch(batch, &BooleanArray::from(latest.kept)),
        None => Ok(batch.clone()),
    }
}

/// The columns of a batch of stored events, by type.
pub(super) struct StoredEvents<'a> {
    pub(super) account: &'a StringArray,
    pub(super) opportunity_id: &'a StringArray,
    pub(super) stage: &'a StringArray,
    pub(super) date: &'a Date32Array,
    pub(super) date_time: &'a TimestampMicrosecondArray,
    pub(super) event_id: &'a StringArray,
    pub(super) total: &'a Decimal128Array,
    /// The other columns, by name.
    pub(super) extra: Vec<&'a StringArray>,
}

impl<'a> StoredEvents<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        let column = |name: &str| batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| wrong(name));
        let texts = |name: &str| typed(name, column(name)?, |column| column.as_string_opt());
        let mut names: Vec<&str> = extra_columns(batch.schema_ref()).collect();
        names.sort_unstable();
        Ok(Self {
            account: texts(ACCOUNT)?,
            opportunity_id: texts(OPPORTUNITY_ID)?,
            stage: texts(TYPE)?,
            date: typed(DATE, column(DATE)?, |column| column.as_primitive_opt::<Date32Type>())?,
            date_time: typed(DATE_TIME, column(DATE_TIME)?, |column| {
                column.as_primitive_opt::<TimestampMicrosecondType>()
            })?,
            event_id: texts(EVENT_ID)?,
            total: typed(TOTAL, column(TOTAL)?, |column| column.as_primitive_opt::<Decimal128Type>())?,
            extra: names.into_iter().map(texts).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the column, or an error if `read` does not find the type that it expects.
fn typed<'a, T>(
    name: &str,
    column: &'a dyn Array,
    read: impl FnOnce(&'a dyn Array) -> Option<&'a T>,
) -> Result<&'a T, ArrowError> {
    read(column).ok_or_else(|| wrong(name))
}

fn wrong(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("expected the column `{name}` of stored events, but found none of its type"))
}

/// Returns the texts of a column. Null is the empty text, which orders before all others.
pub(super) fn texts(column: &StringArray) -> Vec<&str> {
    column.iter().map(Option::unwrap_or_default).collect()
}
