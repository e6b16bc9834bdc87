//! Spend: the rows of the inputs replace all stored rows of the same accounts, days and sources. The cost of an ingest
//! follows what it changes: the rows of the inputs go to a new file, and deletion vectors leave the replaced rows out
//! of the stored files (`replaced`, which reads them through `stored_spend`; `new_spend` says what is new).
//!
//! Rows that are written are collected by calendar quarter ([`Quarters`]), sorted quarter by quarter, and written to
//! one file ([`SpendFile`]). A compaction does the same with the rows of stored files alone.

mod lost;
mod new_spend;
mod overlaps;
mod replaced;
mod stored_spend;

use crate::error::{ErrorContext, ErrorKind, FileFault, SpendTwice};
use crate::live_rows::{Superseded, count_left};
use crate::monitor::{Monitor, Phase};
use crate::parquet_file::ParquetFileWriter;
use crate::read::{CheckedRows, RowRules, TableReader};
use crate::report::{IgnoredColumn, protocols_of};
use crate::row_source::with_source;
use crate::settings::CommonSettings;
use crate::spill_file::SpillFile;
use crate::table::Table;
use crate::version::{BegunVersion, Scratch, VersionFiles};
use crate::{CREATED_BY, IngestError, Input};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type};
use arrow_array::{RecordBatch, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use new_spend::NewSpend;
use overlaps::{Origins, Overlaps};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use stored_spend::StoredSpend;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{ControlTotals, DeletionVector, TableProtocol};
use trueup_core::model::{
    ACCOUNT, CHANNEL, CellFault, DATE, SOURCE, SPEND_AMOUNTS, SPEND_COLUMNS, SchemaFault, SpendNormalizer, SpendOrder,
    concat_spend, spend_quarters,
};

/// The spend of the next version, and what became of the stored rows.
pub(crate) struct WrittenSpend {
    pub(crate) files: Vec<DataFile>,
    pub(crate) protocol: TableProtocol,
    pub(crate) warnings: Vec<String>,
}

/// Adds the spend of some inputs to the stored spend. Returns all spend files of the next version: those of the version
/// before, unless all their rows are written again, and one with the new rows. Returns the stored files if nothing
/// changes, or if faulty rows make the ingest fail. All stored rows of `replaced_source` are removed.
pub(crate) fn ingest(
    inputs: &[&Input],
    (stored, superseded): (&[DataFile], &Superseded),
    (settings, replaced_source): (&CommonSettings, Option<&str>),
    version: &mut BegunVersion,
    reader: &mut TableReader<'_>,
) -> Result<WrittenSpend, IngestError> {
    let mut protocol = TableProtocol { inputs: protocols_of(inputs), ..TableProtocol::default() };
    let limit = reader.limits.table_bytes();
    let (mut quarters, mut new) = (Quarters::new(limit), NewSpend::new(limit, !stored.is_empty()));
    reader.monitor.begin(Phase::Reading(Table::Spend.name()), Some(inputs.iter().map(|input| input.size()).sum()));
    for ((number, input), protocol) in inputs.iter().enumerate().zip(&mut protocol.inputs) {
        // Each NDJSON object may lack some members, so only the whole input shows whether any row has a measure.
        let measures = Arc::new(Mutex::new(MeasureCheck::default()));
        let rules = |schema: &_| {
            let normalizer = SpendNormalizer::of_part(schema)?;
            let source = input.options.source.clone();
            Ok(Box::new(SpendRules { normalizer, source, measures: Arc::clone(&measures) }) as _)
        };
        reader.read(input, Table::Spend, &rules, protocol, &mut |batch| {
            new.add(&batch)?;
            quarters.push(&batch, Some(number), &mut version.files)
        })?;
        if let Some(fault) = measures.lock().unwrap_or_else(PoisonError::into_inner).fault() {
            return Err(FileFault::Schema(fault).at(&input.shown));
        }
    }
    let taken = protocol.taken().rows;
    if taken == 0 && replaced_source.is_none() || reader.is_refusing() {
        return Ok(WrittenSpend { files: stored.to_vec(), protocol, warnings: Vec::new() });
    }
    let new = new.finish(replaced_source);
    let replaced = replaced::find(stored, superseded, &settings.dir, &new, reader.monitor)?;
    let stored_twice = replaced.census.twice.into_iter().map(|(source, rows)| (Some(source), rows));
    if let Some((stored, rows)) = new.twice().map(|rows| (None, rows)).into_iter().chain(stored_twice).next() {
        return Err(ErrorKind::SpendTwice(SpendTwice { stored, rows }).into());
    }
    let mut rows = taken;
    for (file, superseded) in &replaced.rewritten {
        rows += file.rows - superseded.rows();
        push_left(&mut quarters, &settings.dir, (file, Some(superseded)), &mut version.files, reader.monitor)?;
    }
    version.supersede(replaced.vectors);
    let (mut files, mut warnings) = (replaced.kept, Vec::new());
    if rows > 0 {
        let (file, found) = write(quarters, rows, settings.group_rows, &mut version.files, reader.monitor)?;
        files.push(file);
        warnings = found.warnings(inputs);
    }
    (protocol.replaced, protocol.replaced_others) = replaced.census.by_channel.into_rows();
    protocol.removed = replaced.census.removed;
    warnings.extend(lost::channels(&protocol.replaced, new.channels()));
    warnings.extend(lost::campaigns(replaced.census.lost_campaigns));
    Ok(WrittenSpend { files, protocol, warnings })
}

/// Writes the rows that are left in some files of spend to a new file, which it returns; none if no row is left.
pub(crate) fn merge(
    (stored, superseded): (&[DataFile], &Superseded),
    settings: &CommonSettings,
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<Option<DataFile>, IngestError> {
    let mut quarters = Quarters::new(settings.limits().table_bytes());
    for file in stored {
        let superseded = superseded.get(&file.path).map(|vector| &**vector);
        push_left(&mut quarters, &settings.dir, (file, superseded), version, monitor)?;
    }
    match count_left(stored, superseded) {
        0 => Ok(None),
        rows => write(quarters, rows, settings.group_rows, version, monitor).map(|(file, _)| Some(file)),
    }
}

/// Adds the rows that a stored file has left, if it has any.
fn push_left(
    quarters: &mut Quarters,
    dir: &Path,
    (file, superseded): (&DataFile, Option<&DeletionVector>),
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<(), IngestError> {
    if superseded.is_some_and(|vector| vector.rows() == file.rows) {
        return Ok(());
    }
    StoredSpend::open(dir, file, monitor)?.each_left(superseded, &mut |batch| {
        monitor.check()?;
        quarters.push(&batch, None, version)
    })
}

/// Writes a number of rows to a file. Returns also what inputs share of them.
fn write(
    quarters: Quarters,
    rows: u64,
    group_rows: usize,
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<(DataFile, Overlaps), IngestError> {
    monitor.begin_rows(Phase::WritingSpend, rows);
    let none = concat_spend(&[]).doing("sort spend")?;
    let file = ParquetFileWriter::begin(version.create(Table::Spend, 0)?, none.schema_ref(), properties())?;
    let mut groups = SpendFile { file, group_rows, rest: none };
    let overlaps = quarters.each_sorted(|rows| {
        monitor.check()?;
        monitor.add(rows.num_rows(), 0);
        groups.add(&rows)
    })?;
    Ok((groups.finish()?, overlaps))
}

/// Rows of spend in stored form, by calendar quarter as [`spend_quarters`] numbers them. The order of spend begins with
/// the quarter, so one quarter at a time is sorted in memory.
struct Quarters {
    /// The rows in memory. They are spilled to disk once they take more than `limit` bytes.
    held: BTreeMap<u16, Vec<RecordBatch>>,
    /// Bytes of `held`.
    bytes: usize,
    /// The most bytes of `held`, and of the rows of one quarter.
    limit: usize,
    /// The rows on disk.
    spilled: BTreeMap<u16, SpillFile>,
    /// Bytes of each quarter, in memory and on disk.
    sizes: BTreeMap<u16, usize>,
    /// The inputs of the rows of each quarter, in memory and on disk.
    origins: BTreeMap<u16, Origins>,
    /// The folder of `spilled`, once there is one.
    scratch: Option<Scratch>,
}

impl Quarters {
    fn new(limit: usize) -> Self {
        let (held, spilled, sizes, origins) = Default::default();
        Self { held, bytes: 0, limit, spilled, sizes, origins, scratch: None }
    }

    /// Adds rows of the input with this number; `None` for stored rows.
    ///
    /// # Errors
    /// The rows of a quarter do not fit in memory, or cannot be spilled.
    fn push(
        &mut self,
        batch: &RecordBatch,
        input: Option<usize>,
        version: &mut VersionFiles,
    ) -> Result<(), IngestError> {
        let row_bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
        for (quarter, rows) in by_quarter(batch).doing("sort spend")? {
            let bytes = row_bytes * rows.num_rows();
            self.bytes += bytes;
            let size = self.sizes.entry(quarter).or_default();
            *size += bytes;
            IngestError::check_size("rows of spend of one quarter", *size, self.limit)?;
            self.origins.entry(quarter).or_default().add(rows.num_rows(), input);
            self.held.entry(quarter).or_default().push(rows);
        }
        if self.bytes > self.limit {
            if self.scratch.is_none() {
                self.scratch = Some(version.scratch()?);
            }
            self.spill()?;
        }
        Ok(())
    }

    /// Moves `held` to disk. Does nothing without a scratch folder.
    fn spill(&mut self) -> Result<(), IngestError> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        for (quarter, batches) in std::mem::take(&mut self.held) {
            let rows =
                self.spilled.entry(quarter).or_insert_with(|| SpillFile::new(scratch, &format!("spend-{quarter}")));
            batches.iter().try_for_each(|batch| rows.write(batch))?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Sorts the rows quarter by quarter, and passes each quarter on. Returns the rows that inputs share.
    fn each_sorted(
        mut self,
        mut take: impl FnMut(RecordBatch) -> Result<(), IngestError>,
    ) -> Result<Overlaps, IngestError> {
        // If some rows are on disk, all rows go there, so that each quarter is in one place.
        self.spill()?;
        let mut overlaps = Overlaps::default();
        let mut sort = |quarter: u16, batches: Vec<RecordBatch>| {
            // Rows come back from disk in the order in which they were added, as `origins` has them.
            let all = concat_spend(&batches).doing("sort spend")?;
            drop(batches);
            let order = SpendOrder::new(&all).doing("sort spend")?;
            if let Some(origins) = self.origins.get(&quarter) {
                overlaps.add(&all, &order, origins).doing("compare spend")?;
            }
            take(order.sorted().doing("sort spend")?)
        };
        for (quarter, mut rows) in self.spilled {
            rows.end()?;
            sort(quarter, rows.read().collect::<Result<_, _>>()?)?;
        }
        self.held.into_iter().try_for_each(|(quarter, rows)| sort(quarter, rows))?;
        Ok(overlaps)
    }
}

/// Splits a batch into the rows of each quarter.
fn by_quarter(batch: &RecordBatch) -> Result<Vec<(u16, RecordBatch)>, ArrowError> {
    let quarters = spend_quarters(batch);
    if quarters.is_sorted() {
        let mut start = 0;
        let runs = quarters.chunk_by(|one, next| one == next).map(|run| {
            let rows = batch.slice(start, run.len());
            start += run.len();
            (run[0], rows)
        });
        return Ok(runs.collect());
    }
    let mut rows: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for (quarter, row) in quarters.into_iter().zip(0..) {
        rows.entry(quarter).or_default().push(row);
    }
    let take = |(quarter, rows)| Ok((quarter, take_record_batch(batch, &UInt32Array::from(rows))?));
    rows.into_iter().map(take).collect()
}

/// A spend file that takes rows in order. All its row groups except the last have `group_rows` rows.
struct SpendFile {
    file: ParquetFileWriter,
    group_rows: usize,
    /// The rows after the last full row group.
    rest: RecordBatch,
}

impl SpendFile {
    /// Adds sorted rows, which follow all rows that were added before.
    fn add(&mut self, rows: &RecordBatch) -> Result<(), IngestError> {
        let missing = (self.group_rows - self.rest.num_rows()).min(rows.num_rows());
        self.rest = concat_spend(&[self.rest.clone(), rows.slice(0, missing)]).doing("sort spend")?;
        if self.rest.num_rows() < self.group_rows {
            return Ok(());
        }
        self.file.write(std::slice::from_ref(&self.rest))?;
        let left = rows.num_rows() - missing;
        let row_groups: Vec<RecordBatch> = (0..left / self.group_rows)
            .map(|group| rows.slice(missing + group * self.group_rows, self.group_rows))
            .collect();
        for row_groups in row_groups.chunks(rayon::current_num_threads()) {
            self.file.write(row_groups)?;
        }
        let written = missing + row_groups.len() * self.group_rows;
        self.rest = rows.slice(written, rows.num_rows() - written);
        Ok(())
    }

    fn finish(mut self) -> Result<DataFile, IngestError> {
        if self.rest.num_rows() > 0 {
            self.file.write(&[self.rest])?;
        }
        self.file.finish()
    }
}

/// Checks that an input has a measure, a column that is summed, such as `adSpend`, in some of its batches.
#[derive(Default)]
struct MeasureCheck {
    has_measure: bool,
    /// The fault of the last batch without a measure.
    fault: Option<SchemaFault>,
}

impl MeasureCheck {
    /// Adds a batch with the columns of this normalizer.
    fn add(&mut self, normalizer: &SpendNormalizer) {
        match normalizer.no_spend() {
            Some(fault) => self.fault = Some(fault),
            None => self.has_measure = true,
        }
    }

    /// Returns the fault of an input without any measure, after it was read to its end.
    fn fault(&mut self) -> Option<SchemaFault> {
        self.fault.take().filter(|_| !self.has_measure)
    }
}

/// The rules of spend.
struct SpendRules {
    normalizer: SpendNormalizer,
    /// The source of rows that do not name theirs.
    source: Option<Arc<str>>,
    measures: Arc<Mutex<MeasureCheck>>,
}

/// Rows of spend in stored form, or of a mapping that is run outside an ingest, whose totals nobody asks for.
impl CheckedRows for RecordBatch {
    fn totals(&self) -> ControlTotals {
        let mut totals = ControlTotals::of_rows(self.num_rows() as u64);
        for name in SPEND_AMOUNTS {
            let stored = self.column_by_name(name).and_then(|column| column.as_primitive_opt::<Decimal128Type>());
            totals.add_amount(name, stored.map_or(0, |amounts| amounts.iter().flatten().sum()));
        }
        totals
    }

    fn bytes(&self) -> usize {
        self.get_array_memory_size()
    }
}

impl RowRules<RecordBatch> for SpendRules {
    fn ignored(&self) -> Vec<IgnoredColumn> {
        let columns = self.normalizer.ignored_columns().iter().map(String::as_str);
        IgnoredColumn::unknown(columns, Table::Spend)
    }

    fn normalize(&self, batch: &RecordBatch) -> Result<(RecordBatch, Vec<CellFault>), ArrowError> {
        // A batch of blank NDJSON lines has no column of a measure, and says nothing about the input.
        if batch.num_rows() > 0 {
            self.measures.lock().unwrap_or_else(PoisonError::into_inner).add(&self.normalizer);
        }
        let normalized = self.normalizer.normalize(batch)?;
        Ok((with_source(normalized.batch, self.source.as_deref())?, normalized.faults))
    }
}

/// The columns that [`spend_keys`] needs.
const KEY_COLUMNS: [&str; 4] = [ACCOUNT, DATE, SOURCE, CHANNEL];

/// What decides whether a row of spend replaces another, or counts next to it.
#[derive(Clone, Copy)]
struct SpendKey<'a> {
    account: &'a str,
    /// Counted from 1970-01-01.
    day: i32,
    /// Empty for none.
    source: &'a str,
    /// Empty for none.
    channel: &'a str,
}

/// Returns the key of each row of spend in stored form.
fn spend_keys(batch: &RecordBatch) -> Result<impl Iterator<Item = SpendKey<'_>>, ArrowError> {
    let texts = |name: &str| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    let days = batch.column_by_name(DATE).and_then(|column| column.as_primitive_opt::<Date32Type>());
    let (Some(accounts), Some(days), Some(sources), Some(channels)) =
        (texts(ACCOUNT), days, texts(SOURCE), texts(CHANNEL))
    else {
        let missing = format!("stored spend lacks one of the columns {}", KEY_COLUMNS.join(", "));
        return Err(ArrowError::SchemaError(missing));
    };
    let texts = accounts.iter().zip(sources).zip(channels);
    Ok(texts.zip(days.values()).map(|(((account, source), channel), day)| SpendKey {
        account: account.unwrap_or_default(),
        day: *day,
        source: source.unwrap_or_default(),
        channel: channel.unwrap_or_default(),
    }))
}

/// The column of campaigns.
const CAMPAIGN: &str = SPEND_COLUMNS[5];

/// Returns the campaigns of rows of spend in stored form; `None` without their column.
fn campaigns(batch: &RecordBatch) -> Option<&StringArray> {
    batch.column_by_name(CAMPAIGN)?.as_string_opt()
}

fn properties() -> WriterProperties {
    let date = ColumnPath::from(DATE);
    WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_data_page_row_count_limit(usize::MAX)
        .set_offset_index_disabled(true)
        .set_compression(Compression::LZ4_RAW)
        .set_column_dictionary_enabled(date.clone(), false)
        .set_column_encoding(date, Encoding::DELTA_BINARY_PACKED)
        .build()
}
