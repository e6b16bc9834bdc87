//! Row groups of a table, read column by column.

use super::column_cache::ColumnCache;
use super::error::DatasetError;
use super::prune::RowGroupBounds;
use super::table_file::TableFile;
use crate::scan::TableColumns;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a table that are read and aggregated together. A row group of events holds whole customers.
#[derive(Debug)]
pub(crate) struct RowGroup<T> {
    pub(crate) rows: u64,
    pub(crate) bounds: RowGroupBounds,
    columns: Columns<T>,
}

/// Where the columns of a row group come from.
#[derive(Debug)]
enum Columns<T> {
    Memory(Arc<T>),
    Stored(StoredRowGroup),
}

/// A row group of a file, and the cache that holds its decoded columns.
#[derive(Debug)]
struct StoredRowGroup {
    file: Arc<TableFile>,
    /// The number of the row group in the file.
    number: usize,
    cache: Arc<ColumnCache>,
    /// The key of the row group in the cache.
    cache_key: usize,
    /// Locked while columns are decoded, so that queries that need the same columns decode them once.
    decoding: Mutex<()>,
}

impl<T: TableColumns> RowGroup<T> {
    /// Makes a row group in memory.
    pub(super) fn in_memory(rows: usize, bounds: RowGroupBounds, columns: T) -> Self {
        Self { rows: rows as u64, bounds, columns: Columns::Memory(Arc::new(columns)) }
    }

    /// Returns the row groups of a file. Their keys in the cache begin with `first_key`.
    pub(super) fn of_file(file: &Arc<TableFile>, cache: &Arc<ColumnCache>, first_key: usize) -> Vec<Self> {
        let row_group = |number| Self {
            rows: file.rows(number),
            bounds: file.bounds(number),
            columns: Columns::Stored(StoredRowGroup {
                file: file.clone(),
                number,
                cache: cache.clone(),
                cache_key: first_key + number,
                decoding: Mutex::new(()),
            }),
        };
        (0..file.row_groups()).map(row_group).collect()
    }

    /// Returns the columns of `projection`, and any others that are held. Decodes the columns that are not held.
    pub(crate) fn read(&self, projection: &T::Projection) -> Result<Arc<T>, DatasetError> {
        match &self.columns {
            Columns::Memory(columns) => Ok(columns.clone()),
            Columns::Stored(row_group) => row_group.read(projection),
        }
    }

    /// Returns whether the columns of `projection` are held.
    pub(crate) fn is_held(&self, projection: &T::Projection) -> bool {
        match &self.columns {
            Columns::Memory(_) => true,
            Columns::Stored(row_group) => row_group.held::<T>(projection).is_some(),
        }
    }

    /// Returns the bytes of the columns of `projection` in the file; 0 in memory.
    pub(crate) fn stored_bytes(&self, projection: &T::Projection) -> u64 {
        match &self.columns {
            Columns::Memory(_) => 0,
            Columns::Stored(row_group) => row_group.file.column_bytes(row_group.number, &T::names(projection, true)),
        }
    }
}

impl StoredRowGroup {
    /// Returns the held columns, if they include `projection`.
    fn held<T: TableColumns>(&self, projection: &T::Projection) -> Option<Arc<T>> {
        self.cache.get(self.cache_key).filter(|columns: &Arc<T>| includes(&**columns, projection))
    }

    fn read<T: TableColumns>(&self, projection: &T::Projection) -> Result<Arc<T>, DatasetError> {
        if let Some(held) = self.held(projection) {
            return Ok(held);
        }
        // A thread that panics while it holds the lock leaves nothing half done, because it puts only complete columns.
        let _decoding = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        let held: Option<Arc<T>> = self.cache.get(self.cache_key);
        let columns = match held {
            Some(held) if includes(&*held, projection) => return Ok(held),
            Some(held) => self.decode(&held.missing(projection), Some(T::clone(&held))),
            None => self.decode(projection, None),
        };
        let columns = Arc::new(columns?);
        self.cache.put(self.cache_key, columns.clone(), columns.bytes());
        Ok(columns)
    }

    fn decode<T: TableColumns>(&self, projection: &T::Projection, held: Option<T>) -> Result<T, DatasetError> {
        let rows = self.file.read(self.number, &T::names(projection, held.is_none()))?;
        let columns = match held {
            Some(held) => held.with(&rows, projection),
            None => T::decode(&rows, projection),
        };
        columns.map_err(|fault| self.file.damaged(self.number, fault))
    }
}

/// Returns whether the columns include `projection`.
fn includes<T: TableColumns>(columns: &T, projection: &T::Projection) -> bool {
    columns.missing(projection) == T::Projection::default()
}
