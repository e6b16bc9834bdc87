//! The records that the files of a mapping deliver. They are read before the events, with a table of their own, because
//! a row may deliver a record and be no event: a job that is canceled has no date any more.

use super::canonical::CanonicalTable;
use super::cells::StringCells;
use super::declaration::{Conditions, EventTableDeclaration, TableDeclaration};
use super::table::{TableMapper, TablePlanner, TableSources};
use crate::IngestError;
use crate::read::{CheckedRows, RowRules};
use crate::report::IgnoredColumn;
use crate::row_source::with_source;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use std::sync::Arc;
use trueup_core::dataset::ControlTotals;
use trueup_core::model::{ACCOUNT, CellFault, RECORD_COLUMN, SOURCE};

impl TablePlanner<'_> {
    /// Plans a table that has the account, the source and the record of each row of a table of events, whatever its
    /// conditions; `None` if its events are no records.
    pub(super) fn records(&self, table: &EventTableDeclaration, at: usize) -> Result<Option<TableMapper>, IngestError> {
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
        let planned = planner.plan(CanonicalTable::Events, &without_joins, &key, sources());
        let planned = planned.or_else(|_| planner.plan(CanonicalTable::Events, &declared, &key, sources()));
        Ok(planned?.pop())
    }
}

/// The rules by which records are read. Rows without an account or a record deliver none.
pub(super) struct RecordRules {
    /// The source of rows that do not name theirs.
    pub(super) source: Option<Arc<str>>,
}

/// The records of a batch, each with its account and its source.
pub(super) struct Records(pub(super) Vec<[String; 3]>);

impl CheckedRows for Records {
    fn totals(&self) -> ControlTotals {
        ControlTotals::of_rows(self.0.len() as u64)
    }

    fn bytes(&self) -> usize {
        let texts = |record: &[String; 3]| record.iter().map(String::capacity).sum::<usize>();
        self.0.iter().map(|record| texts(record) + size_of::<[String; 3]>()).sum()
    }
}

impl RowRules<Records> for RecordRules {
    fn ignored(&self) -> Vec<IgnoredColumn> {
        Vec::new()
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<(Records, Vec<CellFault>), ArrowError> {
        let batch = with_source(batch.clone(), self.source.as_deref())?;
        let texts = |name: &str| StringCells::of(batch.column_by_name(name));
        let (accounts, sources, records) = (texts(ACCOUNT)?, texts(SOURCE)?, texts(RECORD_COLUMN)?);
        let mut all: Vec<[String; 3]> = Vec::new();
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
