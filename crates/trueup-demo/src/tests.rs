//! Tests of the generated tables. [`invariants`]: the rows are valid, and the same for the same settings; [`bands`]:
//! the numbers are realistic. Both read rows with the functions of this file; the second also counts figures with
//! them.

mod bands;
mod invariants;

use std::collections::{BTreeMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type};
use arrow_array::{Array, RecordBatch};

use crate::Generator;

/// Selected columns of one row: texts, amounts in millionths, and the day.
// `the_rows_are_the_same_on_every_machine` hashes the debug output of this type, its name included.
#[derive(Debug, Clone)]
struct Row {
    columns: &'static [&'static str],
    texts: Vec<String>,
    amounts: Vec<i128>,
    day: i32,
}

impl Row {
    /// Returns a text; empty if it is null.
    fn get(&self, column: &str) -> &str {
        &self.texts[self.index(column)]
    }

    /// Returns an amount; 0 if it is null.
    fn amount(&self, column: &str) -> i128 {
        self.amounts[self.index(column)]
    }

    fn index(&self, column: &str) -> usize {
        self.columns.iter().position(|name| *name == column).unwrap()
    }

    /// Returns the account key and the id of the customer.
    fn customer(&self) -> (String, String) {
        (self.get("account").to_owned(), self.get("opportunityId").to_owned())
    }
}

fn event_batches(generator: &Generator) -> Vec<RecordBatch> {
    generator.events().map(|batch| batch.unwrap()).collect()
}

/// Returns the rows of a batch.
fn rows(batch: &RecordBatch, columns: &'static [&'static str]) -> Vec<Row> {
    let empty = Row { columns, texts: vec![String::new(); columns.len()], amounts: vec![0; columns.len()], day: 0 };
    let mut rows = vec![empty; batch.num_rows()];
    for (column_index, name) in columns.iter().enumerate() {
        let column = batch.column_by_name(name).unwrap();
        for (index, row) in rows.iter_mut().enumerate().filter(|(index, _)| column.is_valid(*index)) {
            if let Some(texts) = column.as_string_opt::<i32>() {
                row.texts[column_index] = texts.value(index).to_owned();
            } else if let Some(days) = column.as_primitive_opt::<Date32Type>() {
                row.day = days.value(index);
            } else {
                row.amounts[column_index] = column.as_primitive::<Decimal128Type>().value(index);
            }
        }
    }
    rows
}

/// The figures that must lie within bands. Money is in millionths.
#[derive(Debug, Default)]
struct Figures {
    events: usize,
    customers: usize,
    leads: usize,
    main_line: usize,
    conversions: usize,
    booked: usize,
    matched: usize,
    paying: usize,
    revenue: i128,
    leads_by_channel: BTreeMap<String, usize>,
}

/// Computes the figures of a range of days. Revenue is that of invoices; for customers with neither an invoice nor a
/// cancellation, that of sales.
fn figures(all: &[Row], days: std::ops::RangeInclusive<i32>) -> Figures {
    let mut histories: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
    for row in all {
        histories.entry(row.customer()).or_default().push(row);
    }
    let mut figures = Figures::default();
    for history in histories.values() {
        // The rows of a customer are in time order.
        let inside: Vec<&Row> = history.iter().copied().filter(|row| days.contains(&row.day)).collect();
        let Some(last) = inside.last() else { continue };
        let stages: HashSet<&str> = inside.iter().map(|row| row.get("type")).collect();
        let sum = |stage: &str| -> i128 {
            inside.iter().filter(|row| row.get("type") == stage).map(|row| row.amount("total")).sum()
        };
        figures.events += inside.len();
        figures.customers += 1;
        figures.conversions += inside.iter().filter(|row| row.get("type") == "lead-originated").count();
        figures.booked += usize::from(stages.contains("booked"));
        figures.matched += usize::from(last.get("customerStatus") != "Unmatched");
        let first = history[0];
        if days.contains(&first.day) && first.get("type") == "lead-originated" {
            figures.leads += 1;
            figures.main_line += usize::from(first.get("campaign") == "Main Line");
            *figures.leads_by_channel.entry(first.get("attributionChannel").to_owned()).or_default() += 1;
        }
        if stages.contains("closed") {
            figures.paying += 1;
            figures.revenue += sum("closed");
        } else if stages.contains("sold") && !stages.contains("canceled") {
            figures.paying += 1;
            figures.revenue += sum("sold");
        }
    }
    figures
}
