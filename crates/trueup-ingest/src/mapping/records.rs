//! The records that the files of a mapping deliver. They are read before the events, with a table of their own, because
//! a row may deliver a record and be no event: a job that is canceled has no date any more.

use super::cells::StringCells;
use super::declaration::{Conditions, EventTableDeclaration, TableDeclaration};
use super::held::BufferedRows;
use super::table::{TableMapper, TablePlanner, TableSources};
use crate::IngestError;
use crate::error::InputLocation;
use crate::read::{CheckedRows, RowRules};
use crate::row_source::with_source;
use crate::source::{DecodedBatch, RawRows, ReadLimits, RowLocations, RowMapper};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{ACCOUNT, CellFault, RECORD_COLUMN, SOURCE};

impl TablePlanner<'_> {
    /// Plans a table that has the account, the source and the record of each row of a table of events, whatever its
    /// conditions; `None` if its events are no records, or if they need joins and may not have them.
    pub(super) fn records(
        &self,
        table: &EventTableDeclaration,
        at: usize,
        may_join: bool,
    ) -> Result<Option<TableMapper>, IngestError> {
        let Some(record) = table.record() else { return Ok(None) };
        let key = format!("events[{at}]");
        let columns = table.columns.iter().filter(|(name, _)| [ACCOUNT, SOURCE].contains(&name.as_str()));
        let columns = columns.map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}"))));
        let columns = columns.chain([(RECORD_COLUMN, (record, format!("{key}.record")))]);
        let sources = || vec![TableSources::long(&key, columns.clone().collect())];
        let planner = TablePlanner { credit: None, ..*self };
        let declared = TableDeclaration { only: Conditions::new(), unless: Conditions::new(), ..table.table() };
        let without_joins = TableDeclaration { join: Vec::new(), ..declared.clone() };
        // What a join holds takes memory, and few accounts come from one.
        let planned = planner.plan(Table::Events, &without_joins, &key, sources());
        match planned {
            Err(_) if !may_join => Ok(None),
            planned => {
                let planned = planned.or_else(|_| planner.plan(Table::Events, &declared, &key, sources()));
                Ok(planned?.pop())
            }
        }
    }
}

/// Leaves out the rows of a joined input whose records a later file has. `listing` are the tables that list these
/// records; a row is left out if it is by each of them.
pub(super) fn keep_last(
    rows: &mut BufferedRows,
    listing: &[TableMapper],
    limits: ReadLimits,
) -> Result<(), ArrowError> {
    let mut files: Vec<&Path> = Vec::new();
    let mut file_of: Vec<usize> = Vec::with_capacity(rows.batches.len());
    for path in rows.files() {
        let at = files.iter().position(|file| *file == path);
        file_of.push(at.unwrap_or(files.len()));
        if at.is_none() {
            files.push(path);
        }
    }
    let mut kept: Vec<Vec<bool>> = rows.batches.iter().map(|batch| vec![false; batch.num_rows()]).collect();
    for table in listing {
        let listed: Vec<Vec<Option<RecordKey>>> =
            rows.batches.iter().map(|batch| records_of(table, batch, limits)).collect::<Result<_, _>>()?;
        let mut last: HashMap<&RecordKey, usize> = HashMap::new();
        for (records, file) in listed.iter().zip(&file_of) {
            last.extend(records.iter().flatten().map(|record| (record, *file)));
        }
        for ((kept, records), file) in kept.iter_mut().zip(&listed).zip(&file_of) {
            for (kept, record) in kept.iter_mut().zip(records) {
                *kept |= record.as_ref().and_then(|record| last.get(record)).is_none_or(|last| last == file);
            }
        }
    }
    rows.keep(kept)
}

/// Returns the record of each row of a batch; `None` for rows that deliver none.
fn records_of(
    table: &TableMapper,
    batch: &RecordBatch,
    limits: ReadLimits,
) -> Result<Vec<Option<RecordKey>>, ArrowError> {
    let mut records = vec![None; batch.num_rows()];
    let locations = RowLocations::Records((0..).take(batch.num_rows()).collect());
    let mut raw = RawRows { decoded: DecodedBatch::new(batch.clone(), locations), done: 0 };
    while !raw.is_done() {
        let mapped = table.map(&mut raw, limits)?;
        let texts = |name: &str| StringCells::of(mapped.batch.column_by_name(name));
        let (accounts, sources, names) = (texts(ACCOUNT)?, texts(SOURCE)?, texts(RECORD_COLUMN)?);
        for row in 0..mapped.batch.num_rows() {
            let InputLocation::Record(at) = mapped.locations.of(row) else { continue };
            let text = |texts: &StringCells| texts.get(row).unwrap_or_default().to_owned();
            let key = [text(&accounts), text(&sources), text(&names)];
            let slot = usize::try_from(at).ok().and_then(|at| records.get_mut(at));
            if let Some(slot) = slot.filter(|_| !key[0].is_empty() && !key[2].is_empty()) {
                *slot = Some(key);
            }
        }
    }
    Ok(records)
}

/// The account, the source and the name of a record.
type RecordKey = [String; 3];

/// The rules by which records are read. Rows without an account or a record deliver none.
pub(super) struct RecordRules {
    /// The source of rows that do not name theirs.
    pub(super) source: Option<Arc<str>>,
}

/// The records of a batch, each with its account and its source.
pub(super) struct Records(pub(super) Vec<RecordKey>);

impl CheckedRows for Records {
    fn totals(&self) -> ControlTotals {
        ControlTotals::of_rows(self.0.len() as u64)
    }

    fn bytes(&self) -> usize {
        let texts = |record: &RecordKey| record.iter().map(String::capacity).sum::<usize>();
        self.0.iter().map(|record| texts(record) + size_of::<RecordKey>()).sum()
    }
}

impl RowRules<Records> for RecordRules {
    fn normalize(&self, batch: &RecordBatch) -> Result<(Records, Vec<CellFault>), ArrowError> {
        let batch = with_source(batch.clone(), self.source.as_deref())?;
        let texts = |name: &str| StringCells::of(batch.column_by_name(name));
        let (accounts, sources, records) = (texts(ACCOUNT)?, texts(SOURCE)?, texts(RECORD_COLUMN)?);
        let mut all: Vec<RecordKey> = Vec::new();
        for row in 0..batch.num_rows() {
            let (Some(account), Some(record)) = (accounts.get(row), records.get(row)) else { continue };
            let source = sources.get(row).unwrap_or_default();
            // The rows of a record mostly follow each other.
            if account.is_empty()
                || record.is_empty()
                || all.last().is_some_and(|last| *last == [account, source, record])
            {
                continue;
            }
            all.push([account, source, record].map(str::to_owned));
        }
        Ok((Records(all), Vec::new()))
    }
}
