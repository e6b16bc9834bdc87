//! Patches: rows that have some columns of stored events. A patch makes whole events of them, with all other values as
//! the dataset has them.

use super::cells::StringCells;
use super::times::{clock_texts, instant_texts};
use crate::IngestError;
use crate::error::{RowCells, RowFault, Rule};
use crate::read::{CheckedRows, RowRules};
use crate::source::{DecodedBatch, RawRows, ReadLimits, RowMapper};
use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{
    ACCOUNT, CellFault, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, RECORD_COLUMN, SchemaFault, TOTAL, TYPE,
    is_own_column,
};

/// Bytes of memory that an event or a text of one takes besides the text, about.
const ENTRY_BYTES: usize = 64;

/// The values of an event by the names of their columns; an empty one is left out.
type EventValues = HashMap<Box<str>, Box<str>>;

/// The events that a patch changes: by account and event id, what the dataset has of each; `None` until it is found.
#[derive(Debug, Default)]
pub(crate) struct PatchedEvents {
    events: HashMap<String, HashMap<String, Option<EventValues>>>,
    /// The columns of the patch and of these events.
    columns: BTreeSet<String>,
    bytes: usize,
}

impl PatchedEvents {
    /// Adds the events that some rows of the patch name.
    pub(crate) fn add(&mut self, rows: PatchKeys, limits: ReadLimits) -> Result<(), IngestError> {
        self.columns.extend(rows.columns);
        for [account, id] in rows.keys {
            self.bytes += 2 * ENTRY_BYTES + id.len();
            self.events.entry(account).or_default().entry(id).or_default();
        }
        self.check(limits)
    }

    /// Returns the ids of the events by account.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.events.iter().map(|(account, events)| (account.as_str(), events.keys().map(String::as_str)))
    }

    /// Returns whether the patch changes an event.
    pub(crate) fn has(&self, account: &str, id: &str) -> bool {
        self.events.get(account).is_some_and(|events| events.contains_key(id))
    }

    /// Sets what the dataset has of an event that the patch changes.
    pub(crate) fn found(
        &mut self,
        (account, id): (&str, &str),
        values: Vec<(&str, String)>,
        limits: ReadLimits,
    ) -> Result<(), IngestError> {
        let Some(event) = self.events.get_mut(account).and_then(|events| events.get_mut(id)) else { return Ok(()) };
        for (name, text) in &values {
            self.bytes += 2 * ENTRY_BYTES + text.len();
            if !self.columns.contains(*name) {
                self.columns.insert((*name).to_owned());
            }
        }
        let values = values.into_iter().filter(|(_, text)| !text.is_empty());
        *event = Some(values.map(|(name, text)| (Box::from(name), Box::from(text))).collect());
        self.check(limits)
    }

    fn check(&self, limits: ReadLimits) -> Result<(), IngestError> {
        IngestError::check_size("events that a patch changes", self.bytes, limits.table_bytes())
    }
}

/// The events that the rows of a patch name, and the columns of the rows.
#[derive(Default)]
pub(crate) struct PatchKeys {
    keys: Vec<[String; 2]>,
    columns: BTreeSet<String>,
}

impl CheckedRows for PatchKeys {
    fn totals(&self) -> ControlTotals {
        ControlTotals::of_rows(self.keys.len() as u64)
    }

    fn bytes(&self) -> usize {
        self.keys.iter().map(|[account, id]| account.capacity() + id.capacity() + size_of::<[String; 2]>()).sum()
    }
}

/// The rules by which a patch is read for the first time. A row without an account or an id has its fault later.
pub(crate) struct PatchKeyRules;

impl PatchKeyRules {
    /// Checks the columns of a patch.
    pub(crate) fn new(schema: &Schema) -> Result<Self, SchemaFault> {
        const NEEDED: [&[&str]; 2] = [&[ACCOUNT], &[EVENT_ID]];
        let has = |name: &str| schema.fields().find(name).is_some();
        let columns: Vec<&'static [&'static str]> =
            NEEDED.into_iter().filter(|names| !names.iter().any(|name| has(name))).collect();
        if columns.is_empty() {
            return Ok(Self);
        }
        let found = schema.fields().iter().map(|field| field.name().clone()).collect();
        Err(SchemaFault::MissingColumns { columns, found })
    }
}

impl RowRules<PatchKeys> for PatchKeyRules {
    fn normalize(&self, batch: &RecordBatch) -> Result<(PatchKeys, Vec<CellFault>), ArrowError> {
        let columns = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        let [accounts, ids] = [ACCOUNT, EVENT_ID].map(|name| StringCells::of(batch.column_by_name(name)));
        let (accounts, ids) = (accounts?, ids?);
        let key = |row: usize| Some([accounts.get(row)?.to_owned(), ids.get(row)?.to_owned()]);
        Ok((PatchKeys { keys: (0..batch.num_rows()).filter_map(key).collect(), columns }, Vec::new()))
    }
}

/// Makes whole events of the rows of a patch.
pub(crate) struct PatchMapper {
    shown: PathBuf,
    events: Arc<PatchedEvents>,
    schema: SchemaRef,
}

impl PatchMapper {
    /// Makes whole events of the rows of a file.
    pub(crate) fn new(shown: &Path, events: &Arc<PatchedEvents>) -> Self {
        let always = [ACCOUNT, OPPORTUNITY_ID, TYPE, DATE, DATE_TIME, EVENT_ID, TOTAL];
        let others = events.columns.iter().map(String::as_str).filter(|name| !always.contains(name));
        let others = others.filter(|name| *name == RECORD_COLUMN || !is_own_column(name));
        let fields = always.into_iter().chain(others).map(|name| Field::new(name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { shown: shown.to_owned(), events: events.clone(), schema }
    }
}

impl RowMapper for PatchMapper {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn shown(&self) -> &Path {
        &self.shown
    }

    fn table(&self) -> String {
        "patch".to_owned()
    }

    fn map(&self, raw: &mut RawRows, limits: ReadLimits) -> Result<DecodedBatch, ArrowError> {
        let batch = &raw.decoded.batch;
        let end = batch.num_rows().min(raw.done + limits.rows);
        let own = |name: &str| texts(batch.column_by_name(name));
        let (accounts, ids) = (own(ACCOUNT)?, own(EVENT_ID)?);
        let event = |row: usize| self.events.events.get(accounts.get(row)?)?.get(ids.get(row)?)?.as_ref();
        let (mut stored, mut rows, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        let shared = Arc::new(batch.clone());
        for row in raw.done..end {
            if let Some(event) = event(row) {
                stored.push(event);
                rows.push(row);
                continue;
            }
            let value = ids.get(row).unwrap_or_default();
            let found =
                if value.is_empty() { ", but found nothing".to_owned() } else { format!(", but found `{value}`") };
            faults.push(RowFault {
                location: raw.decoded.locations.in_file(row),
                column: Some(EVENT_ID.to_owned()),
                value: Some(value.to_owned()),
                rule: Rule::StoredEvent,
                found,
                cells: RowCells::of_batch(&shared, row, limits.max_text_bytes),
                joined: None,
                totals: None,
            });
        }
        let column = |field: &Arc<Field>| -> Result<ArrayRef, ArrowError> {
            let (name, own) = (field.name().as_str(), own(field.name())?);
            let mut made = StringBuilder::new();
            for (row, stored) in rows.iter().zip(&stored) {
                let kept = || stored.get(name).map(AsRef::as_ref);
                made.append_option(own.get(*row).or_else(kept));
            }
            Ok(Arc::new(made.finish()))
        };
        let columns = self.schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let mapped = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let locations = rows.iter().map(|row| raw.decoded.locations.in_file(*row)).collect();
        Ok(raw.finish(end, mapped, locations, faults, Box::default()))
    }
}

/// Returns the values of a column as texts, as canonical files have them.
fn texts(column: Option<&ArrayRef>) -> Result<StringCells, ArrowError> {
    match column.map(|column| (column, column.data_type())) {
        Some((column, DataType::Timestamp(_, Some(_)))) => StringCells::of(Some(&instant_texts(column)?)),
        Some((column, DataType::Timestamp(_, None))) => StringCells::of(Some(&clock_texts(column)?)),
        _ => StringCells::of(column),
    }
}
