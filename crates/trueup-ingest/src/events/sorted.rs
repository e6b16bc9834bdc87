//! Rows of some accounts, put in the order of the dataset without being moved.

use super::coded::{Coded, Dimension};
use super::texts::AllTexts;
use arrow_array::Array;
use arrow_schema::ArrowError;
use std::cmp::Ordering;
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, EventKeys, Stage, order_events};

/// A row: which batch, and which row of it.
pub(super) type Place = (u32, u32);

/// Whole customers in the order of the dataset.
#[derive(Debug)]
pub(super) struct SortedRows {
    pub(super) batches: Arc<[Coded]>,
    pub(super) places: Vec<Place>,
    /// Customer `i` has `places[customers[i]..customers[i + 1]]`; one number more than there are customers.
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
        let accounts = texts.get(ACCOUNT).map_or(&[][..], Vec::as_slice);
        let mut by_key: Vec<(&str, usize)> = accounts.iter().map(AsRef::as_ref).zip(0..).collect();
        by_key.sort_unstable();
        let mut ranks = vec![0; by_key.len()];
        for ((_, code), rank) in by_key.into_iter().zip(0..) {
            ranks[code] = rank;
        }
        Self { texts, ranks, narrow, has_ids }
    }

    /// The texts of a column by code.
    pub(super) fn texts(&self, column: &str) -> &[Box<str>] {
        self.texts.get(column).map_or(&[], Vec::as_slice)
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
pub(super) fn sort(batches: Arc<[Coded]>, places: Vec<Place>, known: &Known) -> Result<SortedRows, ArrowError> {
    let given = places.len();
    let keys = keys(&batches, &places, known);
    let kept = if known.has_ids { keys.latest()? } else { None };
    if let Some(kept) = kept {
        drop(keys);
        let places = places.into_iter().zip(kept).filter_map(|(place, kept)| kept.then_some(place)).collect();
        let sorted = sort_latest(batches, places, known)?;
        return Ok(SortedRows { replaced: given - sorted.places.len(), ..sorted });
    }
    let (sorted, customers) = order(&batches, &places, &keys, known)?;
    drop(keys);
    Ok(SortedRows { batches, places: sorted, customers, replaced: 0 })
}

/// Sorts rows none of which replaces another.
pub(super) fn sort_latest(batches: Arc<[Coded]>, places: Vec<Place>, known: &Known) -> Result<SortedRows, ArrowError> {
    let (sorted, customers) = order(&batches, &places, &keys(&batches, &places, known), known)?;
    Ok(SortedRows { batches, places: sorted, customers, replaced: 0 })
}

fn order(
    batches: &[Coded],
    places: &[Place],
    keys: &EventKeys<'_>,
    known: &Known,
) -> Result<(Vec<Place>, Vec<u32>), ArrowError> {
    let mut names: Vec<&str> =
        batches.iter().flat_map(|batch| batch.extra.iter().map(|(name, _)| name.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let order = order_events(keys, &|one, other| {
        let (one, other) = (places[one], places[other]);
        let texts =
            names.iter().map(|name| dimension(batches, name, one, known).cmp(dimension(batches, name, other, known)));
        let texts = || texts.clone().find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        total(batches, one).cmp(&total(batches, other)).then_with(texts)
    })?;
    Ok((order.rows.iter().map(|row| places[*row as usize]).collect(), order.customers))
}

fn total(batches: &[Coded], (batch, row): Place) -> Option<i64> {
    let (totals, row) = (&batches[batch as usize].totals, row as usize);
    totals.is_valid(row).then(|| totals.value(row))
}

fn dimension<'a>(batches: &'a [Coded], name: &str, (batch, row): Place, known: &'a Known) -> &'a str {
    let batch = &batches[batch as usize];
    batch.place_of(name).map_or("", |at| known.text(name, &batch.extra[at].1, row as usize))
}

fn keys<'a>(batches: &'a [Coded], places: &[Place], known: &Known) -> EventKeys<'a> {
    let mut keys = EventKeys {
        accounts: Vec::with_capacity(places.len()),
        opportunity_ids: Vec::with_capacity(places.len()),
        stages: Vec::with_capacity(places.len()),
        dates: Vec::with_capacity(places.len()),
        date_times: Vec::with_capacity(places.len()),
        event_ids: Vec::with_capacity(places.len()),
    };
    for (batch, row) in places {
        let (batch, row) = (&batches[*batch as usize], *row as usize);
        keys.accounts.push(known.rank(batch.accounts.value(row)));
        keys.opportunity_ids.push(batch.opportunity_ids.value(row));
        // Every code was made from a stage.
        keys.stages.push(Stage::from_code(batch.stages.value(row)).unwrap_or(Stage::LeadOriginated));
        keys.dates.push(batch.dates.value(row));
        keys.date_times.push(batch.date_times.is_valid(row).then(|| batch.date_times.value(row)));
        keys.event_ids.push(if batch.event_ids.is_valid(row) { batch.event_ids.value(row) } else { "" });
    }
    keys
}
