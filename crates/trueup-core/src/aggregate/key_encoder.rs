//! Encodes a dimension's values as codes, for filters and for group keys.

use super::context::QueryContext;
use super::group::NewTexts;
use super::local_time::LocalTime;
use super::segment::GroupingUnits;
use super::types::Granularity;
use crate::definitions::MappedTexts;
use crate::dictionary::Computed;
use crate::memory::table_bytes_while_adding;
use crate::model::{Stage, UtcMicros, format_date_time};
use crate::plan::{DayTable, DayTables, DimensionRef, Origin};
use crate::scan::{EventColumns, NO_VALUE, TextColumn, TextDictionary, stage};
use crate::{Day, Interrupt, Interruption, StringList};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

/// Encodes the values of one dimension in one row group. Each code has a text, and no two codes have the same text,
/// except that accounts with different keys may have the same name or the same currency.
#[derive(Debug)]
pub(crate) struct KeyEncoder<'a> {
    columns: &'a EventColumns,
    values: DimensionValues<'a>,
    /// The texts by code, where they are known before rows are read.
    texts: TextDictionary,
    /// From the codes of `values` to those of a dimension that users define.
    mapped: Option<Box<MappedTexts<'a>>>,
}

/// Where the values of a dimension come from.
#[derive(Debug)]
enum DimensionValues<'a> {
    /// The empty text on every row.
    Empty,
    Account,
    Text(&'a TextColumn),
    /// A text that is empty for customers of accounts without lead grading; for each account, whether it has lead
    /// grading.
    Graded(&'a TextColumn, Vec<bool>),
    Day(&'a DayTables, &'a DayTable),
    State,
    Stage,
    IsLast,
    OpportunityBooked,
    /// The day of a customer's first event or, if a stage is given, of its first event of that stage.
    FirstDay(Option<u8>, GrowingDictionary<u16>),
    /// The moment of an event, in microseconds since 1970 in UTC.
    DateTime(GrowingDictionary<i64>),
    /// A part of the moment of an event, in the time zone of its account.
    PartOfTime(LocalTime),
}

/// Texts that get a code when they first appear.
#[derive(Debug)]
struct GrowingDictionary<T> {
    codes: HashMap<T, u32>,
    texts: StringList,
}

/// The most bytes of a text that gets a code when it first appears: that of a point in time with microseconds.
const GROWING_TEXT_BYTES: usize = "2025-01-05T12:00:00.000000Z".len();

impl<T: Copy + Eq + Hash> GrowingDictionary<T> {
    fn new() -> Self {
        Self { codes: HashMap::new(), texts: std::iter::once("").collect() }
    }

    /// Returns the most bytes that are held while `texts` texts are added.
    fn bytes_while_adding(&self, texts: usize) -> usize {
        let (codes, entry) = (&self.codes, size_of::<(T, u32)>());
        table_bytes_while_adding(codes.len(), codes.capacity(), codes.allocation_size(), texts, entry)
            + self.texts.bytes_while_adding(texts, texts * GROWING_TEXT_BYTES)
    }

    /// Returns the code of a value; for `None`, that of the empty text.
    fn code(&mut self, value: Option<T>, text: impl Fn(T) -> String) -> u32 {
        let Some(value) = value else { return 0 };
        *self.codes.entry(value).or_insert_with(|| {
            self.texts.push(&text(value));
            // A row group has fewer than 2^32 rows, and each row adds at most one text.
            u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

impl<'a> KeyEncoder<'a> {
    /// Binds a dimension to the columns of a row group.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn bind(
        context: &'a QueryContext<'a>,
        columns: &'a EventColumns,
        dimension: &DimensionRef,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let keys = columns.customers.account_keys();
        let days = &context.plan.days;
        let column = columns.text_by(&dimension.source, dimension.attribution);
        let stored = || column.map_or(DimensionValues::Empty, DimensionValues::Text);
        let graded = |column| DimensionValues::Graded(column, context.graded(keys));
        let first = |stage| DimensionValues::FirstDay(stage, GrowingDictionary::new());
        let values = match dimension.origin {
            Origin::Absent => DimensionValues::Empty,
            Origin::Stored if dimension.lead_grading => column.map_or(DimensionValues::Empty, graded),
            Origin::Stored => stored(),
            Origin::Computed(computed) => match computed {
                Computed::OpportunityId | Computed::EventId => stored(),
                Computed::Account | Computed::AccountName | Computed::Currency => DimensionValues::Account,
                Computed::AdjustedType => DimensionValues::State,
                Computed::Type => DimensionValues::Stage,
                Computed::TypeIsLast => DimensionValues::IsLast,
                Computed::OpportunityBooked => DimensionValues::OpportunityBooked,
                Computed::OpportunityStartDate => first(None),
                Computed::FirstBooked => first(Some(stage::BOOKED)),
                Computed::FirstEstimated => first(Some(stage::ESTIMATED)),
                Computed::FirstSold => first(Some(stage::SOLD)),
                Computed::FirstClosed => first(Some(stage::CLOSED)),
                Computed::FirstCanceled => first(Some(stage::CANCELED)),
                Computed::DateTime => match dimension.part_of_time() {
                    Some(part) => DimensionValues::PartOfTime(LocalTime::new(part, context.time_zones(keys))),
                    None => DimensionValues::DateTime(GrowingDictionary::new()),
                },
                Computed::Date | Computed::Week | Computed::Month => {
                    days.table(computed).map_or(DimensionValues::Empty, |table| DimensionValues::Day(days, table))
                }
            },
        };
        let of = |texts: &[&str]| Arc::new(texts.iter().collect());
        let texts = match &values {
            DimensionValues::Empty => of(&[""]),
            DimensionValues::Account => match dimension.origin {
                Origin::Computed(computed) => context.texts_of_accounts(computed, keys),
                Origin::Stored | Origin::Absent => keys.clone(),
            },
            DimensionValues::Text(column) | DimensionValues::Graded(column, _) => column.dictionary().clone(),
            DimensionValues::Day(_, table) => table.texts.clone(),
            DimensionValues::State | DimensionValues::Stage => {
                Arc::new(Stage::ALL.iter().map(|stage| stage.name()).collect())
            }
            DimensionValues::IsLast | DimensionValues::OpportunityBooked => of(&["false", "true"]),
            DimensionValues::FirstDay(..) | DimensionValues::DateTime(_) => of(&[]),
            DimensionValues::PartOfTime(time) => time.texts(),
        };
        let mapping = dimension.mapping.as_ref().filter(|_| dimension.part_of_time().is_none());
        let map = |mapping| match &values {
            DimensionValues::FirstDay(_, growing) => MappedTexts::of_growing(mapping, &growing.texts, interrupt),
            DimensionValues::DateTime(growing) => MappedTexts::of_growing(mapping, &growing.texts, interrupt),
            _ => MappedTexts::of_dictionary(mapping, &texts, interrupt),
        };
        let mapped = mapping.map(map).transpose()?.map(Box::new);
        Ok(Self { columns, values, texts, mapped })
    }

    /// Returns the texts by code, as far as rows have been read.
    pub(crate) fn texts(&self) -> &StringList {
        self.mapped.as_ref().map_or_else(|| self.source_texts(), |mapped| mapped.texts())
    }

    /// Returns the texts before they are mapped.
    fn source_texts(&self) -> &StringList {
        match &self.values {
            DimensionValues::FirstDay(_, growing) => &growing.texts,
            DimensionValues::DateTime(growing) => &growing.texts,
            _ => &self.texts,
        }
    }

    /// Returns the texts by code, once all rows have been read.
    pub(crate) fn into_texts(self) -> TextDictionary {
        if let Some(mapped) = self.mapped {
            return mapped.texts().clone();
        }
        match self.values {
            DimensionValues::FirstDay(_, growing) => Arc::new(growing.texts),
            DimensionValues::DateTime(growing) => Arc::new(growing.texts),
            _ => self.texts,
        }
    }

    /// Returns the number of codes, if it is known before rows are read.
    pub(crate) fn cardinality(&self) -> Option<usize> {
        match &self.values {
            DimensionValues::FirstDay(..) | DimensionValues::DateTime(_) => None,
            _ => Some(self.texts().len()),
        }
    }

    /// Returns the texts that may be new among `units` units, if texts get a code when they first appear; `None` if all
    /// are known before rows are read.
    pub(crate) fn new_texts(&self, units: usize) -> Option<NewTexts> {
        self.cardinality().is_none().then(|| NewTexts { texts: units, bytes: units * GROWING_TEXT_BYTES })
    }

    /// Returns the number of bytes that may be held while `units` units are encoded, by texts that get a code when they
    /// first appear.
    pub(crate) fn bytes_while_adding(&self, units: usize) -> usize {
        match &self.values {
            DimensionValues::FirstDay(_, growing) => growing.bytes_while_adding(units),
            DimensionValues::DateTime(growing) => growing.bytes_while_adding(units),
            _ => 0,
        }
    }

    /// Returns the largest units whose rows all have the same value.
    pub(crate) fn granularity(&self) -> Granularity {
        match &self.values {
            DimensionValues::Empty
            | DimensionValues::Account
            | DimensionValues::OpportunityBooked
            | DimensionValues::FirstDay(..) => Granularity::Customer,
            DimensionValues::Text(column) | DimensionValues::Graded(column, _) if column.is_per_customer() => {
                Granularity::Customer
            }
            DimensionValues::State => Granularity::Segment,
            DimensionValues::Text(_)
            | DimensionValues::Graded(..)
            | DimensionValues::Day(..)
            | DimensionValues::Stage
            | DimensionValues::IsLast
            | DimensionValues::DateTime(_)
            | DimensionValues::PartOfTime(_) => Granularity::Row,
        }
    }

    /// Writes the codes of units to `codes`.
    ///
    /// # Errors
    /// The interrupt ends the query. The encoder cannot be used any more.
    pub(crate) fn encode(&mut self, units: &GroupingUnits<'_>, codes: &mut Vec<u32>) -> Result<(), Interruption> {
        self.encode_source(units, codes);
        if let Some(mut mapped) = self.mapped.take() {
            mapped.extend(self.source_texts())?;
            mapped.apply(codes);
            self.mapped = Some(mapped);
        }
        Ok(())
    }

    /// Writes the codes of units before they are mapped.
    fn encode_source(&mut self, units: &GroupingUnits<'_>, codes: &mut Vec<u32>) {
        let columns = self.columns;
        let events = units.events.iter().map(|event| *event as usize);
        codes.clear();
        match &mut self.values {
            DimensionValues::Empty => codes.resize(units.len(), 0),
            DimensionValues::Account => columns.customers.accounts().gather(&units.customers(), codes),
            DimensionValues::Text(column) => gather(column, units, codes),
            DimensionValues::Graded(column, graded) => {
                gather(column, units, codes);
                let accounts = columns.customers.accounts();
                for (code, customer) in codes.iter_mut().zip(&*units.customers()) {
                    if !graded[accounts.get(*customer as usize).index()] {
                        *code = 0;
                    }
                }
            }
            DimensionValues::Day(days, table) => {
                let (day_of, codes_by_day) = (&*columns.days, &*table.codes);
                codes.extend(events.map(|event| codes_by_day[days.offset(day_of[event])]));
            }
            DimensionValues::State => codes.extend(units.outcomes().map(|(_, outcome)| u32::from(outcome.state))),
            DimensionValues::Stage => {
                let flags = columns.histories.events();
                codes.extend(events.map(|event| u32::from(flags.get(event).stage())));
            }
            DimensionValues::IsLast => {
                let state_rows = units.outcomes().map(|(first, outcome)| first + outcome.state_row);
                codes.extend(units.events.iter().zip(state_rows).map(|(event, state)| u32::from(*event == state)));
            }
            DimensionValues::OpportunityBooked => {
                let booked =
                    |customer| columns.histories.first(columns.customers.events(customer), stage::BOOKED).is_some();
                encode_by_customer(units, codes, |customer| u32::from(booked(customer)));
            }
            DimensionValues::FirstDay(stage, growing) => encode_by_customer(units, codes, |customer| {
                let history = columns.customers.events(customer);
                let event = match stage {
                    None => Some(history.start),
                    Some(stage) => columns.histories.first(history, *stage),
                };
                growing.code(event.map(|event| columns.days[event]), |day| Day::from_number(day).to_string())
            }),
            DimensionValues::PartOfTime(time) => {
                let times = columns.date_times.as_deref().unwrap_or_default();
                let accounts = columns.customers.accounts();
                codes.extend(events.zip(&*units.customers()).map(|(event, customer)| {
                    let micros = times.get(event).copied().unwrap_or(NO_VALUE);
                    time.code(accounts.get(*customer as usize).index(), micros)
                }));
            }
            DimensionValues::DateTime(growing) => {
                let times = columns.date_times.as_deref().unwrap_or_default();
                codes.extend(events.map(|event| {
                    let micros = times.get(event).copied().filter(|micros| *micros != NO_VALUE);
                    growing.code(micros, |micros| format_date_time(UtcMicros(micros)).unwrap_or_default())
                }));
            }
        }
    }
}

/// Appends the codes of units in a column.
fn gather(column: &TextColumn, units: &GroupingUnits<'_>, codes: &mut Vec<u32>) {
    let customers = if column.is_per_customer() { units.customers() } else { Cow::default() };
    column.gather(&customers, units.events, codes);
}

/// Appends codes that are the same on every row of a customer.
fn encode_by_customer(units: &GroupingUnits<'_>, codes: &mut Vec<u32>, mut code: impl FnMut(usize) -> u32) {
    codes.extend(units.customers().iter().map(|customer| code(*customer as usize)));
}
