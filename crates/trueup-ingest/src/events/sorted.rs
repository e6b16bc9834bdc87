//! Rows of some accounts, put in the order of the dataset without being moved.

use super::coded::{Coded, Dimension};
use super::texts::{AllTexts, ranks};
use arrow_array::{Array, BooleanArray};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use std::cmp::Ordering;
use trueup_core::model::{ACCOUNT, EventKeys, EventOrder, Stage, order_events};

/// Whole customers in the order of the dataset.
#[derive(Debug)]
pub(super) struct SortedRows {
    pub(super) rows: Coded,
    /// The rows in order.
    pub(super) order: Vec<u32>,
    /// Customer `i` has the rows `order[customers[i]..customers[i + 1]]`; one number more than there are customers.
    pub(super) customers: Vec<u32>,
    /// Rows that were left out, since later ones replace them.
    pub(super) replaced: usize,
}

/// What reading has learnt, and sorting and writing need.
#[derive(Debug)]
pub(super) struct Known {
    texts: AllTexts,
    /// The places of accounts among all, by code.
    ranks: Vec<u32>,
    /// Whether every total fits into 64 bits of Parquet.
    pub(super) narrow: bool,
    /// Whether any row has an event id.
    pub(super) has_ids: bool,
}

impl Known {
    pub(super) fn new(texts: AllTexts, narrow: bool, has_ids: bool) -> Self {
        let ranks = ranks(texts.get(ACCOUNT).map_or(&[], Vec::as_slice));
        Self { texts, ranks, narrow, has_ids }
    }

    /// The texts of a column by code.
    pub(super) fn texts(&self, column: &str) -> &[Box<str>] {
        self.texts.get(column).map_or(&[], Vec::as_slice)
    }

    /// The places of accounts among all, by their codes.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The place of an account among all, by its code.
    pub(super) fn rank(&self, account: u32) -> u32 {
        self.ranks[account as usize]
    }

    /// The text of a row; empty if absent.
    fn text<'a>(&'a self, name: &str, column: &'a Dimension, row: usize) -> &'a str {
        match column.code(row) {
            Some(code) => self.texts(name).get(code as usize).map_or("", AsRef::as_ref),
            None => column.plain(row),
        }
    }
}

/// Sorts rows that are given in the order in which they came, and leaves out those that a later one replaces.
pub(super) fn sort(rows: Coded, known: &Known) -> Result<SortedRows, ArrowError> {
    let given = rows.len();
    let keys = keys(&rows, known);
    let kept = if known.has_ids { keys.latest()? } else { None };
    if let Some(kept) = kept {
        let kept = filter_record_batch(&rows.to_batch()?, &BooleanArray::from(kept))?;
        let sorted = sort_latest(Coded::of_batch(&kept)?, known)?;
        return Ok(SortedRows { replaced: given - sorted.order.len(), ..sorted });
    }
    let EventOrder { rows: order, customers } = order(&rows, &keys, known)?;
    drop(keys);
    Ok(SortedRows { rows, order, customers, replaced: 0 })
}

/// Sorts rows none of which replaces another.
pub(super) fn sort_latest(rows: Coded, known: &Known) -> Result<SortedRows, ArrowError> {
    let EventOrder { rows: order, customers } = order(&rows, &keys(&rows, known), known)?;
    Ok(SortedRows { rows, order, customers, replaced: 0 })
}

fn order(rows: &Coded, keys: &EventKeys<'_>, known: &Known) -> Result<EventOrder, ArrowError> {
    let total = |row: usize| rows.totals.is_valid(row).then(|| rows.totals.value(row));
    order_events(keys, &|one, other| {
        let compare =
            |(name, column): &(String, Dimension)| known.text(name, column, one).cmp(known.text(name, column, other));
        let texts = || rows.extra.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        total(one).cmp(&total(other)).then_with(texts)
    })
}

fn keys<'a>(rows: &'a Coded, known: &Known) -> EventKeys<'a> {
    // Every code was made from a stage.
    let stage = |code: &u8| Stage::from_code(*code).unwrap_or(Stage::LeadOriginated);
    EventKeys {
        accounts: rows.accounts.values().iter().map(|account| known.rank(*account)).collect(),
        opportunity_ids: rows.opportunity_ids.iter().map(Option::unwrap_or_default).collect(),
        stages: rows.stages.values().iter().map(stage).collect(),
        dates: rows.dates.values().to_vec(),
        date_times: rows.date_times.iter().collect(),
        event_ids: rows.event_ids.iter().map(Option::unwrap_or_default).collect(),
    }
}
