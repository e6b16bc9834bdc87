//! Which stored events are those of customers to forget.
//!
//! The lists of files and the `key_index` of each file say which row groups may have such customers, and these row
//! groups are read. Accounts and customers are compared as texts, because a customer with the key of another one must
//! not be lost.

use super::event_batch::primitive_column;
use super::key_index::{AccountKeys, KeySet};
use super::touched::{read_index, sets};
use super::zone_changes::texts;
use crate::error::{ErrorContext, ErrorKind};
use crate::left_rows::Superseded;
use crate::read::TableReader;
use crate::source::{ParquetBytes, ParquetFile, RowLocations};
use crate::{Customer, IngestError};
use arrow_array::RecordBatch;
use arrow_array::types::Date32Type;
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_core::dataset::{CheckedFile, Days, DeletionVector};
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID};

/// The customers to forget, by account.
pub(crate) struct Forgotten<'c>(BTreeMap<&'c str, OfAccount<'c>>);

/// The customers of an account, by their ids.
#[derive(Default)]
struct OfAccount<'c> {
    customers: HashMap<&'c str, &'c Customer>,
    keys: Vec<u64>,
}

/// What a stored file has of customers to forget.
pub(crate) struct Held<'c> {
    /// The customers of whom the file has any event, even a superseded one.
    pub(crate) customers: BTreeSet<&'c Customer>,
    /// Those of whom it has events that are not superseded.
    pub(crate) current: BTreeSet<&'c Customer>,
    /// These events.
    pub(crate) vector: DeletionVector,
}

impl<'c> Forgotten<'c> {
    pub(crate) fn new(customers: &'c BTreeSet<Customer>) -> Self {
        let mut accounts: BTreeMap<&str, OfAccount<'_>> = BTreeMap::new();
        for customer in customers {
            let of_account = accounts.entry(&customer.account).or_default();
            of_account.keys.push(AccountKeys::of(&customer.account).customer(&customer.opportunity_id));
            of_account.customers.insert(&customer.opportunity_id, customer);
        }
        Self(accounts)
    }

    /// Finds the events of these customers in a stored file; `None` if it has none.
    pub(crate) fn find(
        &self,
        file: &DataFile,
        superseded: &Superseded,
        dir: &Path,
        reader: &TableReader<'_>,
    ) -> Result<Option<Held<'c>>, IngestError> {
        let mut row_groups: Vec<usize> = (0..file.row_groups.len()).collect();
        row_groups.retain(|number| self.within(&file.row_groups[*number]).next().is_some());
        reader.monitor.check()?;
        if row_groups.is_empty() {
            return Ok(None);
        }
        let path = dir.join(&file.path);
        let checked = CheckedFile::open(dir, file).of_dataset(&path)?.until(reader.monitor.interrupt());
        // A file without an index, which an earlier trueup wrote, may have any customer.
        if let Some(index) = read_index(&checked, &path)? {
            let sets = sets(&index, file, &path)?;
            row_groups.retain(|number| self.may_be_in(&file.row_groups[*number], &sets[*number]));
        }
        if row_groups.is_empty() {
            return Ok(None);
        }
        self.scan((file, checked), row_groups, superseded, &path, reader)
    }

    /// Returns the customers of the accounts that a row group may have.
    fn within<'a>(&'a self, row_group: &'a RowGroupEntry) -> impl Iterator<Item = &'a OfAccount<'c>> {
        let bounds = row_group.accounts.as_ref();
        let is_within = move |account: &str| bounds.is_none_or(|(first, last)| (&**first..=&**last).contains(&account));
        self.0.iter().filter(move |(account, _)| is_within(account)).map(|(_, customers)| customers)
    }

    fn may_be_in(&self, row_group: &RowGroupEntry, stored: &KeySet<'_>) -> bool {
        self.within(row_group).any(|of_account| of_account.keys.iter().any(|key| stored.may_have(*key)))
    }

    /// Reads the accounts, customers and days of some row groups.
    fn scan(
        &self,
        (file, checked): (&DataFile, CheckedFile),
        row_groups: Vec<usize>,
        superseded: &Superseded,
        path: &Path,
        reader: &TableReader<'_>,
    ) -> Result<Option<Held<'c>>, IngestError> {
        let damaged = |fault| ErrorKind::Stored { path: path.to_owned(), source: Box::new(fault) };
        let reads = |name: &str| [ACCOUNT, OPPORTUNITY_ID, DATE].contains(&name);
        let parquet = ParquetFile::open(ParquetBytes::Stored(checked), reader.limits).map_err(damaged)?;
        let mut parquet = parquet.reader(&reads).only(row_groups);
        let superseded = superseded.get(&file.path);
        let (mut customers, mut current) = (BTreeSet::new(), BTreeSet::new());
        let mut scans: BTreeMap<usize, RowGroupScan> = BTreeMap::new();
        while let Some(chunk) = parquet.next().map_err(damaged)? {
            reader.monitor.check()?;
            for decoded in chunk.decode().map_err(damaged)? {
                let RowLocations::Rows { row_group, first, .. } = decoded.locations else { continue };
                let left = || superseded.and_then(|vector| vector.left_ranges(&file.row_groups, row_group));
                let scan = scans.entry(row_group).or_insert_with(|| RowGroupScan::new(left()));
                scan.add(self, &decoded.batch, first, (&mut customers, &mut current)).doing("read stored events")?;
            }
        }
        let mut vector = DeletionVector::default();
        for (number, scan) in scans.into_iter().filter(|(_, scan)| !scan.forgotten.is_empty()) {
            let rows = scan.forgotten.into_iter().map(|rows| rows.start as u64..rows.end as u64);
            vector.supersede(file, number, rows, scan.left_days);
        }
        Ok((!customers.is_empty()).then_some(Held { customers, current, vector }))
    }
}

/// The rows of a row group, while they are read.
struct RowGroupScan {
    /// The rows that the file has left; `None` if all are.
    left: Option<Vec<Range<usize>>>,
    /// Those of them that are forgotten: ascending, and neither empty nor adjacent.
    forgotten: Vec<Range<usize>>,
    /// The days of the others.
    left_days: Days,
}

impl RowGroupScan {
    fn new(left: Option<Vec<Range<usize>>>) -> Self {
        Self { left, forgotten: Vec::new(), left_days: None }
    }

    /// Adds the next rows; `first` is the number of the first in the row group. Adds customers to forget of whom there
    /// is a row, and those of whom there is one that the file has left.
    fn add<'c>(
        &mut self,
        forgotten: &Forgotten<'c>,
        batch: &RecordBatch,
        first: usize,
        (found, current): (&mut BTreeSet<&'c Customer>, &mut BTreeSet<&'c Customer>),
    ) -> Result<(), ArrowError> {
        let (accounts, customers) = (texts(batch, ACCOUNT)?, texts(batch, OPPORTUNITY_ID)?);
        let dates = primitive_column::<Date32Type>(batch, DATE)?;
        for at in 0..batch.num_rows() {
            let of_account = forgotten.0.get(accounts.value(at));
            let customer = of_account.and_then(|of_account| of_account.customers.get(customers.value(at)).copied());
            found.extend(customer);
            let (row, day) = (first + at, dates.value(at));
            if !self.is_left(row) {
                continue;
            }
            current.extend(customer);
            match self.forgotten.last_mut() {
                _ if customer.is_none() => {
                    self.left_days =
                        Some(self.left_days.map_or((day, day), |(one, last)| (one.min(day), last.max(day))));
                }
                Some(last) if last.end == row => last.end = row + 1,
                _ => self.forgotten.push(row..row + 1),
            }
        }
        Ok(())
    }

    fn is_left(&self, row: usize) -> bool {
        let Some(left) = &self.left else { return true };
        left.get(left.partition_point(|rows| rows.end <= row)).is_some_and(|rows| rows.start <= row)
    }
}
