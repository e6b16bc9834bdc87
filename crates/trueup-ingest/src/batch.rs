//! Which tables an ingest changes, and what the manifest says of it.

use crate::checksum::BatchChecksum;
use crate::mapped::MappedInputs;
use crate::table::Table;
use crate::{IngestError, IngestSummary, Input, Progress, RowCounts};
use std::path::{Path, PathBuf};
use trueup_core::dataset::manifest::{Batch, BatchTable, Manifest};
use trueup_core::files::Files;

/// The tables that an ingest brings something new to.
pub(crate) struct BatchPlan {
    tables: Vec<PlannedTable>,
    skipped: Vec<SkippedTable>,
}

/// A table whose inputs are passed over, because the dataset holds their batch.
struct SkippedTable {
    table: Table,
    /// The version that was made from that batch.
    version: u64,
    /// Whether the table was given other batches since, so that it may not hold what this one would bring.
    overtaken: bool,
}

struct PlannedTable {
    table: Table,
    inputs: Vec<Input>,
    /// The files as given, before any mapping.
    origins: Vec<PathBuf>,
    checksum: BatchChecksum,
}

impl BatchPlan {
    /// Leaves out tables whose batch the dataset holds already: of events any batch, since events without an id would be added twice;
    /// of the others the latest, since an earlier one may have been replaced meanwhile.
    pub(crate) fn new(
        given: &[(Table, Input)],
        mapped: &MappedInputs,
        latest: Option<&Manifest>,
        files: &Files,
        progress: &dyn Progress,
    ) -> Result<Self, IngestError> {
        let (mut tables, mut skipped) = (Vec::new(), Vec::new());
        for table in [Table::Accounts, Table::Events, Table::Spend, Table::Insights] {
            let (inputs, origins) = mapped.inputs(table, given);
            if inputs.is_empty() {
                continue;
            }
            if batches(latest, table).next().is_none() {
                // Whatever the inputs are, they are new.
                let checksum = BatchChecksum::begin(files.clone(), origins.clone())?;
                tables.push(PlannedTable { table, inputs, origins, checksum });
                continue;
            }
            let size = |path: &PathBuf| Input::given(path).size();
            progress.stage("checking what is new", Some(origins.iter().map(size).sum()));
            let checksum = BatchChecksum::of(files, &origins, progress)?;
            match held(latest, table, &checksum) {
                Some(held) => skipped.push(held),
                None => tables.push(PlannedTable { table, inputs, origins, checksum: BatchChecksum::Known(checksum) }),
            }
        }
        Ok(Self { tables, skipped })
    }

    /// Whether nothing is new.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// What the caller should know of inputs that are passed over. That all of them are, and the dataset holds what they would bring, is
    /// said by the summary as a whole.
    pub(crate) fn warnings(&self) -> Vec<String> {
        if self.is_empty() && !self.skipped.iter().any(|skipped| skipped.overtaken) {
            return Vec::new();
        }
        self.skipped.iter().map(SkippedTable::warning).collect()
    }

    /// The inputs of a table that something is new of.
    pub(crate) fn inputs(&self, table: Table) -> Option<Vec<&Input>> {
        let planned = self.tables.iter().find(|planned| planned.table == table)?;
        Some(planned.inputs.iter().collect())
    }

    /// What the manifest says of the ingest.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(crate) fn batch(self, version: u64, summary: &IngestSummary) -> Result<Batch, IngestError> {
        let tables = self.tables.into_iter().map(|planned| {
            let RowCounts { taken, rejected, .. } = match planned.table {
                Table::Events => summary.events,
                Table::Spend => summary.spend,
                Table::Accounts => summary.accounts,
                Table::Insights => summary.insights,
            };
            let inputs = planned.origins.iter().map(|path| file_name(path)).collect();
            let table = BatchTable { checksum: planned.checksum.finish()?, inputs, rows: taken, rejected };
            Ok((planned.table.name().to_owned(), table))
        });
        Ok(Batch { version, tables: tables.collect::<Result<_, IngestError>>()? })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The batches of a table and the versions that were made from them, the latest first.
fn batches(latest: Option<&Manifest>, table: Table) -> impl Iterator<Item = (u64, &BatchTable)> {
    let batches = latest.map_or(&[][..], |manifest| &manifest.batches);
    batches.iter().rev().filter_map(move |batch| Some((batch.version, batch.tables.get(table.name())?)))
}

/// The batch of a table with that checksum, if it makes bringing its inputs again pointless.
fn held(latest: Option<&Manifest>, table: Table, checksum: &str) -> Option<SkippedTable> {
    let (age, (version, _)) = batches(latest, table).enumerate().find(|(_, (_, held))| held.checksum == checksum)?;
    let overtaken = age > 0;
    (table == Table::Events || !overtaken).then_some(SkippedTable { table, version, overtaken })
}

impl SkippedTable {
    fn warning(&self) -> String {
        let version = self.version;
        let (these_were, them) = match self.table {
            Table::Events => ("these events were", "them"),
            Table::Spend => ("this spend was", "it"),
            Table::Accounts => ("these accounts were", "them"),
            Table::Insights => ("these insights were", "them"),
        };
        format!("{these_were} ingested before, as version {version}; nothing of {them} is applied again")
    }
}
