//! A dimension's values, as codes.

use super::QueryContext;
use super::day_tables::DayTable;
use super::grouping_units::{Granularity, GroupingUnits};
use crate::dictionary::Computed;
use crate::model::{Stage, format_date_time};
use crate::plan::{DimensionRef, Origin};
use crate::scan::{EventColumns, NO_VALUE, TextColumn, TextDictionary, stage};
use crate::{Day, TextList};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

/// Codes of one dimension in one split; each has a text, and only accounts may have one name under several codes.
#[derive(Debug)]
pub(crate) struct KeyEncoder<'a> {
    split: &'a EventColumns,
    values: Values<'a>,
    /// The texts by code, where they are known before rows are read.
    texts: TextDictionary,
}

#[derive(Debug)]
enum Values<'a> {
    /// The empty text on every row.
    Empty,
    Account,
    Text(&'a TextColumn),
    /// Empty for customers whose account, by its code, does not subscribe to lead grading.
    Graded(&'a TextColumn, Vec<bool>),
    Day(&'a QueryContext<'a>, &'a DayTable),
    State,
    Stage,
    IsLast,
    OpportunityBooked,
    /// The day of a customer's first event, of a stage if one is given.
    FirstDay(Option<u8>, GrowingDictionary<u16>),
    /// A point in time, in microseconds.
    DateTime(GrowingDictionary<i64>),
}

/// Texts that get a code when they are first met.
#[derive(Debug)]
struct GrowingDictionary<T> {
    codes: HashMap<T, u32>,
    texts: TextList,
}

impl<T: Copy + Eq + Hash> GrowingDictionary<T> {
    fn new() -> Self {
        Self { codes: HashMap::new(), texts: std::iter::once("").collect() }
    }

    /// The code of a value; of none, that of the empty text.
    fn code(&mut self, value: Option<T>, text: impl Fn(T) -> String) -> u32 {
        let Some(value) = value else { return 0 };
        *self.codes.entry(value).or_insert_with(|| {
            self.texts.push(&text(value));
            // A split has fewer than 2^32 rows, and each new text takes at least one.
            u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

impl<'a> KeyEncoder<'a> {
    pub(crate) fn new(context: &'a QueryContext<'a>, split: &'a EventColumns, dimension: &DimensionRef) -> Self {
        let keys = split.customers.account_keys();
        let of = |texts: &[&str]| Arc::new(texts.iter().collect());
        let stages = || Arc::new(Stage::ALL.iter().map(|stage| stage.name()).collect());
        let stored = || split.text(&dimension.name).map_or(Values::Empty, Values::Text);
        let first = |stage| Values::FirstDay(stage, GrowingDictionary::new());
        let values = match dimension.origin {
            Origin::Absent => Values::Empty,
            Origin::Stored if dimension.lead_grading => {
                split.text(&dimension.name).map_or(Values::Empty, |column| Values::Graded(column, context.graded(keys)))
            }
            Origin::Stored => stored(),
            Origin::Computed(computed) => match computed {
                Computed::OpportunityId | Computed::EventId => stored(),
                Computed::Account | Computed::AccountName => Values::Account,
                Computed::AdjustedType => Values::State,
                Computed::Type => Values::Stage,
                Computed::TypeIsLast => Values::IsLast,
                Computed::OpportunityBooked => Values::OpportunityBooked,
                Computed::OpportunityStartDate => first(None),
                Computed::FirstBooked => first(Some(stage::BOOKED)),
                Computed::FirstEstimated => first(Some(stage::ESTIMATED)),
                Computed::FirstSold => first(Some(stage::SOLD)),
                Computed::FirstClosed => first(Some(stage::CLOSED)),
                Computed::FirstCanceled => first(Some(stage::CANCELED)),
                Computed::DateTime => Values::DateTime(GrowingDictionary::new()),
                Computed::Date | Computed::Week | Computed::Month => {
                    context.calendar.table(computed).map_or(Values::Empty, |table| Values::Day(context, table))
                }
            },
        };
        let texts = match &values {
            Values::Empty => of(&[""]),
            Values::Account if dimension.origin == Origin::Computed(Computed::AccountName) => {
                context.account_names(keys)
            }
            Values::Account => keys.clone(),
            Values::Text(column) | Values::Graded(column, _) => column.dictionary().clone(),
            Values::Day(_, table) => table.texts.clone(),
            Values::State | Values::Stage => stages(),
            Values::IsLast | Values::OpportunityBooked => of(&["false", "true"]),
            Values::FirstDay(..) | Values::DateTime(_) => of(&[]),
        };
        Self { split, values, texts }
    }

    /// The texts by code, as far as rows have been read.
    pub(crate) fn texts(&self) -> &TextList {
        match &self.values {
            Values::FirstDay(_, growing) => &growing.texts,
            Values::DateTime(growing) => &growing.texts,
            _ => &self.texts,
        }
    }

    /// How many codes there are, if that is known before rows are read.
    pub(crate) fn cardinality(&self) -> Option<usize> {
        match &self.values {
            Values::FirstDay(..) | Values::DateTime(_) => None,
            _ => Some(self.texts.len()),
        }
    }

    /// Of what all rows have the same value.
    pub(crate) fn granularity(&self) -> Granularity {
        match &self.values {
            Values::Empty | Values::Account | Values::OpportunityBooked | Values::FirstDay(..) => Granularity::Customer,
            Values::Text(column) | Values::Graded(column, _) if column.is_per_customer() => Granularity::Customer,
            Values::State => Granularity::Segment,
            Values::Text(_) | Values::Graded(..) => Granularity::Row,
            Values::Day(..) | Values::Stage | Values::IsLast | Values::DateTime(_) => Granularity::Row,
        }
    }

    /// Writes the codes of units to `codes`.
    pub(crate) fn fill(&mut self, units: &GroupingUnits<'_>, codes: &mut Vec<u32>) {
        let split = self.split;
        let events = units.events.iter().map(|event| *event as usize);
        codes.clear();
        match &mut self.values {
            Values::Empty => codes.resize(units.len(), 0),
            Values::Account => split.customers.accounts().gather(&units.customers(), codes),
            Values::Text(column) => gather(column, units, codes),
            Values::Graded(column, graded) => {
                gather(column, units, codes);
                for (code, customer) in codes.iter_mut().zip(&*units.customers()) {
                    if !graded[split.customers.accounts().get(*customer as usize) as usize] {
                        *code = 0;
                    }
                }
            }
            Values::Day(context, table) => {
                let (days, of_day) = (&*split.days, &*table.codes);
                codes.extend(events.map(|event| of_day[context.calendar.offset(days[event])]));
            }
            Values::State => codes.extend(units.cuts().map(|(_, cut)| u32::from(cut.state))),
            Values::Stage => {
                let histories = split.histories.events();
                codes.extend(events.map(|event| u32::from(histories[event].stage())));
            }
            Values::IsLast => {
                let state_rows = units.cuts().map(|(segment, cut)| segment + cut.state_row);
                codes.extend(units.events.iter().zip(state_rows).map(|(event, state)| u32::from(*event == state)));
            }
            Values::OpportunityBooked => {
                let booked =
                    |customer| split.histories.first(split.customers.events(customer), stage::BOOKED).is_some();
                by_customer(units, codes, |customer| u32::from(booked(customer)));
            }
            Values::FirstDay(stage, growing) => by_customer(units, codes, |customer| {
                let history = split.customers.events(customer);
                let event = match stage {
                    None => Some(history.start),
                    Some(stage) => split.histories.first(history, *stage),
                };
                growing.code(event.map(|event| split.days[event]), |day| Day::from_number(day).to_string())
            }),
            Values::DateTime(growing) => {
                let times = split.date_times.as_deref().unwrap_or_default();
                codes.extend(events.map(|event| {
                    let micros = times.get(event).copied().filter(|micros| *micros != NO_VALUE);
                    growing.code(micros, |micros| format_date_time(micros).unwrap_or_default())
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

/// Codes that are the same on every row of a customer, found once for each.
fn by_customer(units: &GroupingUnits<'_>, codes: &mut Vec<u32>, mut code: impl FnMut(usize) -> u32) {
    let mut last = None;
    codes.extend(units.customers().iter().map(|customer| match last {
        Some((known, found)) if known == *customer => found,
        _ => {
            let found = code(*customer as usize);
            last = Some((*customer, found));
            found
        }
    }));
}
