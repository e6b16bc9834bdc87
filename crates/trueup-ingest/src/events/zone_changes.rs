//! Accounts that have stored events and get another time zone, or the same one with other rules, because the dataset
//! was written with an earlier release of the time zone database. The days of stored events that were computed from a
//! `dateTime` are computed again; days that were given stay.

use super::encode::plain_texts;
use super::event_batch::{column, primitive_column};
use super::stored_files;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use crate::held::in_row_group;
use crate::monitor::Monitor;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, Date32Array, PrimitiveArray, RecordBatch};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trueup_core::dataset::manifest::{Manifest, RowGroupEntry};
use trueup_core::model::{
    ACCOUNT, Account, Accounts, DATE, DATE_COMPUTED, DATE_SOURCE_COLUMN, DATE_TIME, UtcMicros, Zone, format_date_time,
    tzdata_release,
};
use trueup_core::{Day, Shown};

/// The changes of time zones in one ingest.
#[derive(Debug, Default)]
pub(crate) struct ZoneChanges {
    /// By account.
    changes: BTreeMap<String, ZoneChange>,
    /// The release of the time zone database by which the stored days were computed, if it is an older one.
    older: Option<String>,
    /// The number of events that got another day.
    moved: AtomicU64,
}

/// The time zones of an account; the same one twice if its rules have changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneChange {
    pub(crate) from: Zone,
    pub(crate) to: Zone,
}

/// The most accounts that a message names.
const NAMED: usize = 5;

impl ZoneChanges {
    pub(crate) fn new(changes: BTreeMap<String, ZoneChange>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// Finds the accounts that have events in the dataset, and in `new` another time zone than in `stored`.
    pub(crate) fn find(
        stored: &Accounts,
        new: &Accounts,
        manifest: Option<&Manifest>,
        dir: &Path,
    ) -> Result<Self, IngestError> {
        let change = |account: &Account| ZoneChange { from: stored.time_zone(&account.key), to: account.time_zone };
        let changed = new.iter().map(|account| (account.key.clone(), change(account)));
        let mut changes: BTreeMap<_, _> = changed.filter(|(_, change)| change.from != change.to).collect();
        let Some(manifest) = manifest.filter(|_| !changes.is_empty()) else { return Ok(Self::default()) };
        let with_events = stored_files::accounts_with_events(&manifest.events, &manifest.superseded, dir)?;
        changes.retain(|account, _| with_events.contains(account));
        Ok(Self::new(changes))
    }

    /// Adds the accounts whose stored events have days that are others by the rules of now. `older` computed them, and
    /// `accounts` are those of the new version.
    pub(crate) fn add_changed_rules(
        &mut self,
        older: String,
        accounts: &Accounts,
        latest: &Manifest,
        dir: &Path,
        monitor: &Monitor,
    ) -> Result<(), IngestError> {
        let kept = |account: &&Account| account.time_zone != Zone::UTC && !self.has(&account.key);
        let change = |account: &Account| ZoneChange { from: account.time_zone, to: account.time_zone };
        let zones = accounts.iter().filter(kept).map(|account| (account.key.clone(), change(account)));
        let zones = Self::new(zones.collect());
        let moved = stored_files::moved_accounts(&latest.events, &latest.superseded, dir, &zones, monitor)?;
        self.changes.extend(zones.changes.into_iter().filter(|(account, _)| moved.contains(account)));
        self.older = Some(older);
        Ok(())
    }

    /// Returns whether a row group of a stored file may have rows of an account that is here.
    pub(super) fn concern(&self, row_group: &RowGroupEntry) -> bool {
        in_row_group(&self.changes, row_group).next().is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the accounts.
    pub(super) fn accounts(&self) -> impl Iterator<Item = &str> {
        self.changes.keys().map(String::as_str)
    }

    pub(crate) fn has(&self, account: &str) -> bool {
        self.changes.contains_key(account)
    }

    /// Returns the accounts and their changes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, ZoneChange)> {
        self.changes.iter().map(|(account, change)| (account.as_str(), *change))
    }

    /// Returns the number of events that got another day so far.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Counts events that got another day in another process.
    pub(crate) fn add_moved(&self, events: u64) {
        self.moved.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns what the user should know once the changes are carried out; `None` without changes.
    pub(crate) fn warning(&self) -> Option<String> {
        let changed: Vec<_> = self.changes.iter().filter(|(_, change)| change.from != change.to).collect();
        let named = changed.iter().take(NAMED);
        let named =
            named.map(|(account, ZoneChange { from, to })| format!("`{}` from `{from}` to `{to}`", Shown(account)));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match changed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let zones = (!changed.is_empty()).then(|| format!("time zones change: {named}{more}; "));
        let rules = self.older.as_ref().map(|older| {
            format!("time zones were those of tzdata {older}, and are those of tzdata {} now; ", tzdata_release())
        });
        if zones.is_none() && rules.is_none() {
            return None;
        }
        let moved = self.moved();
        let events = if moved == 1 { "event has" } else { "events have" };
        let (zones, rules) = (zones.unwrap_or_default(), rules.unwrap_or_default());
        Some(format!("{zones}{rules}{moved} {events} another day now"))
    }

    /// Computes days of stored events again: the days that were computed from a `dateTime`, of accounts that get
    /// another time zone or other rules.
    ///
    /// # Errors
    /// A new day is out of range, or the file does not say whether the day of an event with a `dateTime` was computed,
    /// and the account gets another time zone.
    pub(super) fn apply(&self, batch: RecordBatch) -> Result<RecordBatch, IngestError> {
        if self.is_empty() {
            return Ok(batch);
        }
        let mut moved = 0;
        let days = self.days(&batch, &mut |_| moved += 1)?;
        self.moved.fetch_add(moved, Ordering::Relaxed);
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = columns
            .map(|(field, old)| if field.name() == DATE { Arc::new(days.clone()) } else { old.clone() })
            .collect();
        RecordBatch::try_new(batch.schema(), columns).doing("read stored events")
    }

    /// Returns the days of stored events, and passes the account of each event that gets another day.
    pub(super) fn days(&self, batch: &RecordBatch, moved: &mut dyn FnMut(&str)) -> Result<Date32Array, IngestError> {
        let accounts = column(batch, ACCOUNT).and_then(|accounts| plain_texts(ACCOUNT, accounts));
        let accounts = accounts.doing("read stored events")?;
        let sources = batch.column_by_name(DATE_SOURCE_COLUMN);
        let sources = sources.map(|sources| plain_texts(DATE_SOURCE_COLUMN, sources)).transpose();
        let sources = sources.doing("read stored events")?;
        let dates: PrimitiveArray<Date32Type> = primitive_column(batch, DATE).doing("read stored events")?;
        let times: PrimitiveArray<TimestampMicrosecondType> =
            primitive_column(batch, DATE_TIME).doing("read stored events")?;
        let mut last: Option<(&str, Option<&ZoneChange>)> = None;
        let mut day = |row: usize| -> Result<i32, IngestError> {
            let account = accounts.value(row);
            let change = match last {
                Some((same, change)) if same == account => change,
                _ => self.changes.get(account),
            };
            last = Some((account, change));
            let Some(change) = change.filter(|_| times.is_valid(row)) else { return Ok(dates.value(row)) };
            let source = sources.as_ref().filter(|sources| sources.is_valid(row)).map(|sources| sources.value(row));
            let time = UtcMicros(times.value(row));
            match source {
                // Without another time zone, the day stays what it was.
                None if change.from == change.to => Ok(dates.value(row)),
                None => Err(change.refused(account, UNKNOWN.to_owned())),
                Some(DATE_COMPUTED) => {
                    let outside = || change.refused(account, outside(time));
                    let day = i32::from(time.day_in(change.to).ok_or_else(outside)?.number());
                    if day != dates.value(row) {
                        moved(account);
                    }
                    Ok(day)
                }
                Some(_) => Ok(dates.value(row)),
            }
        };
        Ok((0..batch.num_rows()).map(&mut day).collect::<Result<Vec<_>, _>>()?.into())
    }
}

/// Why the days of an account's events cannot be computed again: files of earlier programs do not say where days come
/// from.
const UNKNOWN: &str =
    "its events were ingested by an earlier trueup, which did not record whether their dates were given";

fn outside(time: UtcMicros) -> String {
    let time = format_date_time(time).unwrap_or_default();
    format!("its event at {time} would be outside {} to {}", Day::MIN, Day::MAX)
}

impl ZoneChange {
    fn refused(self, account: &str, why: String) -> IngestError {
        let (stored, wanted) = (self.from.to_string(), self.to.to_string());
        ErrorKind::ZoneChanged { account: account.to_owned(), stored, wanted, why }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, StringArray, TimestampMicrosecondArray};

    fn apply(source: Option<&str>, time: Option<i64>) -> Result<i32, String> {
        let mut columns: Vec<(&str, ArrayRef, bool)> = vec![
            (ACCOUNT, Arc::new(StringArray::from(vec!["a"])), true),
            (DATE, Arc::new(Date32Array::from(vec![7])), true),
            (DATE_TIME, Arc::new(TimestampMicrosecondArray::from(vec![time]).with_timezone("UTC")), true),
        ];
        if let Some(source) = source {
            columns.push((DATE_SOURCE_COLUMN, Arc::new(StringArray::from(vec![source])), true));
        }
        let change = ZoneChange { from: Zone::UTC, to: "Asia/Tokyo".parse().unwrap() };
        let changes = ZoneChanges::new(BTreeMap::from([("a".to_owned(), change)]));
        let batch = changes.apply(RecordBatch::try_from_iter_with_nullable(columns).unwrap());
        batch.map(|batch| batch.column(1).as_primitive::<Date32Type>().value(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn only_days_that_were_computed_are_computed_again() {
        const NOON: i64 = 12 * 3_600_000_000;
        assert_eq!(apply(Some(DATE_COMPUTED), Some(NOON)), Ok(0));
        assert_eq!(apply(Some(DATE_COMPUTED), Some(2 * NOON - 1)), Ok(1));
        assert_eq!(apply(Some("date"), Some(NOON)), Ok(7));
        assert_eq!(apply(None, None), Ok(7));
    }

    #[test]
    fn events_of_an_earlier_program_refuse_another_time_zone() {
        assert_eq!(
            apply(None, Some(0)),
            Err("the time zone of account `a` is `UTC` and cannot become `Asia/Tokyo`: its events were ingested by an earlier \
                 trueup, which did not record whether their dates were given; to change it, ingest all of the account's events \
                 again, together with the new accounts, into a new dataset"
                .to_owned())
        );
    }
}
