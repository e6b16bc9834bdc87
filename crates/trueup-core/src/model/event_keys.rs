//! The keys of events, which decide their order and which of them replace others.

use super::fault::too_many_rows;
use super::stage::Stage;
use arrow_schema::ArrowError;
use hashbrown::{DefaultHashBuilder, HashTable};
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
    /// The points in time, in microseconds since 1970-01-01 UTC.
    pub date_times: Vec<Option<i64>>,
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
    /// # Errors
    /// Returns an error if there are more rows than `u32` can number.
    ///
    /// ```
    /// use trueup_core::model::EventKeys;
    ///
    /// let keys = EventKeys { accounts: vec![0, 0, 1], event_ids: vec!["e", "e", "e"], ..EventKeys::default() };
    /// assert_eq!(keys.latest()?, Some(vec![false, true, true]));
    /// # Ok::<(), arrow_schema::ArrowError>(())
    /// ```
    pub fn latest(&self) -> Result<Option<Vec<bool>>, ArrowError> {
        latest(&self.accounts, &self.event_ids)
    }
}

/// Returns which rows stay, as [`EventKeys::latest`] does, for any type of account key.
pub(super) fn latest<A: Copy + Eq + std::hash::Hash>(
    accounts: &[A],
    ids: &[&str],
) -> Result<Option<Vec<bool>>, ArrowError> {
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
    for (row, group) in (0_u32..).zip(&groups.of_row) {
        last_row[*group as usize] = row;
    }
    let mut kept = vec![false; ids.len()];
    for row in last_row {
        kept[row as usize] = true;
    }
    Ok(Some(kept))
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
