//! Reading ahead from object stores: while row groups are aggregated, the columns of the next ones are on their way.

use super::row_groups::{AnyRowGroup, SelectedRowGroups};
use crate::dataset::ReadingAhead;
use crate::plan::Plan;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The most row groups that are read ahead of the last one that was taken.
const ROW_GROUPS: usize = 16;

/// The bytes in files of row groups that have not been taken, beyond which no more are read ahead.
const BYTES: u64 = 64 << 20;

/// The row groups of a query that are read ahead. Dropping it cancels what is still on its way.
pub(super) struct ReadAhead<'a, 'd> {
    row_groups: &'a SelectedRowGroups<'d>,
    plan: &'a Plan,
    /// `None` if the dataset is not in a store.
    started: Option<Mutex<Started>>,
}

/// The row groups that have not been taken.
#[derive(Default)]
struct Started {
    /// The place of the next row group to read ahead.
    next: usize,
    /// The others by place, with their bytes in files.
    readings: HashMap<usize, (ReadingAhead, u64)>,
    /// The bytes of all of them.
    bytes: u64,
}

impl<'a, 'd> ReadAhead<'a, 'd> {
    pub(super) fn new(row_groups: &'a SelectedRowGroups<'d>, plan: &'a Plan) -> Self {
        let is_remote = row_groups.get(0).is_some_and(|(_, row_group)| row_group.is_remote());
        Self { row_groups, plan, started: is_remote.then(Mutex::default) }
    }

    /// Takes what has been read ahead of the row group at a place, and starts to read the next ones. Each place is taken
    /// at most once.
    pub(super) fn take(&self, at: usize) -> ReadingAhead {
        let Some(started) = &self.started else { return ReadingAhead::default() };
        // The code that holds the lock cannot panic.
        let mut started = started.lock().unwrap_or_else(PoisonError::into_inner);
        // The places before this one have been given to threads.
        started.next = started.next.max(at);
        while started.next <= at.saturating_add(ROW_GROUPS) && started.bytes < BYTES {
            let Some((_, row_group)) = self.row_groups.get(started.next) else { break };
            let (reading, bytes) = match row_group {
                AnyRowGroup::Events(row_group) => {
                    (row_group.read_ahead(&self.plan.projection), row_group.stored_bytes(&self.plan.projection))
                }
                AnyRowGroup::Spend(row_group) => {
                    let projection = &self.plan.spend_projection;
                    (row_group.read_ahead(projection), row_group.stored_bytes(projection))
                }
            };
            let place = started.next;
            started.readings.insert(place, (reading, bytes));
            started.bytes += bytes;
            started.next += 1;
        }
        let (reading, bytes) = started.readings.remove(&at).unwrap_or_default();
        started.bytes -= bytes;
        reading
    }
}
