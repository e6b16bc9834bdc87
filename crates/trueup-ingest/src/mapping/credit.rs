//! First-touch credit: each event takes values of its customer's first conversion.
//!
//! The tables of events are read twice. The first time [`Conversions`] are collected, and [`FirstTouchCredit`] keeps
//! the first of each customer; from then on it changes every batch that the tables make.

use super::cells::StringCells;
use crate::read::{CheckedRows, RowRules};
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{CellFault, Stage, UtcMicros};

/// The credit that a mapping gives to events.
#[derive(Debug)]
pub(super) struct FirstTouchCredit {
    /// The columns that are copied.
    pub(super) columns: Vec<String>,
    /// The first conversions, once they are known.
    found: OnceLock<FirstConversions>,
}

impl FirstTouchCredit {
    pub(super) fn new(columns: Vec<String>) -> Self {
        Self { columns, found: OnceLock::new() }
    }

    /// Returns whether the conversions are known.
    pub(super) fn is_found(&self) -> bool {
        self.found.get().is_some()
    }

    /// Sets the first conversions; batches that are made from now on get their values.
    pub(super) fn give(&self, found: FirstConversions) {
        self.found.get_or_init(|| found);
    }

    /// Returns events whose copied columns have the values of their customer's first conversion. A customer without one
    /// keeps the values of its events. Copied columns that the events lack are added. Before the conversions are known,
    /// this is the only change.
    pub(super) fn apply(&self, events: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut fields: Vec<Field> = events.schema_ref().fields().iter().map(|field| field.as_ref().clone()).collect();
        let mut columns = events.columns().to_vec();
        let customers = self.found.get().map(|found| found.of_rows(events)).transpose()?;
        for (copied, name) in self.columns.iter().enumerate() {
            let at = fields.iter().position(|field| field.name() == name);
            let own = at.map(|at| columns[at].clone());
            let made: ArrayRef = match (&customers, self.found.get()) {
                (Some(customers), Some(found)) => {
                    Arc::new(found.column(copied, customers, &StringCells::of(own.as_ref())?))
                }
                _ => own.unwrap_or_else(|| new_null_array(&DataType::Utf8, events.num_rows())),
            };
            let field = Field::new(name, made.data_type().clone(), true);
            match at {
                Some(at) => (fields[at], columns[at]) = (field, made),
                None => {
                    fields.push(field);
                    columns.push(made);
                }
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

/// The first conversion of each customer that has one.
#[derive(Debug, Default)]
pub(super) struct FirstConversions {
    /// By account, by customer.
    customers: HashMap<Box<str>, HashMap<Box<str>, FirstConversion>>,
    /// The texts of the copied columns, which recur; the position of a text is its code.
    texts: Vec<Box<str>>,
    /// The code of each text.
    codes: HashMap<Box<str>, u32>,
    /// The bytes of memory that everything takes, approximately.
    bytes: usize,
}

/// Bytes of memory that an entry of [`FirstConversions`] takes besides its texts, approximately.
const ENTRY_BYTES: usize = 160;

#[derive(Debug)]
struct FirstConversion {
    time: ConversionTime,
    /// The code of the text of each copied column, or [`NO_TEXT`].
    values: Box<[u32]>,
}

/// The code of no text.
const NO_TEXT: u32 = u32::MAX;

/// What conversions are ordered by: the day, counted from 1970-01-01, then the point in time in microseconds since
/// 1970-01-01 UTC. On each day, conversions without a point in time come first.
type ConversionTime = (i64, Option<i64>);

impl FirstConversions {
    /// Returns the bytes of memory that they take, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes further conversions, which follow all conversions added so far in the order of the mapping.
    pub(super) fn add(&mut self, conversions: &Conversions) {
        for conversion in &conversions.rows {
            if !self.customers.contains_key(conversion.account.as_str()) {
                self.bytes += ENTRY_BYTES + conversion.account.len();
                self.customers.insert(conversion.account.as_str().into(), HashMap::new());
            }
            let Some(customers) = self.customers.get_mut(conversion.account.as_str()) else { continue };
            let first = customers.get(conversion.customer.as_str());
            if first.is_some_and(|first| first.time <= conversion.time) {
                continue;
            }
            let mut code = |text: &Option<String>| -> u32 {
                let Some(text) = text else { return NO_TEXT };
                if let Some(code) = self.codes.get(text.as_str()) {
                    return *code;
                }
                let code = u32::try_from(self.texts.len()).unwrap_or(NO_TEXT);
                self.bytes += ENTRY_BYTES + 2 * text.len();
                self.texts.push(text.as_str().into());
                self.codes.insert(text.as_str().into(), code);
                code
            };
            let values: Box<[u32]> = conversion.values.iter().map(&mut code).collect();
            if first.is_none() {
                self.bytes += ENTRY_BYTES + conversion.customer.len() + size_of_val(&*values);
            }
            customers.insert(conversion.customer.as_str().into(), FirstConversion { time: conversion.time, values });
        }
    }

    /// Returns the first conversion of each event's customer.
    fn of_rows(&self, events: &RecordBatch) -> Result<Vec<Option<&FirstConversion>>, ArrowError> {
        let [accounts, customers] =
            ["account", "opportunityId"].map(|name| StringCells::of(events.column_by_name(name)));
        let (accounts, customers) = (accounts?, customers?);
        let mut last = ("", None);
        let find = |row| {
            let account = accounts.get(row)?;
            if account != last.0 {
                last = (account, self.customers.get(account));
            }
            last.1?.get(customers.get(row)?)
        };
        Ok((0..events.num_rows()).map(find).collect())
    }

    /// Returns the column with the number `copied` among the copied ones. `own` are the texts of the events themselves.
    fn column(&self, copied: usize, customers: &[Option<&FirstConversion>], own: &StringCells) -> StringArray {
        let mut texts = StringBuilder::new();
        for (row, first) in customers.iter().enumerate() {
            texts.append_option(match first {
                Some(first) => self.texts.get(first.values[copied] as usize).map(AsRef::as_ref),
                None => own.get(row),
            });
        }
        texts.finish()
    }
}

/// The conversions of a batch of events, in its order.
#[derive(Default)]
pub(super) struct Conversions {
    rows: Vec<Conversion>,
}

struct Conversion {
    account: String,
    customer: String,
    time: ConversionTime,
    values: Vec<Option<String>>,
}

impl CheckedRows for Conversions {
    fn totals(&self) -> ControlTotals {
        ControlTotals::of_rows(self.rows.len() as u64)
    }

    fn bytes(&self) -> usize {
        let text = |text: &String| text.capacity() + size_of::<String>();
        let row = |row: &Conversion| {
            let values: usize = row.values.iter().map(|value| value.as_ref().map_or(0, text)).sum();
            text(&row.account) + text(&row.customer) + values + size_of::<Conversion>()
        };
        self.rows.iter().map(row).sum()
    }
}

/// The rules of the first reading of events: it keeps only conversions, with the values that are copied.
pub(super) struct ConversionRules<'a>(pub(super) &'a FirstTouchCredit);

impl RowRules<Conversions> for ConversionRules<'_> {
    fn normalize(&self, batch: &RecordBatch) -> Result<(Conversions, Vec<CellFault>), ArrowError> {
        let texts = |name: &str| StringCells::of(batch.column_by_name(name));
        let (accounts, customers, stages) = (texts("account")?, texts("opportunityId")?, texts("type")?);
        let copied: Vec<StringCells> = self.0.columns.iter().map(|name| texts(name)).collect::<Result<_, _>>()?;
        let days = batch.column_by_name("date").map(|days| arrow_cast::cast(days, &DataType::Date32)).transpose()?;
        let days = days.as_ref().and_then(|days| days.as_primitive_opt::<Date32Type>());
        let instants = batch.column_by_name("dateTime");
        let instants = instants.and_then(|instants| instants.as_primitive_opt::<TimestampMicrosecondType>());
        let conversion = |row: usize| {
            let instant = instants.filter(|instants| instants.is_valid(row)).map(|instants| instants.value(row));
            let day = days.filter(|days| days.is_valid(row)).map(|days| i64::from(days.value(row)));
            // The time zones of the accounts may be unknown here, so a time alone has the day of UTC.
            let day = day.or_else(|| instant.map(|instant| UtcMicros(instant).utc_day()))?;
            let values = copied.iter().map(|texts| texts.get(row).map(str::to_owned)).collect();
            let (account, customer) = (accounts.get(row)?.to_owned(), customers.get(row)?.to_owned());
            Some(Conversion { account, customer, time: (day, instant), values })
        };
        let conversion_name = Stage::LeadOriginated.name();
        let rows = (0..batch.num_rows()).filter(|row| stages.get(*row) == Some(conversion_name));
        Ok((Conversions { rows: rows.filter_map(conversion).collect() }, Vec::new()))
    }
}
