//! Turns clock times, which are given without an offset, and the timestamps of Parquet files and record batches into
//! points in time.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, Date32Array, StringArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chrono::DateTime;
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use trueup_core::model::{
    Account, Accounts, ClockTime, ClockZone, Currency, Reason, UtcMicros, Zone, format_date_time,
};

/// How clock times become points in time. A source's key `time_zone` has precedence over the option of the ingest.
#[derive(Clone, Debug)]
pub(super) enum ClockRule {
    /// They are times of this zone.
    Zone(Zone),
    /// They are times in the zone of each row's account.
    Account(Arc<KnownAccounts>),
    /// They are refused, because neither the mapping nor the ingest says what their zone is.
    Refuse,
}

impl ClockRule {
    /// Returns the rule that the option of an ingest states.
    pub(super) fn of_option(option: Option<ClockZone>, accounts: &Arc<KnownAccounts>) -> Self {
        match option {
            Some(ClockZone::Zone(zone)) => Self::Zone(zone),
            Some(ClockZone::Account) => Self::Account(accounts.clone()),
            None => Self::Refuse,
        }
    }

    /// Returns whether equal clock times of different accounts may be different points in time.
    pub(super) const fn depends_on_account(&self) -> bool {
        matches!(self, Self::Account(_))
    }

    /// Returns the point in time of a clock time, or what was expected instead. `account` is that of the row; `None` if
    /// the row has none.
    pub(super) fn instant(&self, clock: ClockTime, account: Option<&str>) -> Result<UtcMicros, String> {
        let zone = match self {
            Self::Zone(zone) => *zone,
            // A row without an account is refused, whatever its time.
            Self::Account(zones) => account.map_or(Ok(Zone::UTC), |account| zones.zone(account))?,
            Self::Refuse => return Err(NO_OFFSET.to_owned()),
        };
        clock.instant(zone).map_err(|reason| match reason {
            Reason::SkippedTime { zone } => {
                format!("expected a time that exists in {zone}, where clocks skip this one")
            }
            other => other.to_string(),
        })
    }
}

/// What is expected of a time that no offset, key or option makes a point in time.
const NO_OFFSET: &str = "expected a point in time with an offset, such as `2025-01-31T09:30:00-05:00`, or the mapping's key \
                         `time_zone`, or one of `--time-zone account` (the time zone of each account), `--time-zone UTC` and \
                         `--time-zone America/New_York` (or any other)";

/// The time zones of the accounts that are not in UTC, and the currencies of the accounts that have one. They are known
/// once the ingest has read its accounts.
#[derive(Debug, Default)]
pub(super) struct KnownAccounts(OnceLock<(HashMap<String, Zone>, HashMap<String, Currency>)>);

impl KnownAccounts {
    pub(super) fn set(&self, accounts: &Accounts) {
        let zone =
            |account: &Account| (account.time_zone != Zone::UTC).then(|| (account.key.clone(), account.time_zone));
        let currency = |account: &Account| Some((account.key.clone(), account.currency?));
        self.0.get_or_init(|| {
            (accounts.iter().filter_map(zone).collect(), accounts.iter().filter_map(currency).collect())
        });
    }

    pub(super) fn zone(&self, account: &str) -> Result<Zone, String> {
        let known = self.0.get().ok_or("expected a time with an offset, because the accounts are not read yet")?;
        Ok(known.0.get(account).copied().unwrap_or(Zone::UTC))
    }

    /// Returns the currency of an account, if the accounts are known.
    pub(super) fn currency(&self, account: &str) -> Option<Option<Currency>> {
        Some(self.0.get()?.1.get(account).copied())
    }
}

/// Returns the days of timestamps.
pub(super) fn days_of_timestamps(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let day = |micros: Option<i64>| i32::try_from(ClockTime(micros?).day()).ok();
    Ok(Arc::new(micros(timestamps)?.into_iter().map(day).collect::<Date32Array>()))
}

/// Returns timestamps with a time zone as points in time.
pub(super) fn instants_of_timestamps(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(TimestampMicrosecondArray::from(micros(timestamps)?).with_timezone("UTC")))
}

/// Returns timestamps without a time zone as points in time. `instant` returns that of a row's clock time, or what was
/// expected instead: the row is then null, and `refuse` receives its number, its clock time and what was expected.
pub(super) fn instants_of_clock_times(
    timestamps: &ArrayRef,
    instant: impl Fn(usize, ClockTime) -> Result<UtcMicros, String>,
    mut refuse: impl FnMut(usize, String, String),
) -> Result<ArrayRef, ArrowError> {
    let shown = |micros| DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc().to_string());
    let instants = micros(timestamps)?.into_iter().enumerate().map(|(row, micros)| {
        let micros = micros?;
        let read = instant(row, ClockTime(micros)).map(|UtcMicros(instant)| instant);
        read.map_err(|expected| refuse(row, shown(micros).unwrap_or_else(|| micros.to_string()), expected)).ok()
    });
    Ok(Arc::new(instants.collect::<TimestampMicrosecondArray>().with_timezone("UTC")))
}

/// Returns timestamps with a time zone as texts, as canonical files have them.
pub(super) fn instant_texts(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let text = |micros: Option<i64>| format_date_time(UtcMicros(micros?));
    Ok(Arc::new(micros(timestamps)?.into_iter().map(text).collect::<StringArray>()))
}

/// Returns timestamps without a time zone as texts without an offset.
pub(super) fn clock_texts(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let text = |micros: Option<i64>| {
        Some(DateTime::from_timestamp_micros(micros?)?.naive_utc().format("%Y-%m-%dT%H:%M:%S%.f").to_string())
    };
    Ok(Arc::new(micros(timestamps)?.into_iter().map(text).collect::<StringArray>()))
}

/// Returns timestamps in microseconds. A timestamp beyond the range of microseconds becomes the first or the last
/// microsecond, which the rules of the data model refuse.
fn micros(timestamps: &ArrayRef) -> Result<Vec<Option<i64>>, ArrowError> {
    let times = |factor: i64| move |value: Option<i64>| Some(value?.saturating_mul(factor));
    Ok(match timestamps.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            timestamps.as_primitive::<TimestampSecondType>().iter().map(times(1_000_000)).collect()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            timestamps.as_primitive::<TimestampMillisecondType>().iter().map(times(1_000)).collect()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            timestamps.as_primitive::<TimestampMicrosecondType>().iter().collect()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = timestamps.as_primitive::<TimestampNanosecondType>().iter();
            nanos.map(|nanos| Some(nanos?.div_euclid(1_000))).collect()
        }
        other => return Err(ArrowError::SchemaError(format!("expected timestamps, but found {other}"))),
    })
}
