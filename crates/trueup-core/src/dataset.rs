//! The files of a dataset: opened, checked, pruned, and read column by column.
//!
//! In call order:
//!
//! - `manifest`, `file_list`, `deletion_vector`, `manifest_file`: the manifest, the lists of files and the superseded
//!   rows that it names, and all of them in the folder of a dataset
//! - `batch_list`: what was ingested, in lists that the manifest names
//! - `commit`, `as_of`: when and by what a version was made, and the version that a number or a time means
//! - `open`: a dataset from its folder, from a version of it that is open, or from tables in memory
//! - `decode_ahead`: what is decoded when a dataset is reopened
//! - `id`: the identity of a version, by which processes know that they read the same one
//! - `row_group`: the columns of a row group, decoded once for all versions that share them, and `counted_cache`, which
//!   holds them
//! - `result_cache`: results of earlier queries, kept for later ones
//! - `table_file`: a Parquet file: its footer, which is read when the file is first needed, the bounds by
//!   which a query skips a row group, and the column chunks of a row group
//! - `event_file`: some rows of a file of events, for an ingest
//! - `checked_file`, `block_checksums`: bytes of a plain file or of an object in a store, compared with their
//!   checksums
//! - `read_ahead`: the next row groups of a store, read while others are decoded
//! - `insights`: the documents of the insights file
//! - `seal`: the checksum at the end of a manifest
//! - `storage`: the operations on a folder or a store by which versions appear and disappear
//! - `version_numbers`, `tombstone`: which numbers of versions are taken, and what has the name of an expired manifest
//! - `expiry`: versions that expire, and the removal of files that no version names any more
//! - `condition`: what the operator of a service needs to know about an open dataset
//! - `version_summary`: all versions, and how many bytes each takes
//! - `verify`: a check of every file
//! - `error`: why a dataset or its manifest cannot be read
//!
//! `trueup_parquet` decodes footers and column chunks. These go to `scan`, which makes typed columns of them.

mod as_of;
mod batch_list;
mod block_checksums;
mod checked_file;
mod commit;
mod condition;
mod counted_cache;
mod decode_ahead;
mod deletion_vector;
pub(crate) mod error;
mod event_file;
pub mod expiry;
mod file_list;
mod forgotten;
mod id;
mod insights;
pub mod manifest;
pub mod manifest_file;
mod open;
mod protocol;
mod read_ahead;
mod result_cache;
mod row_group;
mod seal;
mod storage;
mod table_file;
#[cfg(test)]
mod tests;
mod tombstone;
mod verify;
mod version_numbers;
mod version_summary;

pub use as_of::{AsOf, InvalidAsOf, version_ranges};
pub use batch_list::{Batch, ReadFile, Reading, encode_batches, read_batch_list};
pub use block_checksums::{BlockHasher, BlockSums};
pub use checked_file::{CheckedFile, CheckedReader};
pub use commit::{Commit, CommitOperation, CommitTime};
pub use counted_cache::ColumnCacheCounts;
pub use deletion_vector::{Days, DeletionVector, encode_vectors, read_vector_file};
pub use error::DatasetError;
pub use event_file::{EventFile, EventRowGroup};
pub use file_list::{encode_list, read_list};
pub use forgotten::{FORGOTTEN_KEY_BYTES, ForgottenCustomers, read_forgotten};
pub use insights::{Insight, InsightLine, InsightLineFault, Insights};
pub use open::{Tables, read_definitions, read_held, read_mapping};
pub use protocol::{
    ControlTotals, ConvertedAmounts, InputProtocol, ProtocolReport, ReplacedRows, SkippedLines, TableProtocol,
};
pub use result_cache::ResultCacheCounts;
pub use table_file::describe_row_group;
pub use verify::Verification;
pub use version_summary::VersionSummary;

#[cfg(feature = "object-store")]
pub use trueup_store::{BlockCache, RemoteStore, set_block_cache};
pub use trueup_store::{
    Entry, PositionedReader, RemoteFile, RemoteFiles, RemoteReader, Store, is_url, location_of, open_store,
    without_credentials,
};

pub(crate) use checked_file::StartedReads;
pub(crate) use id::DatasetId;
pub(crate) use read_ahead::ReadAhead;
pub(crate) use result_cache::{ResultCache, ResultKey, ResultOrigin};
pub(crate) use row_group::{RowGroup, RowGroupRows, SupersededRows};
pub(crate) use table_file::{Pruning, TableFile};

use crate::definitions::{DefinitionError, Definitions};
use crate::dictionary;
use crate::model::{Accounts, Targets};
use crate::query::{AccountFilter, AggregatedQuery, DateRange, EventsQuery};
use crate::scan::{EventColumns, EventProjection, SpendColumns, SpendProjection};
use crate::{Day, Error, Interrupt, MemoryBudget, QueryError, UnknownField};
use counted_cache::CountedCache;
use insights::InsightFile;
use manifest::{MAPPING_FOLDER, Manifest, RowGroupEntry};
use row_group::read_each;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Events, spend, accounts, insights and targets, ready for queries. A dataset never changes, and threads can share it.
///
/// [`Dataset::open`] opens the newest version in a folder, [`Dataset::from_tables`] makes a dataset in memory, and
/// [`Dataset::query`] answers a query. Clones share what they have in memory.
#[derive(Clone, Debug)]
pub struct Dataset {
    id: DatasetId,
    /// The folder or URL of the dataset; `None` in memory.
    folder: Option<PathBuf>,
    opened: SystemTime,
    /// The manifest of the open version; `None` in memory.
    manifest: Option<Arc<Manifest>>,
    accounts: Arc<Accounts>,
    definitions: Definitions,
    /// The names of the text columns of events, except for `account` and `type`.
    stored_columns: Arc<BTreeSet<String>>,
    /// The columns that queries may name; `stored_columns`, unless it is
    /// [for somebody who sees only some accounts](Self::with_columns).
    columns: Arc<BTreeSet<String>>,
    events: Arc<[RowGroup<EventColumns>]>,
    spend: Arc<[RowGroup<SpendColumns>]>,
    insights: Option<Arc<InsightFile>>,
    targets: Arc<Targets>,
    cache: Arc<CountedCache>,
    results: Arc<ResultCache>,
    /// Whether an account has rows of events or spend, and none in the account table; empty before it is needed.
    has_undescribed: OnceLock<bool>,
}

impl Dataset {
    /// Reads what the version was made from: the batches of all its ingests, the oldest first; none in memory.
    ///
    /// # Errors
    /// A list of batches is missing, unreadable or damaged.
    pub fn batches(&self) -> Result<Vec<Batch>, Error> {
        match (&self.folder, &self.manifest) {
            (Some(folder), Some(manifest)) => Ok(manifest.read_batches(folder)?),
            _ => Ok(Vec::new()),
        }
    }

    /// Reads the mapping that later ingests use, in TOML; `None` if there is none.
    ///
    /// # Errors
    /// The file is missing, unreadable or damaged.
    pub fn mapping(&self) -> Result<Option<String>, Error> {
        let stored =
            self.folder.as_ref().zip(self.manifest.as_ref().and_then(|manifest| manifest.named(MAPPING_FOLDER)));
        Ok(stored.map(|(folder, file)| read_mapping(folder, file)).transpose()?)
    }

    /// Returns the manifest of the version that was opened; `None` in memory.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_deref()
    }

    /// Returns the identity of the version.
    pub(crate) const fn id(&self) -> &DatasetId {
        &self.id
    }

    /// Returns the account table. An account that occurs only in events or spend is not in it, and has the defaults.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Returns the targets.
    #[must_use]
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    pub(crate) const fn shared_targets(&self) -> &Arc<Targets> {
        &self.targets
    }

    /// Returns every account that has a row in the tables of events, spend or accounts.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn account_keys(&self) -> Result<BTreeSet<String>, DatasetError> {
        let mut keys: BTreeSet<String> = self.accounts.iter().map(|account| account.key.clone()).collect();
        self.each_account(
            |_| true,
            |key| {
                if !keys.contains(key) {
                    keys.insert(key.to_owned());
                }
            },
        )?;
        Ok(keys)
    }

    /// Returns the accounts of `keys` that have no row in the tables of events, spend or accounts. Reads only row
    /// groups that may hold one of them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn missing_accounts<'k>(&self, keys: &'k [String]) -> Result<Vec<&'k str>, DatasetError> {
        let unlisted = keys.iter().filter(|key| self.accounts.get(key).is_none());
        let mut missing: BTreeSet<String> = unlisted.cloned().collect();
        if !missing.is_empty() {
            let accounts = AccountFilter::Only(missing.clone());
            self.each_account(|entry| !entry.excludes(&accounts), |key| drop(missing.take(key)))?;
        }
        Ok(keys.iter().map(String::as_str).filter(|key| missing.contains(*key)).collect())
    }

    /// Returns whether an account among `accounts` has a row in the tables of events or spend, and none in the account
    /// table.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn has_undescribed(&self, accounts: &AccountFilter) -> Result<bool, DatasetError> {
        let is_described = |key: &str| self.accounts.get(key).is_some();
        if let AccountFilter::Only(keys) = accounts {
            let keys: Vec<String> = keys.iter().filter(|key| !is_described(key)).cloned().collect();
            return Ok(self.missing_accounts(&keys)?.len() < keys.len());
        }
        if let Some(known) = self.has_undescribed.get() {
            return Ok(*known);
        }
        // Bounds are cut only where they differ, so that equal ones are the key of the only account.
        let is_read = |entry: &RowGroupEntry| match &entry.accounts {
            Some((first, last)) => first != last || !is_described(first),
            None => true,
        };
        let mut found = false;
        self.each_account(is_read, |key| found |= !is_described(key))?;
        Ok(*self.has_undescribed.get_or_init(|| found))
    }

    /// Calls `pass` with each account of the row groups of events and spend for which `is_read` holds. An account may
    /// come several times.
    fn each_account(
        &self,
        is_read: impl Fn(&RowGroupEntry) -> bool,
        mut pass: impl FnMut(&str),
    ) -> Result<(), DatasetError> {
        let projection = EventProjection::default();
        for columns in read_each(self.events.iter().filter(|events| is_read(&events.entry)), &projection) {
            columns?.present_accounts().for_each(&mut pass);
        }
        let projection = SpendProjection::default();
        for columns in read_each(self.spend.iter().filter(|spend| is_read(&spend.entry)), &projection) {
            let columns = columns?;
            // The empty text is always there, and is no account.
            columns.present_texts(&columns.accounts).filter(|key| !key.is_empty()).for_each(&mut pass);
        }
        Ok(())
    }

    /// Returns the names of the text columns of events, except for `account` and `type`; each is a dimension. The
    /// columns that only some of the event files have are included. Of a dataset
    /// [with other columns](Self::with_columns), returns these.
    #[must_use]
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.columns
    }

    /// Returns the columns that events have, whoever may name them.
    pub(crate) fn stored_columns(&self) -> &BTreeSet<String> {
        &self.stored_columns
    }

    /// Returns the same dataset for somebody who may name no other columns than these, as if there were no others. What
    /// is stored, read and kept in memory stays as it is.
    ///
    /// ```
    /// # use std::collections::BTreeSet;
    /// # use trueup_core::dataset::{Dataset, Tables};
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// assert!(!dataset.has_field("crew"));
    /// assert!(dataset.with_columns(BTreeSet::from(["crew".to_owned()])).has_field("crew"));
    /// # Ok::<(), trueup_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_columns(self, columns: impl Into<Arc<BTreeSet<String>>>) -> Self {
        Self { columns: columns.into(), ..self }
    }

    /// Checks the names of a query's fields and filters, unless the query
    /// [allows unknown names](EventsQuery::allow_unknown). A query is checked when it runs. A program that reads
    /// filters from text checks the query before it reads them, because unknown fields are reported before faults of
    /// filters.
    ///
    /// # Errors
    /// Returns [`QueryError::UnknownFields`] with every name that neither the dictionary nor this dataset knows.
    pub fn check_names(&self, query: &EventsQuery) -> Result<(), QueryError> {
        self.own_query(query).check_names(&self.columns)
    }

    /// Returns the metrics and dimensions that the dataset defines; none unless somebody has defined some.
    #[must_use]
    pub const fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Returns the same dataset with other definitions, in place of its own. What is stored stays as it is.
    ///
    /// # Errors
    /// A definition has the name of a column, or is derived from a dimension that is unknown.
    pub fn with_definitions(self, definitions: Definitions) -> Result<Self, DefinitionError> {
        definitions.check_columns(&self.stored_columns)?;
        Ok(self.redefined(definitions))
    }

    /// Returns the same dataset with the definitions of a later version of it, in place of its own. A dimension that is
    /// derived from a column which only the later version has is derived from an empty text.
    ///
    /// # Errors
    /// A definition has the name of a column.
    pub fn with_definitions_of(self, later: &Self) -> Result<Self, DefinitionError> {
        later.definitions.check_columns(&self.stored_columns.union(&later.stored_columns).cloned().collect())?;
        Ok(self.redefined(later.definitions.clone()))
    }

    /// Returns the same dataset with definitions that suit its columns.
    fn redefined(mut self, definitions: Definitions) -> Self {
        self.id = self.id.with_definitions(definitions.text());
        self.definitions = definitions;
        self
    }

    /// Returns the query with the definitions of this dataset.
    pub(crate) fn own_query<'q>(&self, query: &'q EventsQuery) -> Cow<'q, EventsQuery> {
        if query.definitions == self.definitions {
            Cow::Borrowed(query)
        } else {
            Cow::Owned(query.clone().definitions(&self.definitions))
        }
    }

    /// Returns whether a name is that of a metric: of the dictionary, or one that the dataset defines.
    #[must_use]
    pub fn is_metric(&self, name: &str) -> bool {
        dictionary::metric(name).is_some() || self.definitions.metric(name).is_some()
    }

    /// Returns whether the dictionary, the definitions or the columns have a field of this name.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        dictionary::field(name).is_some() || self.definitions.has(name) || self.columns.contains(name)
    }

    /// Returns the fields that are most similar to a name: of the dictionary, the definitions and the columns.
    #[must_use]
    pub fn similar_names(&self, name: &str) -> Vec<String> {
        self.definitions.similar_names(name, &self.columns)
    }

    /// Returns names that are unknown, such as the [unknown fields](crate::ResultTable::unknown_fields) of an answer,
    /// the first ten of them with similar names.
    #[must_use]
    pub fn unknown<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<UnknownField> {
        UnknownField::with_similar(names, |name| self.similar_names(name))
    }

    /// Returns the number of events.
    #[must_use]
    pub fn event_rows(&self) -> u64 {
        self.events.iter().map(RowGroup::rows).sum()
    }

    /// Returns the number of spend rows.
    #[must_use]
    pub fn spend_rows(&self) -> u64 {
        self.spend.iter().map(RowGroup::rows).sum()
    }

    /// Returns the number of row groups of events.
    #[must_use]
    pub fn event_row_groups(&self) -> usize {
        self.events.len()
    }

    /// Returns the first and the last day of any event or spend row, by the statistics of the row groups; `None` if
    /// there are no rows or no statistics. Row groups without statistics are left out. The day of an event is the one
    /// in the time zone of its account.
    #[must_use]
    pub fn date_range(&self) -> Option<DateRange> {
        self.days_by_statistics(&AccountFilter::All, true)
    }

    /// Returns the first and the last day of the row groups that have rows of these accounts alone, as
    /// [`date_range`](Self::date_range); of events, and of spend if `counts_spend` is set.
    pub(crate) fn days_by_statistics(&self, accounts: &AccountFilter, counts_spend: bool) -> Option<DateRange> {
        let spend = self.spend.iter().filter(|_| counts_spend).map(|spend| &spend.entry);
        let entries = self.events.iter().map(|events| &events.entry).chain(spend);
        let days = entries
            .filter(|entry| entry.is_within(accounts))
            .filter_map(|entry| entry.days)
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let day = |number| u16::try_from(number).ok().map(Day::from_number);
        Some(DateRange { start: day(days.0)?, end: day(days.1)? })
    }

    /// Returns a day that no event is after, by the statistics of the row groups.
    pub(crate) fn last_event_bound(&self) -> Day {
        let lasts = self.events.iter().map(|row_group| row_group.entry.last_day());
        lasts.max().unwrap_or(Day::MIN)
    }

    /// Reads the footers of all files now, and not each when its file is first needed. A service does so before it
    /// answers from a version, so that a file which is missing or damaged is noticed before a request needs the file.
    ///
    /// # Errors
    /// A file is missing, has another length or another footer than the manifest says, or cannot be read; or the
    /// interrupt ends the reading.
    pub fn read_footers(&self, interrupt: &Interrupt) -> Result<(), Error> {
        let spend = self.spend.iter().filter_map(RowGroup::file);
        Ok(TableFile::read_footers(self.events.iter().filter_map(RowGroup::file).chain(spend), interrupt)?)
    }

    /// Sets the most bytes of decoded columns that are held for later queries, 1 GiB by default. The columns that have
    /// not been read for the longest time are dropped first; 0 holds none. A dataset in memory ignores the budget.
    ///
    /// ```
    /// # use trueup_core::dataset::{Dataset, Tables};
    /// # let dataset = Dataset::from_tables(&Tables::default())?;
    /// let dataset = dataset.with_column_budget(256 << 20);
    /// assert_eq!(dataset.held_column_bytes(), 0);
    /// # Ok::<(), trueup_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_column_budget(self, bytes: usize) -> Self {
        self.cache.set_budget(bytes);
        self
    }

    /// Sets the most bytes of results that are kept for later queries; 0, the default, keeps none. The results that
    /// have not been used for the longest time are dropped first.
    ///
    /// What is kept are the groups of a range with their counts and sums, before metrics are computed, conditions on
    /// metrics are applied, and rows are sorted. A query over the same rows that groups and counts the same reads no
    /// row. After [`reopen`](Self::reopen), a query reads only rows that were added or superseded since, unless it
    /// counts distinct agents or files were written again. Answers are the same with any budget. Splits neither use nor
    /// keep results.
    ///
    /// ```
    /// # use trueup_core::dataset::{Dataset, Tables};
    /// # use trueup_core::query::EventsQuery;
    /// # let dataset = Dataset::from_tables(&Tables::default())?;
    /// let dataset = dataset.with_result_budget(64 << 20);
    /// let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// assert_eq!(dataset.query(&query)?, dataset.query(&query)?);
    /// assert_eq!(dataset.result_cache_counts().reused, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_result_budget(self, bytes: usize) -> Self {
        self.results.set_budget(bytes);
        self
    }

    /// Counts decoded columns and kept results against a budget that queries and answers share, in addition to the
    /// budgets [of columns](Self::with_column_budget) and [of results](Self::with_result_budget). They are dropped when
    /// a query or an answer needs their memory.
    pub fn count_columns_against(&self, memory: &MemoryBudget) {
        self.cache.count_against(memory);
        self.results.count_against(memory);
    }

    /// Returns the bytes of the results that are kept.
    #[must_use]
    pub fn held_result_bytes(&self) -> usize {
        self.results.bytes()
    }

    /// Returns the bytes of the held columns, including the texts of events. The texts of spend and the keys of
    /// accounts are few, and are not counted.
    #[must_use]
    pub fn held_column_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Returns the results of earlier queries.
    pub(crate) fn results(&self) -> &ResultCache {
        &self.results
    }

    /// Returns the key of the result of a query. `last_event` is the last day of the events, if the query depends on
    /// it.
    pub(crate) fn result_key(&self, query: &Arc<AggregatedQuery>, last_event: Option<Day>) -> ResultKey {
        ResultKey {
            query: query.clone(),
            columns: self.stored_columns.clone(),
            accounts: Arc::downgrade(&self.accounts),
            last_event,
        }
    }

    /// Returns the row groups of events, in order.
    pub(crate) fn events(&self) -> &[RowGroup<EventColumns>] {
        &self.events
    }

    /// Returns the row groups of spend, in order.
    pub(crate) fn spend(&self) -> &[RowGroup<SpendColumns>] {
        &self.spend
    }
}
