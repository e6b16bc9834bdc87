//! Step 3, sort: the rows of whole accounts are put in the order of the dataset, and superseded rows are left out. A
//! slice that does not fit in memory is sorted by `oversize`.

pub(super) mod oversize;

use super::dictionaries::EventDictionaries;
use super::event_batch::{DimensionColumn, EventBatch};
use super::reassigned::Reassigned;
use super::row_ranges::NewRows;
use super::shared_ids::SharedRows;
use crate::amounts::TotalsBySource;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, BooleanArray, PrimitiveArray};
use arrow_schema::ArrowError;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{EventKeys, EventOrder, LatestRows, SOURCE, Stage, UtcMicros, is_own_column, order_events};

/// Whole customers in the order of the dataset. The rows themselves stay where they are; only their numbers are sorted.
///
/// For example, `order: [2, 0, 1]` and `customers: [0, 2, 3]` say that the first customer has the rows 2 and 0, and the
/// second has row 1.
#[derive(Debug)]
pub(super) struct SortedCustomers {
    pub(super) rows: EventBatch,
    /// The numbers of the rows, in order.
    pub(super) order: Vec<u32>,
    /// Where each customer begins in `order`, and at last the length of `order`.
    pub(super) customers: Vec<u32>,
    /// The superseded rows, which are left out, by source.
    pub(super) superseded: TotalsBySource,
    /// The rows that are left out because they share an event id.
    pub(super) shared: SharedRows,
    /// The superseded rows that had another customer.
    pub(super) reassigned: Reassigned,
}

impl SortedCustomers {
    /// Returns customers of whose rows none was left out.
    pub(super) fn new(rows: EventBatch, order: Vec<u32>, customers: Vec<u32>) -> Self {
        let (superseded, shared, reassigned) =
            (TotalsBySource::default(), SharedRows::default(), Reassigned::default());
        Self { rows, order, customers, superseded, shared, reassigned }
    }

    /// Returns the number of rows without an event id that are equal to an earlier row of the customer in every field.
    pub(super) fn repeated(&self, dictionaries: &EventDictionaries) -> u64 {
        let Self { rows, order, customers, .. } = self;
        if rows.event_ids.null_count() == 0 {
            return 0;
        }
        let fields: Vec<_> = rows.dimensions.iter().filter(|(name, _)| !is_own_column(name)).collect();
        let have_equal_keys = |one: &u32, other: &u32| {
            let (one, other) = (*one as usize, *other as usize);
            rows.dates.value(one) == rows.dates.value(other)
                && rows.stages.value(one) == rows.stages.value(other)
                && rows.event_ids.is_null(one)
                && rows.event_ids.is_null(other)
                && optional(&rows.date_times, one) == optional(&rows.date_times, other)
                && optional(&rows.totals, one) == optional(&rows.totals, other)
        };
        let compare = |one: &u32, other: &u32| {
            compare_texts(fields.iter().copied(), dictionaries, *one as usize, *other as usize)
        };
        // Rows with equal keys are next to each other. Among them, a column of trueup's own may separate rows whose
        // fields are equal.
        let repeated_among = |rows: &[u32]| {
            let mut rows = rows.to_vec();
            rows.sort_unstable_by(compare);
            rows.windows(2).filter(|pair| compare(&pair[0], &pair[1]).is_eq()).count() as u64
        };
        let histories = customers.windows(2).map(|ends| &order[ends[0] as usize..ends[1] as usize]);
        let with_equal_keys = histories.flat_map(|history| history.chunk_by(have_equal_keys));
        with_equal_keys.filter(|rows| rows.len() > 1).map(repeated_among).sum()
    }
}

/// Returns the value of a row; `None` for null.
fn optional<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// Sorts rows, which are given in the order of arrival. A row with an event id supersedes every earlier row of the
/// account with that id, and new rows that [share](SharedRows) an id are left out; if no row has an event id, `has_ids`
/// may be false, which is faster.
pub(super) fn sort(
    rows: EventBatch,
    has_ids: bool,
    new: &NewRows,
    dictionaries: &EventDictionaries,
) -> Result<SortedCustomers, ArrowError> {
    let keys = keys(&rows, dictionaries);
    if has_ids
        && let Some(LatestRows { kept, shared: shared_rows, reassigned: changes }) = keys.latest(|row| new.has(row))?
    {
        let mut reassigned = Reassigned::default();
        for (old, new) in changes {
            let customer = |row: u32| rows.opportunity_ids.value(row as usize);
            let account = dictionaries.account(rows.accounts.value(old as usize));
            reassigned.add(account, customer(old), customer(new));
        }
        let shared = SharedRows::of_batch(&rows, &shared_rows);
        let mut is_left_out: Vec<bool> = kept.iter().map(|kept| !kept).collect();
        shared_rows.iter().for_each(|row| is_left_out[*row as usize] = false);
        let superseded = totals_by_source(&rows, &is_left_out, dictionaries);
        let latest = rows.filter(BooleanArray::from(kept))?;
        drop(rows);
        return Ok(SortedCustomers { superseded, shared, reassigned, ..sort_latest(latest, dictionaries)? });
    }
    let EventOrder { rows: order, customers } = order(&rows, &keys, dictionaries)?;
    drop(keys);
    Ok(SortedCustomers::new(rows, order, customers))
}

/// Returns the totals of some rows of a batch, by source.
pub(super) fn totals_by_source(
    rows: &EventBatch,
    is_counted: &[bool],
    dictionaries: &EventDictionaries,
) -> TotalsBySource {
    let sources = rows.dimension(SOURCE).map(|sources| (dictionaries.texts(SOURCE), sources));
    let mut by_source: BTreeMap<&str, ControlTotals> = BTreeMap::new();
    for row in (0..is_counted.len()).filter(|row| is_counted[*row]) {
        let source = sources.map_or("", |(texts, column)| column.value(texts, row));
        let total = optional(&rows.totals, row).unwrap_or_default().into();
        *by_source.entry(source).or_default() += ControlTotals { total, ..ControlTotals::of_rows(1) };
    }
    let mut all = TotalsBySource::default();
    by_source.into_iter().for_each(|(source, totals)| all.add(source, "", totals));
    all
}

/// Sorts rows from which the superseded rows have been left out.
fn sort_latest(rows: EventBatch, dictionaries: &EventDictionaries) -> Result<SortedCustomers, ArrowError> {
    let EventOrder { rows: order, customers } = order(&rows, &keys(&rows, dictionaries), dictionaries)?;
    Ok(SortedCustomers::new(rows, order, customers))
}

/// Orders rows by their keys. Rows with equal keys are ordered by total and then by their dimensions, so that the order
/// does not depend on the order of arrival.
fn order(rows: &EventBatch, keys: &EventKeys<'_>, dictionaries: &EventDictionaries) -> Result<EventOrder, ArrowError> {
    order_events(keys, &|one, other| {
        optional(&rows.totals, one)
            .cmp(&optional(&rows.totals, other))
            .then_with(|| compare_texts(&rows.dimensions, dictionaries, one, other))
    })
}

/// Compares the texts that two rows have in some columns: in the first column, then in the next ones.
fn compare_texts<'a>(
    columns: impl IntoIterator<Item = &'a (String, DimensionColumn)>,
    dictionaries: &EventDictionaries,
    one: usize,
    other: usize,
) -> Ordering {
    let compare = |(name, column): &'a (String, DimensionColumn)| {
        let texts = dictionaries.texts(name);
        column.value(texts, one).cmp(column.value(texts, other))
    };
    columns.into_iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn keys<'a>(rows: &'a EventBatch, dictionaries: &EventDictionaries) -> EventKeys<'a> {
    // Every code was made from a stage, so the default is never used.
    let stage = |code: &u8| Stage::from_code(*code).unwrap_or(Stage::LeadOriginated);
    EventKeys {
        accounts: rows.accounts.values().iter().map(|account| dictionaries.account_rank(*account)).collect(),
        opportunity_ids: rows.opportunity_ids.iter().map(Option::unwrap_or_default).collect(),
        stages: rows.stages.values().iter().map(stage).collect(),
        dates: rows.dates.values().to_vec(),
        date_times: rows.date_times.iter().map(|micros| micros.map(UtcMicros)).collect(),
        event_ids: rows.event_ids.iter().map(Option::unwrap_or_default).collect(),
    }
}
