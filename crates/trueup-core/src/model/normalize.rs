//! Canonical event tables, normalized into the stored form. The date of an event comes from its columns `date` and
//! `dateTime`.

use super::account::Accounts;
use super::amount::read_amounts;
use super::columns::{
    ACCOUNT, DATE, DATE_COMPUTED, DATE_GIVEN, DATE_SOURCE_COLUMN, DATE_TIME, EVENT_ID, LEADING, Meaning,
    OPPORTUNITY_ID, OWN_PREFIX, RECORD_COLUMN, SPEND_MEASURES, TOTAL, TYPE, check_columns, check_same_columns, find,
    is_ignored_event_column, is_leading_column, is_own_column, names, require, require_all, stored_event_schema,
};
use super::fault::{CellFault, CellFaults, Reason, SchemaFault, too_many_rows};
use super::instant::{ClockZone, UtcMicros, format_date_time};
use super::plain_column::{
    GivenTimes, PlainColumn, check_account_keys, is_sound_account_key, read_days, read_ids, read_times, reject_empty,
};
use super::zone::Zone;
use crate::Day;
use crate::stage::Stage;
use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, BooleanArray, Date32Array, DictionaryArray, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TypedDictionaryArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::filter::filter;
use chrono::NaiveDate;
use hashbrown::HashMap;
use std::sync::Arc;

/// A batch in stored form, and the faults of rejected rows. Each given row is either in the batch or has a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalized {
    /// The accepted rows, in the order given.
    pub batch: RecordBatch,
    /// For each accepted row, its number in the given batch, from 0.
    pub rows: Vec<u32>,
    /// One fault per rejected row, by row: the first one found.
    pub faults: Vec<CellFault>,
}

impl Normalized {
    /// Removes the rows with faults. `schema` may forbid nulls that only such rows have.
    pub(super) fn new(schema: SchemaRef, columns: Vec<ArrayRef>, faults: CellFaults) -> Result<Self, ArrowError> {
        let given = columns.first().map_or(0, |column| column.len());
        let len = u32::try_from(given).map_err(|_| too_many_rows(given))?;
        if faults.is_empty() {
            return Ok(Self {
                batch: RecordBatch::try_new(schema, columns)?,
                rows: (0..len).collect(),
                faults: Vec::new(),
            });
        }
        let kept: Vec<bool> = (0..given).map(|row| !faults.has(row)).collect();
        let rows = (0..len).zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
        let kept = BooleanArray::from(kept);
        let columns = columns.iter().map(|column| filter(column, &kept)).collect::<Result<_, _>>()?;
        Ok(Self { batch: RecordBatch::try_new(schema, columns)?, rows, faults: faults.into_faults() })
    }
}

/// Normalizes batches with one canonical schema into the stored form of events.
///
/// # Values
/// The leading columns have types of their own. Every other column becomes text:
/// - booleans become `true` and `false`;
/// - integers and decimals become decimal numbers without an exponent, floats the numbers of ECMAScript;
/// - dates become `YYYY-MM-DD`, timestamps RFC 3339 in UTC; a timestamp without a time zone counts as UTC, and a date
///   or timestamp beyond the calendar rejects its row;
/// - null and the empty text become null.
///
/// # Dates
/// The date of an event is its `date`, or else the calendar date of its `dateTime` in the time zone of its account. If
/// the event has both, they are at most a day apart. A row with neither, or with two that are further apart, is
/// rejected. So is a row whose `dateTime` has no offset, unless a [time zone for it](EventNormalizer::clock_zone) is
/// given.
#[derive(Clone, Debug)]
pub struct EventNormalizer {
    given: Schema,
    stored: SchemaRef,
    // For each leading column, its index in `given`; `None` if `given` does not have it.
    account: usize,
    opportunity_id: usize,
    stage: usize,
    date: Option<usize>,
    date_time: Option<usize>,
    event_id: Option<usize>,
    total: Option<usize>,
    /// The index in `given` of each extra column of `stored`, in the order of `stored`.
    extra: Vec<usize>,
    ignored: Vec<String>,
    zones: AccountTimeZones,
    /// Whether columns that are given with a dictionary keep it.
    keeps_codes: bool,
    /// Whether batches get the column [`DATE_SOURCE_COLUMN`].
    has_date_source: bool,
    clock_zone: Option<ClockZone>,
}

impl EventNormalizer {
    /// Returns a normalizer of batches with the columns of `given`. The accounts provide the time zones.
    ///
    /// # Errors
    /// Returns an error if the columns are of spend, if a required column is missing, if a name occurs twice, is
    /// another spelling of a leading column, or begins with [`OWN_PREFIX`] and is none of trueup's
    /// [own](is_own_column), if a column is nested, or if a column that is not ignored cannot be read from its type.
    pub fn new(given: &Schema, accounts: &Accounts) -> Result<Self, SchemaFault> {
        let has = |name: &&str| given.fields().find(name).is_some();
        if SPEND_MEASURES.iter().any(has) && ![OPPORTUNITY_ID, TYPE].iter().any(has) {
            return Err(SchemaFault::SpendAsEvents { found: names(given) });
        }
        require_all(given, &[&[ACCOUNT], &[OPPORTUNITY_ID], &[TYPE], &[DATE, DATE_TIME]])?;
        check_columns(given, &LEADING)?;
        let account = require(given, &[ACCOUNT], Meaning::Id)?;
        let opportunity_id = require(given, &[OPPORTUNITY_ID], Meaning::Id)?;
        let stage = require(given, &[TYPE], Meaning::Text)?;
        let date = find(given, DATE, Meaning::Date)?;
        let date_time = find(given, DATE_TIME, Meaning::DateTime)?;
        let mut ignored = Vec::new();
        let mut extra = Vec::new();
        for (at, field) in given.fields().iter().enumerate() {
            let name = field.name().as_str();
            if is_leading_column(name) {
                continue;
            }
            if name.starts_with(OWN_PREFIX) && !is_own_column(name) {
                return Err(SchemaFault::OwnPrefix { column: name.to_owned() });
            }
            if is_ignored_event_column(name) {
                ignored.push(name.to_owned());
            } else {
                Meaning::Dimension.check(field)?;
                extra.push((name, at));
            }
        }
        extra.sort_unstable();
        Ok(Self {
            given: given.clone(),
            stored: stored_event_schema(extra.iter().map(|(name, _)| *name)),
            account,
            opportunity_id,
            stage,
            date,
            date_time,
            event_id: find(given, EVENT_ID, Meaning::Id)?,
            total: find(given, TOTAL, Meaning::Amount)?,
            extra: extra.into_iter().map(|(_, at)| at).collect(),
            ignored,
            zones: AccountTimeZones::of(accounts),
            keeps_codes: false,
            has_date_source: false,
            clock_zone: None,
        })
    }

    /// Adds the column [`DATE_SOURCE_COLUMN`] to batches that are given with a column `dateTime`. A batch that
    /// already has the added column, because it comes from a file of a dataset, keeps the values.
    #[must_use]
    pub fn with_date_source(mut self) -> Self {
        if self.date_time.is_some() {
            self.has_date_source = true;
            let mut fields: Vec<FieldRef> = self.stored.fields().iter().cloned().collect();
            fields.push(Arc::new(Field::new_dictionary(DATE_SOURCE_COLUMN, DataType::Int32, DataType::Utf8, true)));
            self.stored = Arc::new(Schema::new(fields));
        }
        self
    }

    /// Keeps the column [`RECORD_COLUMN`] of batches that are given with it.
    ///
    /// # Errors
    /// The column cannot be read from its type.
    pub fn with_record(mut self) -> Result<Self, SchemaFault> {
        if let Some(at) = find(&self.given, RECORD_COLUMN, Meaning::Text)? {
            let mut fields: Vec<FieldRef> = self.stored.fields().iter().cloned().collect();
            fields.push(Arc::new(Field::new(RECORD_COLUMN, DataType::Utf8, true)));
            self.stored = Arc::new(Schema::new(fields));
            self.extra.push(at);
        }
        Ok(self)
    }

    /// Reads a `dateTime` without an offset as a clock time of `zone`. With `None`, such a row is rejected.
    #[must_use]
    pub fn clock_zone(mut self, zone: Option<ClockZone>) -> Self {
        self.clock_zone = zone;
        self
    }

    /// Keeps the dictionary encoding of `account`, `type` and the extra columns, where they are given with keys of type
    /// `Int32` and texts of type `Utf8`. Such a dictionary may contain texts that no row has.
    #[must_use]
    pub fn keeping_codes(mut self) -> Self {
        self.keeps_codes = true;
        let codes = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        // Of the leading columns, `account` is stored at place 0, and `type` at place 2.
        let origins =
            [(0, self.account), (2, self.stage)].into_iter().chain((LEADING.len()..).zip(self.extra.iter().copied()));
        let mut fields: Vec<FieldRef> = self.stored.fields().iter().cloned().collect();
        for (at, origin) in origins {
            if *self.given.field(origin).data_type() == codes {
                fields[at] = Arc::new(fields[at].as_ref().clone().with_data_type(codes.clone()));
            }
        }
        self.stored = Arc::new(Schema::new(fields));
        self
    }

    /// Returns the ignored columns, in the order given: those for which [`is_ignored_event_column`] returns `true`.
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        &self.ignored
    }

    /// Returns the schema of normalized batches.
    #[must_use]
    pub fn stored_schema(&self) -> &SchemaRef {
        &self.stored
    }

    /// Normalizes a batch and rejects its bad rows.
    ///
    /// # Errors
    /// Returns an error if the batch has other columns than the normalizer was made for, or if it has too many rows.
    pub fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        check_same_columns(&self.given, batch)?;
        let column = |at: usize| PlainColumn::new(self.given.field(at).name(), batch.column(at));
        let mut faults = CellFaults::default();
        let accounts = self.texts(batch, self.account, &mut faults)?;
        reject_empty(&accounts, ACCOUNT, &mut faults);
        match coded(&accounts) {
            Some(keys) if keys.values().iter().flatten().all(is_sound_account_key) => {}
            Some(keys) => check_account_keys(keys, ACCOUNT, &mut faults),
            None => check_account_keys(accounts.as_string::<i32>(), ACCOUNT, &mut faults),
        }
        let opportunities = read_ids(&column(self.opportunity_id)?, &mut faults)?;
        let stages = self.texts(batch, self.stage, &mut faults)?;
        match coded(&stages) {
            // If all texts of the dictionary are stages and no row is null, no row needs a check.
            Some(names) if stages.null_count() == 0 && are_stages(names.values()) => {}
            Some(names) => check_stages(names, &mut faults),
            None => check_stages(stages.as_string::<i32>(), &mut faults),
        }
        let days = self.date.map(|at| read_days(&column(at)?, &mut faults)).transpose()?;
        let instants = match self.date_time.map(column).transpose()? {
            None => None,
            Some(column) => {
                let times = read_times(&column, &mut faults)?;
                Some(match coded(&accounts) {
                    Some(keys) => self.instants(&column, times, keys, &mut faults),
                    None => self.instants(&column, times, accounts.as_string::<i32>(), &mut faults),
                })
            }
        };
        let dates = GivenDates { days, instants };
        let date = match coded(&accounts) {
            Some(keys) => dates.resolve(keys, &self.zones, &mut faults),
            None => dates.resolve(accounts.as_string::<i32>(), &self.zones, &mut faults),
        };
        let date_time = dates.date_times(batch.num_rows());
        let date_source = self.has_date_source.then(|| dates.sources(batch, &date_time)).transpose()?;
        let mut columns: Vec<ArrayRef> =
            vec![accounts, Arc::new(opportunities), stages, Arc::new(date), Arc::new(date_time)];
        let absent = |at: usize| new_null_array(self.stored.field(at).data_type(), batch.num_rows());
        columns.push(match self.event_id {
            Some(at) => Arc::new(column(at)?.texts(&mut faults)?),
            None => absent(columns.len()),
        });
        columns.push(match self.total {
            Some(at) => Arc::new(read_amounts(&column(at)?, &mut faults)?),
            None => absent(columns.len()),
        });
        for at in &self.extra {
            columns.push(self.texts(batch, *at, &mut faults)?);
        }
        columns.extend(date_source);
        Normalized::new(self.stored.clone(), columns, faults)
    }

    /// Returns the points in time of the column `dateTime`, and rejects clock times that cannot be read.
    fn instants<'a>(
        &self,
        column: &PlainColumn<'_>,
        times: GivenTimes,
        accounts: impl ArrayAccessor<Item = &'a str>,
        faults: &mut CellFaults,
    ) -> Vec<Option<UtcMicros>> {
        let GivenTimes { mut instants, clocks } = times;
        for (row, clock) in clocks {
            let instant = match self.clock_zone {
                None => Err(Reason::NoOffset),
                Some(ClockZone::Zone(zone)) => clock.instant(zone),
                // A row without an account has its fault already.
                Some(ClockZone::Account) if accounts.is_null(row) => continue,
                Some(ClockZone::Account) => clock.instant(self.zones.of_account(accounts.value(row))),
            };
            match instant {
                Ok(instant) => instants[row] = Some(instant),
                Err(reason) => faults.add(row, DATE_TIME, &column.time_text(row), reason),
            }
        }
        instants
    }

    /// Returns the texts of a column, dictionary-encoded if the column is given so and the encoding is to be kept.
    fn texts(&self, batch: &RecordBatch, at: usize, faults: &mut CellFaults) -> Result<ArrayRef, ArrowError> {
        if self.keeps_codes
            && let Some(coded) = PlainColumn::coded(batch.column(at))
        {
            return Ok(Arc::new(coded));
        }
        Ok(Arc::new(PlainColumn::new(self.given.field(at).name(), batch.column(at))?.texts(faults)?))
    }
}

/// Returns a dictionary-encoded column of texts; `None` for any other column.
fn coded(column: &ArrayRef) -> Option<TypedDictionaryArray<'_, Int32Type, StringArray>> {
    column.as_dictionary_opt::<Int32Type>()?.downcast_dict()
}

fn are_stages(names: &StringArray) -> bool {
    names.iter().all(|name| name.and_then(Stage::from_name).is_some())
}

/// Rejects rows whose stage is unknown, null or empty.
fn check_stages<'a>(names: impl ArrayAccessor<Item = &'a str>, faults: &mut CellFaults) {
    // The last known stage, which is not looked up again if the next row repeats it.
    let mut last = "";
    for (row, name) in ArrayIter::new(names).enumerate() {
        let name = name.unwrap_or_default();
        if name != last || name.is_empty() {
            if Stage::from_name(name).is_none() {
                faults.add(row, TYPE, name, Reason::Stage);
                continue;
            }
            last = name;
        }
    }
}

/// The time zones of the accounts that are not in UTC.
#[derive(Clone, Debug)]
struct AccountTimeZones(HashMap<String, Zone>);

impl AccountTimeZones {
    fn of(accounts: &Accounts) -> Self {
        let away = accounts.iter().filter(|account| account.time_zone != Zone::UTC);
        Self(away.map(|account| (account.key.clone(), account.time_zone)).collect())
    }

    fn of_account(&self, key: &str) -> Zone {
        if self.0.is_empty() { Zone::UTC } else { self.0.get(key).copied().unwrap_or(Zone::UTC) }
    }
}

/// The columns `date` and `dateTime` of a batch of events. A column that the batch does not have is `None`.
struct GivenDates {
    /// The day of each row; `None` for null and for a row with a fault.
    days: Option<Vec<Option<Day>>>,
    /// The point in time of each row; `None` for null and for a row with a fault.
    instants: Option<Vec<Option<UtcMicros>>>,
}

impl GivenDates {
    /// Returns the date of every row: the given one, or that of the point in time in the account's time zone. A row
    /// with a fault is null.
    fn resolve<'a>(
        &self,
        accounts: impl ArrayAccessor<Item = &'a str>,
        zones: &AccountTimeZones,
        faults: &mut CellFaults,
    ) -> Date32Array {
        let mut last = ("", zones.of_account(""));
        let resolve = |(row, account): (usize, Option<&'a str>)| {
            // A rejected date reads as `None`. The row has its fault already and must not get a second one.
            let account = account.filter(|_| !faults.has(row))?;
            let day = self.days.as_ref().and_then(|days| days[row]);
            let instant = self.instants.as_ref().and_then(|instants| instants[row]);
            // Neighboring rows are mostly of one account, and their keys are then often the same text of a dictionary.
            if !std::ptr::eq(account, last.0) && account != last.0 {
                last = (account, zones.of_account(account));
            }
            match event_day(day, instant, last.1) {
                Ok(day) => Some(i32::from(day.number())),
                Err(reason) => {
                    let (column, value) = match reason {
                        Reason::Apart { .. } => (DATE, day.map(|day| day.to_string())),
                        Reason::DateTimeRange => (DATE_TIME, instant.map(instant_text)),
                        _ => (DATE, None),
                    };
                    faults.add(row, column, &value.unwrap_or_default(), reason);
                    None
                }
            }
        };
        ArrayIter::new(accounts).enumerate().map(resolve).collect()
    }

    /// Returns the stored column `dateTime`, with `rows` rows.
    fn date_times(&self, rows: usize) -> TimestampMicrosecondArray {
        let times = match &self.instants {
            Some(instants) => instants.iter().map(|instant| instant.map(|UtcMicros(micros)| micros)).collect(),
            None => TimestampMicrosecondArray::new_null(rows),
        };
        times.with_timezone("UTC")
    }

    /// Returns the column [`DATE_SOURCE_COLUMN`], which is null where `date_times` is.
    fn sources(&self, batch: &RecordBatch, date_times: &TimestampMicrosecondArray) -> Result<ArrayRef, ArrowError> {
        const GIVEN: i32 = 0;
        const COMPUTED: i32 = 1;
        let stated = match batch.column_by_name(DATE_SOURCE_COLUMN) {
            Some(column) => Some(PlainColumn::new(DATE_SOURCE_COLUMN, column)?.values),
            None => None,
        };
        let stated = stated.as_ref().and_then(|column| column.as_string_opt::<i32>());
        let is_computed = |row: usize| {
            let has_day = self.days.as_ref().is_some_and(|days| days[row].is_some());
            !has_day || stated.is_some_and(|stated| stated.is_valid(row) && stated.value(row) == DATE_COMPUTED)
        };
        let key = |row| if is_computed(row) { COMPUTED } else { GIVEN };
        let keys: Vec<i32> = (0..date_times.len()).map(key).collect();
        let keys = Int32Array::new(keys.into(), date_times.nulls().cloned());
        let texts = Arc::new(StringArray::from(vec![DATE_GIVEN, DATE_COMPUTED]));
        Ok(Arc::new(DictionaryArray::try_new(keys, texts)?))
    }
}

/// Returns a point in time as text for a fault; beyond the calendar, its number of microseconds.
fn instant_text(instant: UtcMicros) -> String {
    format_date_time(instant).unwrap_or_else(|| instant.0.to_string())
}

/// Returns the day of an event from its given day and its point in time. Either may be absent; without both, the event
/// has no date.
fn event_day(day: Option<Day>, instant: Option<UtcMicros>, zone: Zone) -> Result<Day, Reason> {
    let Some(instant) = instant else { return day.ok_or(Reason::NoDate) };
    if let Some(day) = day.filter(|day| i64::from(day.number()) == instant.utc_day()) {
        // The local date is at most a day from the date in UTC, because no time zone is a whole day from UTC.
        return Ok(day);
    }
    let local = instant.local_date(zone).ok_or(Reason::DateTimeRange)?;
    match day {
        None => Day::from_date(local).map_err(|_| Reason::DateTimeRange),
        Some(day) if days_between(day.date(), local) <= 1 => Ok(day),
        Some(_) => Err(Reason::Apart { local, zone: zone.name() }),
    }
}

fn days_between(one: NaiveDate, other: NaiveDate) -> u64 {
    one.signed_duration_since(other).num_days().unsigned_abs()
}

#[cfg(test)]
mod tests;
