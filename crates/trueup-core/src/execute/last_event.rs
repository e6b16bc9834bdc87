//! Finds the last day of the events of some accounts.

use crate::dataset::{Dataset, RowGroup, StartedReads, TableFile};
use crate::error::Error;
use crate::query::AccountFilter;
use crate::scan::{EventColumns, EventProjection};
use crate::{Day, Interrupt};
use std::cmp::Reverse;

/// Returns the last day of the events of the accounts; `None` if they have none.
///
/// The statistics of a row group say the day if all of its events are of these accounts, and none is superseded. Other
/// row groups are read, but only if they may have a later day than the row groups before.
pub(super) fn last_event_day(
    dataset: &Dataset,
    accounts: &AccountFilter,
    interrupt: &Interrupt,
) -> Result<Option<Day>, Error> {
    let row_groups = dataset.events().iter().filter(|row_group| !row_group.entry.excludes(accounts));
    let mut row_groups: Vec<&RowGroup<EventColumns>> = row_groups.collect();
    row_groups.sort_by_key(|row_group| Reverse(row_group.entry.last_day()));
    let mut last = None;
    for row_group in row_groups {
        let entry = &row_group.entry;
        if last >= Some(entry.last_day()) {
            break;
        }
        if entry.days.is_some() && entry.is_within(accounts) && !row_group.has_superseded() {
            // The answer depends on what the list of files says, so that the footer must say the same.
            TableFile::read_footers(row_group.file().into_iter(), interrupt)?;
            return Ok(Some(entry.last_day()));
        }
        let columns = row_group.read_until(&EventProjection::default(), StartedReads::default(), interrupt)?;
        let is_read: Vec<bool> = columns.customers.account_keys().iter().map(|key| accounts.contains(key)).collect();
        let blocks = columns.blocks.iter().filter(|block| is_read[block.account.index()]);
        last = last.max(blocks.map(|block| Day::from_number(block.last_day)).max());
    }
    Ok(last)
}
