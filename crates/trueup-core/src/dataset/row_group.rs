//! Parts of a table, read column by column.

use super::cache::ColumnCache;
use super::file::TableFile;
use super::{Bounds, Dataset};
use crate::MemoryBudget;
use crate::error::DatasetError;
use crate::scan::TableColumns;
use std::sync::{Arc, Mutex, PoisonError};

/// A part of a table that is read and aggregated on its own: of events, whole customers.
#[derive(Debug)]
pub(crate) struct RowGroup<T> {
    pub(crate) rows: u64,
    pub(crate) bounds: Bounds,
    source: Columns<T>,
}

#[derive(Debug)]
enum Columns<T> {
    Memory(Arc<T>),
    StoredRowGroup(StoredRowGroup),
}

/// A row group of a file, and where its columns are held once they are decoded.
#[derive(Debug)]
struct StoredRowGroup {
    file: Arc<TableFile>,
    number: usize,
    cache: Arc<ColumnCache>,
    /// The number of the part among those of all tables.
    part: usize,
    /// Held while columns are decoded, so that queries that need the same ones decode them once.
    decoding: Mutex<()>,
}

impl<T: TableColumns> RowGroup<T> {
    /// A part in memory.
    pub(super) fn in_memory(rows: usize, bounds: Bounds, columns: T) -> Self {
        Self { rows: rows as u64, bounds, source: Columns::Memory(Arc::new(columns)) }
    }

    /// The row groups of a file; the first of them is the part `first` of all tables.
    pub(super) fn of_file(file: &Arc<TableFile>, cache: &Arc<ColumnCache>, first: usize) -> Vec<Self> {
        let part = |number| Self {
            rows: file.rows(number),
            bounds: file.bounds(number),
            source: Columns::StoredRowGroup(StoredRowGroup {
                file: file.clone(),
                number,
                cache: cache.clone(),
                part: first + number,
                decoding: Mutex::new(()),
            }),
        };
        (0..file.row_groups()).map(part).collect()
    }

    /// The columns of `projection`, at least.
    pub(crate) fn read(&self, projection: &T::Projection) -> Result<Arc<T>, DatasetError> {
        match &self.source {
            Columns::Memory(columns) => Ok(columns.clone()),
            Columns::StoredRowGroup(row_group) => row_group.read(projection),
        }
    }

    /// Whether the columns of `projection` are decoded.
    pub(crate) fn is_held(&self, projection: &T::Projection) -> bool {
        match &self.source {
            Columns::Memory(_) => true,
            Columns::StoredRowGroup(row_group) => row_group.held::<T>(projection).is_some(),
        }
    }

    /// The bytes that the columns of `projection` take in the file.
    pub(crate) fn stored_bytes(&self, projection: &T::Projection) -> u64 {
        match &self.source {
            Columns::Memory(_) => 0,
            Columns::StoredRowGroup(row_group) => {
                row_group.file.column_bytes(row_group.number, &T::names(projection, true))
            }
        }
    }
}

impl StoredRowGroup {
    /// The columns that are decoded, if they are all of `projection`.
    fn held<T: TableColumns>(&self, projection: &T::Projection) -> Option<Arc<T>> {
        self.cache.get(self.part).filter(|columns: &Arc<T>| is_whole(&**columns, projection))
    }

    fn read<T: TableColumns>(&self, projection: &T::Projection) -> Result<Arc<T>, DatasetError> {
        if let Some(held) = self.held(projection) {
            return Ok(held);
        }
        // What is held is whole at any time, whatever became of the thread that held the lock.
        let _decoding = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        let held: Option<Arc<T>> = self.cache.get(self.part);
        let columns = match held {
            Some(held) if is_whole(&*held, projection) => return Ok(held),
            Some(held) => self.decode(&held.missing(projection), Some(T::clone(&held))),
            None => self.decode(projection, None),
        };
        let columns = Arc::new(columns?);
        self.cache.put(self.part, columns.clone(), columns.bytes());
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

/// Whether columns are all of `projection`.
fn is_whole<T: TableColumns>(columns: &T, projection: &T::Projection) -> bool {
    columns.missing(projection) == T::Projection::default()
}

impl Dataset {
    /// The bytes that decoded columns may take together, 1 GiB unless it is set; what was read longest ago is dropped first. They are held
    /// so that the next query need not decode them again, and 0 holds none. A dataset in memory is not under it.
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

    /// Counts decoded columns against a budget that queries and answers share, besides the one of their own: they are dropped when
    /// something else needs their place.
    pub fn count_columns_against(&self, memory: &MemoryBudget) {
        self.cache.count_against(memory);
    }

    /// The bytes that decoded columns take, texts included.
    #[must_use]
    pub fn held_column_bytes(&self) -> usize {
        self.cache.bytes()
    }
}
