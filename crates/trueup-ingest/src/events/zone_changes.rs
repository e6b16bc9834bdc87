//! Accounts that have stored events and get another time zone. The days of stored events that were computed from a
//! `dateTime` are computed again; days that were given stay.

use super::event_batch::{column, primitive_column, unsound_column};
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, Date32Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trueup_core::model::{
    ACCOUNT, DATE, DATE_COMPUTED, DATE_SOURCE_COLUMN, DATE_TIME, UtcMicros, Zone, format_date_time,
};
use trueup_core::{Day, Shown};

/// The changes of time zones in one ingest.
#[derive(Debug, Default)]
pub(crate) struct ZoneChanges {
    /// By account.
    changes: BTreeMap<String, ZoneChange>,
    /// The number of events that got another day.
    moved: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneChange {
    pub(crate) from: Zone,
    pub(crate) to: Zone,
}

/// The most accounts that a message names.
const NAMED: usize = 5;

impl ZoneChanges {
    pub(crate) fn new(changes: BTreeMap<String, ZoneChange>) -> Self {
        Self { changes, moved: AtomicU64::new(0) }
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
        let changes = self.changes.iter().take(NAMED);
        let changes =
            changes.map(|(account, ZoneChange { from, to })| format!("`{}` from `{from}` to `{to}`", Shown(account)));
        let named = changes.collect::<Vec<_>>().join(", ");
        let more = match self.changes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let moved = self.moved();
        let events = if moved == 1 { "event has" } else { "events have" };
        (!self.is_empty()).then(|| format!("time zones change: {named}{more}; {moved} {events} another day now"))
    }

    /// Computes days of stored events again: the days that were computed from a `dateTime`, of accounts that get
    /// another time zone.
    ///
    /// # Errors
    /// A new day is out of range, or the file does not say whether the day of an event with a `dateTime` was computed.
    pub(super) fn apply(&self, batch: RecordBatch) -> Result<RecordBatch, IngestError> {
        if self.is_empty() {
            return Ok(batch);
        }
        let accounts = texts(&batch, ACCOUNT).doing("read stored events")?;
        let sources = match batch.column_by_name(DATE_SOURCE_COLUMN) {
            Some(_) => Some(texts(&batch, DATE_SOURCE_COLUMN).doing("read stored events")?),
            None => None,
        };
        let dates: PrimitiveArray<Date32Type> = primitive_column(&batch, DATE).doing("read stored events")?;
        let times: PrimitiveArray<TimestampMicrosecondType> =
            primitive_column(&batch, DATE_TIME).doing("read stored events")?;
        let mut moved = 0;
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
                None => Err(change.refused(account, UNKNOWN.to_owned())),
                Some(DATE_COMPUTED) => {
                    let outside = || change.refused(account, outside(time));
                    let day = i32::from(time.day_in(change.to).ok_or_else(outside)?.number());
                    moved += u64::from(day != dates.value(row));
                    Ok(day)
                }
                Some(_) => Ok(dates.value(row)),
            }
        };
        let days: Date32Array = (0..batch.num_rows()).map(&mut day).collect::<Result<Vec<_>, _>>()?.into();
        self.moved.fetch_add(moved, Ordering::Relaxed);
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = columns
            .map(|(field, old)| if field.name() == DATE { Arc::new(days.clone()) } else { old.clone() })
            .collect();
        RecordBatch::try_new(batch.schema(), columns).doing("read stored events")
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

/// Returns the texts of a column.
pub(super) fn texts(batch: &RecordBatch, name: &str) -> Result<StringArray, ArrowError> {
    let texts = arrow_cast::cast(column(batch, name)?, &DataType::Utf8)?;
    texts.as_string_opt::<i32>().cloned().ok_or_else(|| unsound_column(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, TimestampMicrosecondArray};

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
