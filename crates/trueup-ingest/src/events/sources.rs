//! The sources of events: which of them each input has, and the removal of the stored events of one, or of records of
//! sources.

use super::dictionaries::{DictionaryBuilder, DictionaryBuilders, lock};
use super::event_batch::{DimensionColumn, EventBatch};
use super::reassigned::{CustomersOfRecords, Reassigned};
use crate::amounts::TotalsBySource;
use crate::read::CheckedRows as _;
use crate::records::DeliveredRecords;
use arrow_array::Array as _;
use arrow_schema::ArrowError;
use std::collections::BTreeSet;
use trueup_core::dataset::ControlTotals;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, RECORD_COLUMN, SOURCE};

/// The most sources of a file that a batch lists.
const MAX_SOURCES: usize = 16;

/// What is known of the events of one input.
#[derive(Clone, Debug)]
pub(crate) struct InputEvents {
    /// The number of events without an id.
    pub(crate) without_id: u64,
    /// Their sources; the empty one is that of events without a source. `None` if there are more than a batch lists.
    pub(crate) sources: Option<BTreeSet<String>>,
}

impl Default for InputEvents {
    fn default() -> Self {
        Self { without_id: 0, sources: Some(BTreeSet::new()) }
    }
}

impl InputEvents {
    /// Adds the events of a batch.
    pub(super) fn add(&mut self, batch: &EventBatch, dictionaries: &DictionaryBuilders) {
        self.without_id += batch.events_without_id();
        match batch.dimension(SOURCE) {
            None if batch.len() == 0 => {}
            None => self.add_source(""),
            Some(column) => {
                let texts = dictionaries.of(SOURCE);
                let texts = lock(&texts);
                let mut codes: Vec<u32> = (0..batch.len()).filter_map(|row| column.code(row)).collect();
                codes.sort_unstable();
                codes.dedup();
                codes.into_iter().for_each(|code| self.add_source(texts.text(code)));
                let without_code = (0..batch.len()).filter(|row| column.code(*row).is_none());
                without_code.for_each(|row| self.add_source(column.text(row)));
            }
        }
    }

    /// Adds the events of another input of the same file.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.without_id += other.without_id;
        match &other.sources {
            Some(sources) => sources.iter().for_each(|source| self.add_source(source)),
            None => self.sources = None,
        }
    }

    fn add_source(&mut self, source: &str) {
        let Some(sources) = self.sources.as_mut().filter(|sources| !sources.contains(source)) else { return };
        sources.insert(source.to_owned());
        if sources.len() > MAX_SOURCES {
            self.sources = None;
        }
    }
}

/// Returns whether a stored file may have events of a source. Events without the column are of the empty source.
pub(super) fn may_have_source(file: &DataFile, source: &str) -> bool {
    source.is_empty() || file.columns.iter().any(|column| column == SOURCE)
}

/// Returns the text of a row; empty for null.
pub(super) fn text_of<'a>(column: &'a DimensionColumn, texts: &'a DictionaryBuilder, row: usize) -> &'a str {
    column.code(row).map_or_else(|| column.text(row), |code| texts.text(code))
}

/// Returns the rows that are not of a source. Adds the others to `removed`.
pub(super) fn without_source(
    batch: EventBatch,
    source: &str,
    dictionaries: &DictionaryBuilders,
    removed: &mut ControlTotals,
) -> Result<EventBatch, ArrowError> {
    let kept: Vec<bool> = match batch.dimension(SOURCE) {
        None => vec![!source.is_empty(); batch.len()],
        Some(column) => {
            let texts = dictionaries.of(SOURCE);
            let texts = lock(&texts);
            (0..batch.len()).map(|row| text_of(column, &texts, row) != source).collect()
        }
    };
    *removed += batch.totals();
    let left = if kept.contains(&false) { batch.filter(kept.into())? } else { batch };
    *removed -= left.totals();
    Ok(left)
}

/// Passes on each row that is of a record, with its account, source and record.
pub(super) fn each_record(
    batch: &EventBatch,
    dictionaries: &DictionaryBuilders,
    take: &mut dyn FnMut(usize, [&str; 3]),
) {
    let Some(of_rows) = batch.dimension(RECORD_COLUMN) else { return };
    let sources = batch.dimension(SOURCE);
    let texts = [ACCOUNT, RECORD_COLUMN, SOURCE].map(|name| dictionaries.of(name));
    let [accounts, record_texts, source_texts] = texts.each_ref().map(|texts| lock(texts));
    for row in (0..batch.len()).filter(|row| of_rows.code(*row) != Some(0)) {
        let source = sources.map_or("", |column| text_of(column, &source_texts, row));
        take(row, [accounts.text(batch.accounts.value(row)), source, text_of(of_rows, &record_texts, row)]);
    }
}

/// Returns the rows that are not of delivered records. Adds the others to `replaced`, and to `reassigned` if the record
/// has other customers now.
pub(super) fn without_records(
    batch: EventBatch,
    (records, customers): (&DeliveredRecords, Option<&CustomersOfRecords<'_>>),
    dictionaries: &DictionaryBuilders,
    (replaced, reassigned): (&mut TotalsBySource, &mut Reassigned),
) -> Result<EventBatch, ArrowError> {
    let mut kept = vec![true; batch.len()];
    each_record(&batch, dictionaries, &mut |row, [account, source, record]| {
        if records.last_file(account, source, record).is_some() {
            kept[row] = false;
            let total = if batch.totals.is_valid(row) { batch.totals.value(row) } else { 0 };
            replaced.add(source, "", ControlTotals { total: total.into(), ..ControlTotals::of_rows(1) });
            let customer = batch.opportunity_ids.value(row);
            if let Some(new) = customers.and_then(|known| known.instead_of(customer, [account, source, record])) {
                reassigned.add(account, customer, new);
            }
        }
    });
    if kept.contains(&false) { batch.filter(kept.into()) } else { Ok(batch) }
}
