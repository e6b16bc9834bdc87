//! Opening a dataset: from its folder, from an earlier version of it that is open, or from tables in memory.

use super::as_of::{AsOf, manifest, newer};
use super::checked_file::CheckedFile;
use super::counted_cache::CountedCache;
use super::decode_ahead::decode_ahead;
use super::error::DatasetError;
use super::id::DatasetId;
use super::insights::InsightFile;
use super::manifest::{ACCOUNTS, DEFINITIONS_FOLDER, DataFile, INSIGHTS, Manifest, RowGroupEntry, TARGETS, checksum};
use super::result_cache::ResultCache;
use super::table_file::TableFile;
use super::{Dataset, RowGroup};
use crate::attribution::Attribution;
use crate::definitions::Definitions;
use crate::error::Error;
use crate::model::{
    self, Accounts, CUSTOMER_COLUMN, EventNormalizer, HeldTable, Normalized, SpendNormalizer, TableFault, Targets,
};
use crate::scan::{
    ColumnFault, ColumnSource, EventColumns, EventProjection, SpendColumns, SpendProjection, TableColumns,
};
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use trueup_parquet::read_all_rows;
use trueup_store::without_credentials;

/// The most bytes of decoded columns that are held, unless [`Dataset::with_column_budget`] says otherwise.
const COLUMN_BUDGET: usize = 1 << 30;

impl Dataset {
    /// Opens the newest version of the dataset in a folder or, with the feature `object-store`, below a URL such as
    /// `s3://bucket/acme`. The credentials for the store come from the environment, as for the store's own tools.
    ///
    /// Reads the manifest, its lists of files, deletion vectors and definitions, and the accounts, and checks the
    /// length of the insights. A file of events or spend is read when it is needed: first its footer, which must say
    /// what the manifest says, then columns. All bytes are compared with the manifest's checksums each time that they
    /// are read, so that no answer comes from bytes that have changed, before the dataset was opened or later. Only
    /// [`Verification`](super::Verification) reads everything.
    ///
    /// # Errors
    /// The folder holds no dataset, a file that is read now is missing or damaged, or the insights are missing or have
    /// another length.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let (folder, _span) = (folder.as_ref(), tracing::debug_span!("open").entered());
        Self::from_manifest(folder, manifest(folder, None)?, None)
    }

    /// Opens an earlier version of the dataset in a folder or below a URL: by its number, or the one that was the
    /// newest at a time. [`AsOf`] says which version that is.
    ///
    /// # Errors
    /// There is no version of this number (the error names the versions that exist) or of this time; and as
    /// [`open`](Self::open).
    pub fn open_as_of(folder: impl AsRef<Path>, as_of: impl Into<AsOf>) -> Result<Self, Error> {
        let (folder, as_of) = (folder.as_ref(), as_of.into());
        let _span = tracing::debug_span!("open", %as_of).entered();
        Self::from_manifest(folder, manifest(folder, Some(as_of))?, None)
    }

    /// Opens the newest version of the dataset in the folder or below the URL of this one; `None` if this is it, or if
    /// the dataset is in memory.
    ///
    /// What is in memory for files that both versions have is shared and not read again: footers, decoded columns, and
    /// the index of insights. Rows that were superseded since are left out of decoded columns; a row group with many of
    /// them is decoded again, like a new one. If these row groups together have few rows, they are decoded now, in the
    /// columns that other row groups have in memory, unless the dataset is in an object store; otherwise each is
    /// decoded when a query needs it. Both versions can be used, and dropped in any order. They share one budget of
    /// columns, which counts a column once, and one count of [columns found in memory](Self::column_cache_counts).
    /// Definitions and columns are those of the newest version, as if it had been opened.
    ///
    /// ```no_run
    /// # use trueup_core::Dataset;
    /// let mut dataset = Dataset::open("my-data")?;
    /// // Later:
    /// if let Some(newest) = dataset.reopen()? {
    ///     dataset = newest;
    /// }
    /// # Ok::<(), trueup_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open). This dataset stays as it is.
    pub fn reopen(&self) -> Result<Option<Self>, Error> {
        let Some((folder, open)) = self.folder.as_deref().zip(self.manifest.as_deref()) else { return Ok(None) };
        let _span = tracing::debug_span!("reopen").entered();
        let Some(newest) = newer(folder, open)? else { return Ok(None) };
        let newest = Self::from_manifest(folder, newest, Some((self, open)))?;
        decode_ahead(&newest.events, &self.events);
        decode_ahead(&newest.spend, &self.spend);
        Ok(Some(newest))
    }

    /// Opens a version. `former` is another version that is open, and its manifest.
    fn from_manifest(folder: &Path, manifest: Manifest, former: Option<(&Self, &Manifest)>) -> Result<Self, Error> {
        let (accounts, insights, targets) = open_small_tables(folder, &manifest, former)?;
        let cache = former.map_or_else(|| Arc::new(CountedCache::new(COLUMN_BUDGET)), |former| former.0.cache.clone());
        let results = former.map_or_else(|| Arc::new(ResultCache::new()), |former| former.0.results.clone());
        let of_former = former.map(|(dataset, open)| FormerFiles::new(&open.events, &dataset.events));
        let (events, event_row_groups) = open_table(folder, &manifest, &manifest.events, &cache, of_former)?;
        let of_former = former.map(|(dataset, open)| FormerFiles::new(&open.spend, &dataset.spend));
        let (_, spend_row_groups) = open_table(folder, &manifest, &manifest.spend, &cache, of_former)?;
        let columns: BTreeSet<String> = events.iter().flat_map(|file| file.texts()).map(str::to_owned).collect();
        let columns = Arc::new(columns);
        let definitions = stored_definitions(folder, &manifest, &columns, former.map(|former| &former.0.definitions))?;
        Ok(Self {
            id: DatasetId::of_manifest(&manifest),
            folder: Some(folder.to_owned()),
            opened: SystemTime::now(),
            accounts,
            definitions,
            stored_columns: Arc::clone(&columns),
            columns,
            events: event_row_groups.into(),
            spend: spend_row_groups.into(),
            insights,
            targets,
            cache,
            results,
            has_undescribed: OnceLock::new(),
            manifest: Some(Arc::new(manifest)),
        })
    }
}

/// The tables that are not read in row groups.
type SmallTables = (Arc<Accounts>, Option<Arc<InsightFile>>, Arc<Targets>);

/// Reads the accounts and the targets of a version, and checks the length of its insights, at the same time. Files of
/// `former` are not read again.
fn open_small_tables(
    folder: &Path,
    manifest: &Manifest,
    former: Option<(&Dataset, &Manifest)>,
) -> Result<SmallTables, DatasetError> {
    let open_insights = || {
        if let Some((dataset, _)) = former.filter(|(_, open)| open.named(INSIGHTS) == manifest.named(INSIGHTS)) {
            return Ok(dataset.insights.clone());
        }
        let opened = manifest.named(INSIGHTS).map(|file| InsightFile::open(folder, file).map(Arc::new));
        opened.transpose()
    };
    let former_accounts = former.map(|(dataset, open)| (&dataset.accounts, open.named(ACCOUNTS)));
    let former_targets = former.map(|(dataset, open)| (&dataset.targets, open.named(TARGETS)));
    let open_targets = || open_held(folder, manifest.named(TARGETS), former_targets);
    let (accounts, (insights, targets)) = rayon::join(
        || open_held(folder, manifest.named(ACCOUNTS), former_accounts),
        || rayon::join(open_insights, open_targets),
    );
    Ok((accounts?, insights?, targets?))
}

/// Reads a table that is held as a whole, unless `former` has the same file.
fn open_held<T: HeldTable>(
    folder: &Path,
    file: Option<&DataFile>,
    former: Option<(&Arc<T>, Option<&DataFile>)>,
) -> Result<Arc<T>, DatasetError> {
    match (former, file) {
        (Some((table, open)), _) if open == file => Ok(table.clone()),
        (_, Some(file)) => Ok(Arc::new(read_held(folder, file)?)),
        (_, None) => Ok(Arc::default()),
    }
}

/// The files of a table as another version has them, by their paths, each with its row groups.
struct FormerFiles<'a, T>(HashMap<&'a str, (&'a DataFile, &'a [RowGroup<T>])>);

impl<'a, T> FormerFiles<'a, T> {
    /// Takes the files of a table and all their row groups.
    fn new(files: &'a [DataFile], mut row_groups: &'a [RowGroup<T>]) -> Self {
        let mut by_path = HashMap::with_capacity(files.len());
        for file in files {
            let (of_file, others) = row_groups.split_at(file.row_groups.len());
            by_path.insert(&*file.path, (file, of_file));
            row_groups = others;
        }
        Self(by_path)
    }

    /// Returns the row groups of a file, if it is the same file: its path and all checksums.
    fn row_groups(&self, file: &DataFile) -> &'a [RowGroup<T>] {
        self.0.get(&*file.path).filter(|(former, _)| *former == file).map_or(&[], |(_, row_groups)| row_groups)
    }
}

/// The files of a table, and their row groups.
type Table<T> = (Vec<Arc<TableFile>>, Vec<RowGroup<T>>);

/// Returns the files of a table, none of which is read, and their row groups. They share what `former` has in memory.
fn open_table<T: TableColumns>(
    folder: &Path,
    manifest: &Manifest,
    files: &[DataFile],
    cache: &Arc<CountedCache>,
    former: Option<FormerFiles<'_, T>>,
) -> Result<Table<T>, DatasetError> {
    let mut table: Table<T> = (Vec::with_capacity(files.len()), Vec::new());
    for promised in files {
        let former = former.as_ref().map_or(&[][..], |former| former.row_groups(promised));
        let superseded = || manifest.superseded.get(&promised.path).cloned();
        let file = match former.first().and_then(RowGroup::file) {
            Some(file) => file.with_superseded(superseded()),
            None => TableFile::new(folder, promised, superseded())?,
        };
        let file = Arc::new(file);
        table.1.extend(RowGroup::of_file(&file, cache, former));
        table.0.push(file);
    }
    Ok(table)
}

/// Reads the file of a table that is held as a whole, whose number of rows must be that of the manifest.
///
/// # Errors
/// The file cannot be read, or a row breaks a rule.
pub fn read_held<T: HeldTable>(folder: &Path, file: &DataFile) -> Result<T, DatasetError> {
    let checked = CheckedFile::open(folder, file)?;
    let path = checked.path().to_owned();
    let batches = read_all_rows(checked.whole()?).map_err(DatasetError::parquet(&path, None))?;
    let found = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if found != file.rows {
        return Err(DatasetError::Length { path, unit: "rows", found, promised: file.rows });
    }
    T::from_batches(&batches).map_err(|source| DatasetError::Table { path, source })
}

/// Reads the definitions that a manifest names, unless they are those of `former`, and checks them against the columns
/// of the events.
fn stored_definitions(
    folder: &Path,
    manifest: &Manifest,
    columns: &BTreeSet<String>,
    former: Option<&Definitions>,
) -> Result<Definitions, DatasetError> {
    let Some(file) = manifest.named(DEFINITIONS_FOLDER) else { return Ok(Definitions::default()) };
    // The definitions keep what they have made of the texts of decoded columns.
    let same = former.filter(|former| checksum(former.text()) == file.blake3);
    let definitions = same.map_or_else(|| read_definitions(folder, file), |same| Ok(same.clone()))?;
    let path = || without_credentials(&folder.join(&file.path));
    definitions.check_columns(columns).map_err(|source| DatasetError::Definitions { path: path(), source })?;
    Ok(definitions)
}

/// Reads the definitions of a dataset.
///
/// # Errors
/// The file cannot be read, or a definition breaks a rule, for example because a field of a later trueup has its name.
pub fn read_definitions(folder: &Path, file: &DataFile) -> Result<Definitions, DatasetError> {
    let (text, path) = read_text(folder, file)?;
    Definitions::parse(&text).map_err(|source| DatasetError::Definitions { path, source })
}

/// Reads the mapping of a dataset, as TOML.
///
/// # Errors
/// The file cannot be read.
pub fn read_mapping(folder: &Path, file: &DataFile) -> Result<String, DatasetError> {
    Ok(read_text(folder, file)?.0)
}

/// Reads a file of a dataset as a text. Returns its path, too, for messages.
fn read_text(folder: &Path, file: &DataFile) -> Result<(String, PathBuf), DatasetError> {
    let checked = CheckedFile::open(folder, file)?;
    let path = checked.path().to_owned();
    match String::from_utf8(checked.whole()?.to_vec()) {
        Ok(text) => Ok((text, path)),
        Err(error) => Err(DatasetError::Io { path, source: io::Error::other(error) }),
    }
}

/// Tables in canonical form: the names of columns are those of fields.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Rows of events. Of the rows with the same account and `eventId`, the last one counts.
    pub events: Vec<RecordBatch>,
    /// Rows of spend. Every row counts, even if it equals another one.
    pub spend: Vec<RecordBatch>,
    /// Rows of accounts; each account occurs once.
    pub accounts: Vec<RecordBatch>,
    /// Rows of targets. Of the rows with the same key, the last one counts.
    pub targets: Vec<RecordBatch>,
    /// The approximate number of rows of a row group of events, which holds whole customers; 0 counts as 1. All rows of
    /// spend are in one row group.
    pub row_group_rows: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            spend: Vec::new(),
            accounts: Vec::new(),
            targets: Vec::new(),
            row_group_rows: 65_536,
        }
    }
}

impl Dataset {
    /// Makes a dataset in memory. It has no manifest and no insights.
    ///
    /// # Errors
    /// A table breaks a rule. The error names the column at fault and, if a value is wrong, its row and the value.
    pub fn from_tables(tables: &Tables) -> Result<Self, Error> {
        let accounts = Accounts::from_batches(&tables.accounts)?;
        let events = sorted_events(&tables.events, &accounts)?;
        let schema = events.batch.schema();
        let names = model::extra_columns(&schema).chain([model::EVENT_ID, model::OPPORTUNITY_ID]);
        let columns: Arc<BTreeSet<String>> = Arc::new(names.map(str::to_owned).collect());
        Ok(Self {
            id: DatasetId::in_memory(),
            folder: None,
            opened: SystemTime::now(),
            manifest: None,
            insights: None,
            definitions: Definitions::default(),
            accounts: Arc::new(accounts),
            targets: Arc::new(Targets::from_batches(&tables.targets)?),
            events: event_row_groups(&events, &columns, tables.row_group_rows.max(1))?.into(),
            spend: spend_row_groups(&sorted_spend(&tables.spend)?)?.into(),
            stored_columns: Arc::clone(&columns),
            columns,
            cache: Arc::new(CountedCache::new(0)),
            results: Arc::new(ResultCache::new()),
            has_undescribed: OnceLock::new(),
        })
    }
}

fn sorted_events(batches: &[RecordBatch], accounts: &Accounts) -> Result<model::SortedEvents, TableFault> {
    let mut normalized = Vec::new();
    for batch in batches {
        normalized.push(without_faults(EventNormalizer::new(&batch.schema(), accounts)?.normalize(batch)?)?);
    }
    Ok(model::sort_events(&model::keep_latest(&model::concat_events(&normalized)?)?)?)
}

fn sorted_spend(batches: &[RecordBatch]) -> Result<RecordBatch, TableFault> {
    let mut normalized = Vec::new();
    for batch in batches {
        normalized.push(without_faults(SpendNormalizer::new(&batch.schema())?.normalize(batch)?)?);
    }
    Ok(model::sort_spend(&model::concat_spend(&normalized)?)?)
}

/// Returns the batch, or the first fault of a row.
fn without_faults(normalized: Normalized) -> Result<RecordBatch, TableFault> {
    match normalized.faults.into_iter().next() {
        Some(fault) => Err(TableFault::Row(fault)),
        None => Ok(normalized.batch),
    }
}

fn event_row_groups(
    sorted: &model::SortedEvents,
    columns: &BTreeSet<String>,
    row_group_rows: usize,
) -> Result<Vec<RowGroup<EventColumns>>, Error> {
    let mut projection = EventProjection { totals: true, date_times: true, ..EventProjection::default() };
    // Nothing is decoded later, so that each attribution is made now. Most share the recorded column.
    for name in columns {
        Attribution::ALL.into_iter().for_each(|attribution| projection.add_text(name, attribution.of_column(name)));
    }
    let batch = with_customer_numbers(&sorted.batch, &sorted.customers).map_err(TableFault::from)?;
    let mut row_groups = Vec::new();
    let mut from = 0;
    for to in sorted.customers.iter().skip(1).map(|offset| *offset as usize) {
        if to - from >= row_group_rows || to == batch.num_rows() {
            // Each row group is decoded alone, so that its dictionaries hold only its own texts.
            let rows = batch.slice(from, to - from);
            let columns = EventColumns::decode(&ColumnSource::Batch(&rows), &projection).map_err(unexpected)?;
            row_groups.push(RowGroup::in_memory(entry(&columns.days), columns));
            from = to;
        }
    }
    Ok(row_groups)
}

fn spend_row_groups(batch: &RecordBatch) -> Result<Vec<RowGroup<SpendColumns>>, Error> {
    let columns = SpendColumns::decode(&ColumnSource::Batch(batch), &SpendProjection::all()).map_err(unexpected)?;
    Ok(vec![RowGroup::in_memory(entry(&columns.days), columns)])
}

/// Describes a row group by the days of its rows.
fn entry(days: &[u16]) -> RowGroupEntry {
    let ends = days.iter().min().zip(days.iter().max()).map(|(first, last)| (i32::from(*first), i32::from(*last)));
    RowGroupEntry { rows: days.len() as u64, accounts: None, days: ends }
}

fn unexpected(ColumnFault { column, fault }: ColumnFault) -> Error {
    Error::Unexpected { column, fault }
}

/// Adds the column that numbers the customer of each row. Customer `i` has the rows `customers[i]..customers[i + 1]`.
fn with_customer_numbers(batch: &RecordBatch, customers: &[u32]) -> Result<RecordBatch, ArrowError> {
    let mut numbers = Vec::with_capacity(batch.num_rows());
    for (number, ends) in (0_i32..).zip(customers.windows(2)) {
        numbers.resize(ends[1] as usize, number);
    }
    let mut fields = vec![Field::new(CUSTOMER_COLUMN, DataType::Int32, false)];
    fields.extend(batch.schema().fields().iter().map(|field| field.as_ref().clone()));
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(numbers))];
    arrays.extend(batch.columns().iter().cloned());
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}
