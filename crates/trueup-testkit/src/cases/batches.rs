//! Tables as Arrow record batches in canonical form: the columns have the names of fields, and types that need no
//! mapping.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::types::Date32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use chrono::NaiveDate;

use crate::oracle::{Cell, Tables, text_of};

/// Returns the event table as one batch. A further column has the type of its cells, or text if their types differ or
/// all are null.
#[must_use]
pub fn event_batches(tables: &Tables) -> Vec<RecordBatch> {
    let rows = &tables.events;
    let mut columns = vec![
        ("account", texts(rows.iter().map(|row| Some(row.account.clone())))),
        ("opportunityId", texts(rows.iter().map(|row| Some(row.opportunity_id.clone())))),
        ("type", texts(rows.iter().map(|row| Some(row.kind.clone())))),
        ("dateTime", instants(rows.iter().map(|row| row.date_time))),
        ("date", dates(rows.iter().map(|row| row.date))),
        ("eventId", texts(rows.iter().map(|row| row.event_id.clone()))),
        ("total", money(rows.iter().map(|row| row.total))),
    ];
    let names: BTreeSet<&str> = rows.iter().flat_map(|row| row.other.keys()).map(String::as_str).collect();
    for name in names {
        let cells: Vec<&Cell> = rows.iter().map(|row| row.other.get(name).unwrap_or(&Cell::Null)).collect();
        columns.push((name, cells_of_one_type(&cells)));
    }
    vec![batch(columns)]
}

/// Returns the spend table as one batch.
#[must_use]
pub fn spend_batches(tables: &Tables) -> Vec<RecordBatch> {
    let rows = &tables.spend;
    vec![batch(vec![
        ("account", texts(rows.iter().map(|row| Some(row.account.clone())))),
        ("date", dates(rows.iter().map(|row| Some(row.date)))),
        ("attributionCategory", texts(rows.iter().map(|row| row.attribution_category.clone()))),
        ("attributionChannel", texts(rows.iter().map(|row| row.attribution_channel.clone()))),
        ("campaign", texts(rows.iter().map(|row| row.campaign.clone()))),
        ("adSpend", money(rows.iter().map(|row| row.ad_spend))),
        ("managementFee", money(rows.iter().map(|row| row.management_fee))),
        ("clicks", counts(rows.iter().map(|row| row.clicks))),
        ("impressions", counts(rows.iter().map(|row| row.impressions))),
    ])]
}

/// Returns the account table as one batch.
#[must_use]
pub fn account_batches(tables: &Tables) -> Vec<RecordBatch> {
    let rows = &tables.accounts;
    vec![batch(vec![
        ("account", texts(rows.iter().map(|row| Some(row.account.clone())))),
        ("accountName", texts(rows.iter().map(|row| row.account_name.clone()))),
        ("industry", texts(rows.iter().map(|row| row.industry.clone()))),
        ("timeZone", texts(rows.iter().map(|row| Some(row.time_zone.clone())))),
        ("leadGrading", Arc::new(rows.iter().map(|row| Some(row.lead_grading)).collect::<BooleanArray>())),
        ("currency", texts(rows.iter().map(|row| row.currency.clone()))),
    ])]
}

#[expect(clippy::expect_used, reason = "every column has one entry per row, and its field is made from it")]
fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of one length that fit their schema")
}

fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn counts(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(UInt64Array::from(values.collect::<Vec<_>>()))
}

fn instants(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.collect::<Vec<_>>()).with_timezone("UTC"))
}

fn dates(values: impl Iterator<Item = Option<NaiveDate>>) -> ArrayRef {
    let values = values.map(|date| date.map(Date32Type::from_naive_date));
    Arc::new(Date32Array::from(values.collect::<Vec<_>>()))
}

fn money(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let micros: Vec<Option<i128>> = values.map(|micros| micros.map(i128::from)).collect();
    Arc::new(Decimal128Array::from(micros).with_data_type(DataType::Decimal128(19, 6)))
}

/// Returns the cells as an array of the first type that fits all of them, or as texts.
fn cells_of_one_type(cells: &[&Cell]) -> ArrayRef {
    if let Some(bools) = all(cells, |cell| if let Cell::Bool(bool) = cell { Some(*bool) } else { None }) {
        return Arc::new(BooleanArray::from(bools));
    }
    if let Some(integers) = all(cells, |cell| if let Cell::Integer(integer) = cell { Some(*integer) } else { None }) {
        return Arc::new(Int64Array::from(integers));
    }
    if let Some(floats) = all(cells, |cell| if let Cell::Float(float) = cell { Some(*float) } else { None }) {
        return Arc::new(Float64Array::from(floats));
    }
    if let Some(days) = all(cells, |cell| if let Cell::Date(day) = cell { Some(*day) } else { None }) {
        return dates(days.into_iter());
    }
    if let Some(micros) = all(cells, |cell| if let Cell::Timestamp(micros) = cell { Some(*micros) } else { None }) {
        return instants(micros.into_iter());
    }
    texts(cells.iter().map(|cell| if **cell == Cell::Null { None } else { Some(text_of(cell)) }))
}

/// Returns the cells as one type; `None` if a cell has another type, or if all are null.
fn all<T>(cells: &[&Cell], as_type: impl Fn(&Cell) -> Option<T>) -> Option<Vec<Option<T>>> {
    if !cells.iter().all(|cell| **cell == Cell::Null || as_type(cell).is_some()) {
        return None;
    }
    if cells.iter().all(|cell| **cell == Cell::Null) {
        return None;
    }
    Some(cells.iter().map(|cell| as_type(cell)).collect())
}
