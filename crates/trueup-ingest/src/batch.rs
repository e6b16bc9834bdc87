//! The batch of an ingest: the tables that it changes, the checksum of each table's inputs, and the entry of the
//! batch in the manifest.

use crate::error::{ErrorContext, OPEN};
use crate::input::MappedInputs;
use crate::monitor::{Monitor, Phase};
use crate::source::file_name;
use crate::table::Table;
use crate::{IngestError, IngestSummary, Input, RowCounts};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use trueup_core::dataset::manifest::{Batch, BatchTable, Manifest, hex};
use trueup_core::files::Files;

/// The tables that an ingest changes, and the tables whose inputs it skips because the dataset already has that batch.
pub(crate) struct BatchPlan {
    tables: Vec<PlannedTable>,
    skipped: Vec<SkippedTable>,
}

struct PlannedTable {
    table: Table,
    inputs: Vec<Input>,
    /// The files whose checksum identifies the batch: the inputs as given, and the mapping file if the inputs come from
    /// it.
    origins: Vec<Input>,
    checksum: BatchChecksum,
}

struct SkippedTable {
    table: Table,
    /// The version that the batch became.
    version: u64,
    /// Whether the table received later batches, so that it may no longer hold the rows of this batch.
    is_overtaken: bool,
}

impl BatchPlan {
    /// Plans an ingest, which skips each table whose batch the dataset already has. Events are compared with every
    /// earlier batch, because events without an id would be added twice. Other tables are compared with their latest
    /// batch, because it may have replaced an earlier one.
    pub(crate) fn new(
        given: &[(Table, Input)],
        mapped: &MappedInputs,
        latest: Option<&Manifest>,
        files: &Files,
        monitor: &Monitor,
    ) -> Result<Self, IngestError> {
        let (mut tables, mut skipped) = (Vec::new(), Vec::new());
        for table in [Table::Accounts, Table::Events, Table::Spend, Table::Insights] {
            let (inputs, origins) = mapped.inputs(table, given);
            if inputs.is_empty() {
                continue;
            }
            if batches(latest, table).next().is_none() {
                // The first batch of a table is always new, so its checksum may be computed while it is ingested.
                let checksum = BatchChecksum::begin(files.clone(), origins.clone())?;
                tables.push(PlannedTable { table, inputs, origins, checksum });
                continue;
            }
            monitor.begin(Phase::CheckingInputs, Some(origins.iter().map(Input::size).sum()));
            let checksum = BatchChecksum::of(files, &origins, monitor)?;
            match find_batch(latest, table, &checksum) {
                Some(found) => skipped.push(found),
                None => tables.push(PlannedTable { table, inputs, origins, checksum: BatchChecksum::Known(checksum) }),
            }
        }
        Ok(Self { tables, skipped })
    }

    /// Returns whether the ingest changes no table.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns a warning for each skipped table. Unless the ingest has parts of events, which make a version in any
    /// case, there is none if everything is skipped and nothing is overtaken, because the summary then says that the
    /// dataset has not changed.
    pub(crate) fn warnings(&self, has_parts: bool) -> Vec<String> {
        if !has_parts && self.is_empty() && !self.skipped.iter().any(|skipped| skipped.is_overtaken) {
            return Vec::new();
        }
        self.skipped.iter().map(SkippedTable::warning).collect()
    }

    /// Returns the inputs of a table that the ingest changes; `None` for any other table.
    pub(crate) fn inputs(&self, table: Table) -> Option<Vec<&Input>> {
        let planned = self.tables.iter().find(|planned| planned.table == table)?;
        Some(planned.inputs.iter().collect())
    }

    /// Waits until all checksums are known, so that the inputs need not be there any longer.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(crate) fn finish_checksums(&mut self) -> Result<(), IngestError> {
        for planned in &mut self.tables {
            let checksum = std::mem::replace(&mut planned.checksum, BatchChecksum::Known(String::new()));
            planned.checksum = BatchChecksum::Known(checksum.finish()?);
        }
        Ok(())
    }

    /// Returns the entry of the batch in the manifest.
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
            let inputs = planned.origins.iter().map(|input| file_name(&input.shown)).collect();
            let table = BatchTable { checksum: planned.checksum.finish()?, inputs, rows: taken, rejected };
            Ok((planned.table.name().to_owned(), table))
        });
        Ok(Batch { version, tables: tables.collect::<Result<_, IngestError>>()? })
    }
}

/// Returns the batches of a table and the versions that they became, the latest first.
fn batches(latest: Option<&Manifest>, table: Table) -> impl Iterator<Item = (u64, &BatchTable)> {
    let batches = latest.map_or(&[][..], |manifest| &manifest.batches);
    batches.iter().rev().filter_map(move |batch| Some((batch.version, batch.tables.get(table.name())?)))
}

/// Finds an earlier batch of a table with that checksum, if the table need not be ingested again.
fn find_batch(latest: Option<&Manifest>, table: Table, checksum: &str) -> Option<SkippedTable> {
    let (age, (version, _)) = batches(latest, table).enumerate().find(|(_, (_, batch))| batch.checksum == checksum)?;
    let is_overtaken = age > 0;
    (table == Table::Events || !is_overtaken).then_some(SkippedTable { table, version, is_overtaken })
}

impl SkippedTable {
    fn warning(&self) -> String {
        let version = self.version;
        let (these_were, they_are) = match self.table {
            Table::Events => ("these events were", "they are"),
            Table::Spend => ("this spend was", "it is"),
            Table::Accounts => ("these accounts were", "they are"),
            Table::Insights => ("these insights were", "they are"),
        };
        format!("{these_were} ingested before, as version {version}; {they_are} not applied again")
    }
}

/// The checksum of a table's inputs in hex. It is the checksum of the sorted checksums of the files, so the order of
/// the files does not matter.
enum BatchChecksum {
    Known(String),
    /// A thread computes it while the inputs are ingested.
    Pending(ChecksumThread),
}

/// A thread that computes the checksum of the inputs. It stops when this is dropped.
struct ChecksumThread {
    thread: JoinHandle<Result<String, IngestError>>,
    _stop: SetOnDrop,
}

/// A flag that is set when this is dropped.
struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl BatchChecksum {
    /// Computes the checksum of some files.
    fn of(files: &Files, inputs: &[Input], monitor: &Monitor) -> Result<String, IngestError> {
        let advance = |length| {
            monitor.add(0, length);
            true
        };
        let sums = inputs.par_iter().map(|input| file_checksum(files, input, &advance)).collect::<Result<_, _>>()?;
        Ok(combine(sums))
    }

    /// Begins to compute the checksum of some files.
    fn begin(files: Files, inputs: Vec<Input>) -> Result<Self, IngestError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let read = move || {
            let sums = inputs.iter().map(|input| file_checksum(&files, input, &|_| !stopped.load(Ordering::Relaxed)));
            Ok(combine(sums.collect::<Result<_, _>>()?))
        };
        let thread = thread::Builder::new().name("checksum".to_owned()).spawn(read).doing("start a thread")?;
        Ok(Self::Pending(ChecksumThread { thread, _stop: SetOnDrop(stop) }))
    }

    /// Returns the checksum, once it is known.
    fn finish(self) -> Result<String, IngestError> {
        match self {
            Self::Known(checksum) => Ok(checksum),
            Self::Pending(ChecksumThread { thread, .. }) => {
                let failed = || io::Error::other("the thread that computes it has failed");
                thread.join().map_err(|_| failed()).doing("compute the checksum of the inputs")?
            }
        }
    }
}

/// Returns the checksum of some checksums, whatever their order.
pub(crate) fn combine(mut sums: Vec<String>) -> String {
    sums.sort_unstable();
    let mut hasher = Sha256::new();
    for sum in sums {
        hasher.update(sum.as_bytes());
        hasher.update(b"\n");
    }
    hex(&hasher.finalize())
}

/// Computes the checksum of a file, and of the columns that its folders give. `go_on` receives the number of bytes of
/// each read, and returns whether to continue.
fn file_checksum(files: &Files, input: &Input, go_on: &dyn Fn(u64) -> bool) -> Result<String, IngestError> {
    let mut file = files.open(&input.path).at(OPEN, &input.path)?;
    let mut hasher = Sha256::new();
    for column in &input.options.folders {
        hasher.update(column.shown().as_bytes());
        hasher.update(b"/");
    }
    let mut bytes = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut bytes).at("read", &input.path)?;
        hasher.update(&bytes[..length]);
        if length == 0 || !go_on(u64::try_from(length).unwrap_or(u64::MAX)) {
            return Ok(hex(&hasher.finalize()));
        }
    }
}
