//! What decides the order of events, and which of them replace others.

use super::fault::too_many_rows;
use super::grouping::Grouping;
use super::stage::Stage;
use arrow_schema::ArrowError;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// The keys of some events, each a list as long as there are rows.
#[derive(Clone, Debug, Default)]
pub struct EventKeys<'a> {
    /// Numbers of accounts, which order as their keys do.
    pub accounts: Vec<u32>,
    /// The customers in their account; never empty.
    pub opportunity_ids: Vec<&'a str>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// Days since 1970-01-01.
    pub dates: Vec<i32>,
    /// Points in time, in microseconds since 1970-01-01 UTC.
    pub date_times: Vec<Option<i64>>,
    /// The ids in the account; empty if the event has none.
    pub event_ids: Vec<&'a str>,
}

impl EventKeys<'_> {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Which rows stay, if a later row replaces those before it with the same account and event id; `None` if all of them do. Rows
    /// without an event id all stay.
    ///
    /// # Errors
    /// There are too many rows.
    pub fn latest(&self) -> Result<Option<Vec<bool>>, ArrowError> {
        latest(&self.accounts, &self.event_ids)
    }
}

/// Which rows stay, for any keys of accounts; an empty id is none.
pub(super) fn latest<A: Copy + Eq + std::hash::Hash>(
    accounts: &[A],
    ids: &[&str],
) -> Result<Option<Vec<bool>>, ArrowError> {
    let len = u32::try_from(ids.len()).map_err(|_| too_many_rows(ids.len()))?;
    if ids.iter().all(|id| id.is_empty()) {
        return Ok(None);
    }
    let hasher = DefaultHashBuilder::default();
    // A row without an id has a key of its own: its number.
    let groups = Grouping::of(
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
