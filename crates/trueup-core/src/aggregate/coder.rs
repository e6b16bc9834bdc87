//! A dimension's values of enriched rows, as codes.

use super::Context;
use super::calendar::DayTable;
use super::enrich::Enriched;
use super::history::History;
use super::state::fact;
use crate::Day;
use crate::dictionary::{Computed, Measure};
use crate::model::{Stage, format_date_time};
use crate::plan::{DimensionRef, Origin};
use crate::scan::{NO_VALUE, Split, TextColumn, stage};
use hashbrown::HashMap;
use std::sync::Arc;

/// Codes of one dimension in one split. The same text may have several codes.
#[derive(Debug)]
pub(crate) struct Coder<'a> {
    split: &'a Split,
    values: Values<'a>,
    /// The texts by code; grows while rows are read where the values are not known before.
    texts: Vec<Arc<str>>,
    /// The number of codes, if it is known before.
    radix: Option<u32>,
}

#[derive(Debug)]
enum Values<'a> {
    /// The empty text on every row.
    Empty,
    Account,
    Text(&'a TextColumn),
    /// Empty for customers whose account, by its code, does not subscribe to lead grading.
    Graded(&'a TextColumn, Vec<bool>),
    Day(&'a Context<'a>, &'a DayTable),
    State,
    Stage,
    IsLast,
    OpportunityBooked,
    /// The day of a customer's first event, of a stage if one is given; codes by day.
    FirstDay(Option<u8>, HashMap<u16, u32>),
    /// Codes by microsecond.
    DateTime(HashMap<i64, u32>),
}

impl<'a> Coder<'a> {
    pub(crate) fn new(context: &'a Context<'a>, split: &'a Split, dimension: &DimensionRef) -> Self {
        let keys = split.runs.account_keys();
        let none = || vec![Arc::from("")];
        let fixed = |values, texts: Vec<Arc<str>>| {
            let radix = u32::try_from(texts.len()).ok();
            Self { split, values, texts, radix }
        };
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        let stages = || Stage::ALL.iter().map(|stage| Arc::from(stage.name())).collect();
        let open = |values| Self { split, values, texts: none(), radix: None };
        let computed = match dimension.origin {
            Origin::Computed(computed) => computed,
            Origin::Stored => return Self::stored(context, split, dimension),
            Origin::Absent => return fixed(Values::Empty, none()),
        };
        match computed {
            Computed::OpportunityId | Computed::EventId => Self::stored(context, split, dimension),
            Computed::Account => fixed(Values::Account, keys.to_vec()),
            Computed::AccountName => fixed(Values::Account, context.account_names(keys)),
            Computed::AdjustedType => fixed(Values::State, stages()),
            Computed::Type => fixed(Values::Stage, stages()),
            Computed::TypeIsLast => fixed(Values::IsLast, names(&["false", "true"])),
            Computed::OpportunityBooked => fixed(Values::OpportunityBooked, names(&["false", "true"])),
            Computed::OpportunityStartDate => open(Values::FirstDay(None, HashMap::new())),
            Computed::FirstBooked => open(Values::FirstDay(Some(stage::BOOKED), HashMap::new())),
            Computed::FirstEstimated => open(Values::FirstDay(Some(stage::ESTIMATED), HashMap::new())),
            Computed::FirstSold => open(Values::FirstDay(Some(stage::SOLD), HashMap::new())),
            Computed::FirstClosed => open(Values::FirstDay(Some(stage::CLOSED), HashMap::new())),
            Computed::FirstCanceled => open(Values::FirstDay(Some(stage::CANCELED), HashMap::new())),
            Computed::DateTime => open(Values::DateTime(HashMap::new())),
            Computed::Date | Computed::Week | Computed::Month => match context.calendar.table(computed) {
                Some(table) => fixed(Values::Day(context, table), table.texts.clone()),
                None => fixed(Values::Empty, none()),
            },
        }
    }

    fn stored(context: &'a Context<'a>, split: &'a Split, dimension: &DimensionRef) -> Self {
        let Some(column) = split.texts.get(&dimension.name) else {
            return Self { split, values: Values::Empty, texts: vec![Arc::from("")], radix: Some(1) };
        };
        let values = if dimension.lead_grading {
            Values::Graded(column, context.graded(split.runs.account_keys()))
        } else {
            Values::Text(column)
        };
        let texts = column.dictionary().to_vec();
        let radix = u32::try_from(texts.len()).ok();
        Self { split, values, texts, radix }
    }

    /// The texts by code, as far as rows have been read.
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    /// The number of codes, if it is known before rows are read.
    pub(crate) const fn radix(&self) -> Option<u32> {
        self.radix
    }

    /// Writes the codes of `rows` to `codes`.
    pub(crate) fn fill(&mut self, rows: &Enriched, codes: &mut Vec<u32>) {
        let split = self.split;
        let texts = &mut self.texts;
        codes.clear();
        let pairs =
            rows.customers.iter().zip(&rows.events).map(|(customer, event)| (*customer as usize, *event as usize));
        match &mut self.values {
            Values::Empty => codes.resize(rows.len(), 0),
            Values::Account => codes.extend(pairs.map(|(customer, _)| split.runs.accounts()[customer])),
            Values::Text(column) => codes.extend(pairs.map(|(customer, event)| column.code(customer, event))),
            Values::Graded(column, graded) => codes.extend(pairs.map(|(customer, event)| {
                if graded[split.runs.accounts()[customer] as usize] { column.code(customer, event) } else { 0 }
            })),
            Values::Day(context, table) => {
                codes.extend(pairs.map(|(_, event)| table.codes[context.calendar.offset(split.days[event])]));
            }
            Values::State => codes.extend(rows.states.iter().map(|state| u32::from(*state))),
            Values::Stage => codes.extend(pairs.map(|(_, event)| u32::from(split.stages[event]))),
            Values::IsLast => {
                codes.extend(rows.facts.iter().map(|facts| u32::from(facts & fact(Measure::Customers) != 0)));
            }
            Values::OpportunityBooked => {
                by_customer(rows, codes, |customer| u32::from(History::of(split, customer).ever(stage::BOOKED)));
            }
            Values::FirstDay(stage, known) => by_customer(rows, codes, |customer| {
                let event = match stage {
                    None => Some(split.runs.events(customer).start),
                    Some(stage) => History::of(split, customer).first(*stage),
                };
                event.map_or(0, |event| {
                    let day = split.days[event];
                    *known.entry(day).or_insert_with(|| append(texts, Day::from_number(day).to_string()))
                })
            }),
            Values::DateTime(known) => codes.extend(pairs.map(|(_, event)| match split.date_times[event] {
                NO_VALUE => 0,
                micros => {
                    *known.entry(micros).or_insert_with(|| append(texts, format_date_time(micros).unwrap_or_default()))
                }
            })),
        }
    }
}

/// Codes that are the same on every row of a customer, found once for each.
fn by_customer(rows: &Enriched, codes: &mut Vec<u32>, mut code: impl FnMut(usize) -> u32) {
    let mut last = None;
    codes.extend(rows.customers.iter().map(|customer| match last {
        Some((known, found)) if known == *customer => found,
        _ => {
            let found = code(*customer as usize);
            last = Some((*customer, found));
            found
        }
    }));
}

fn append(texts: &mut Vec<Arc<str>>, text: String) -> u32 {
    let code = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    texts.push(Arc::from(text));
    code
}
