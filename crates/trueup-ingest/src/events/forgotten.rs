//! Which stored events are those of customers to forget.
//!
//! The lists of files and the `key_index` of each file say which rows may be of such customers, and these rows are
//! read. Accounts and customers are compared as texts, because a customer with the key of another one must not be lost.
//!
//! Of customers who were forgotten before, only hashes are known. To find their events, the customers of all rows are
//! read.

use super::key_index::{AccountKeys, FoundRows, KeyIndex, Lookup, Prefix, may_have_account};
use super::touched::text;
use crate::error::ErrorContext;
use crate::live_rows::{LeftCursor, LeftInRowGroup, Superseded};
use crate::monitor::Monitor;
use crate::read::TableReader;
use crate::{Customer, IngestError};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_core::dataset::{CheckedFile, DatasetError, DeletionVector, EventFile, EventRowGroup, ForgottenCustomers};
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID};

/// The columns that say whose an event is, and of which day.
const READ: [&str; 3] = [ACCOUNT, OPPORTUNITY_ID, DATE];

/// The customers to forget, by account.
pub(crate) struct Forgotten<'c>(BTreeMap<&'c str, OfAccount<'c>>);

/// The customers of an account, by their ids.
#[derive(Default)]
struct OfAccount<'c> {
    customers: HashMap<&'c str, &'c Customer>,
    keys: Vec<(Prefix, u64)>,
}

/// What a stored file has of customers to forget.
#[derive(Default)]
pub(crate) struct ForgottenRows<'c> {
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
            let id = customer.opportunity_id.as_bytes();
            of_account.keys.push((Prefix::of(id), AccountKeys::of(&customer.account).customer(id)));
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
    ) -> Result<Option<ForgottenRows<'c>>, IngestError> {
        reader.monitor.check()?;
        if file.row_groups.iter().all(|entry| self.may_be_in(entry).next().is_none()) {
            return Ok(None);
        }
        let path = dir.join(&file.path);
        let checked = CheckedFile::open(dir, file).of_dataset(&path)?.until(reader.monitor.interrupt());
        let found = match KeyIndex::open(file, &checked, &path)? {
            Some(index) => index.find(|entry, customers, _| {
                let keys = self.may_be_in(entry).flat_map(|of_account| &of_account.keys);
                let within = keys.filter(|(prefix, _)| customers.contains(*prefix));
                Lookup { customers: within.map(|(_, key)| *key).collect(), ..Lookup::default() }
            })?,
            // A file without an index, which an earlier trueup wrote, may have any customer.
            None => {
                let with_accounts =
                    file.row_groups.iter().enumerate().filter(|(_, entry)| self.may_be_in(entry).next().is_some());
                with_accounts.map(|(number, entry)| FoundRows::all(number, entry)).collect()
            }
        };
        if found.is_empty() { Ok(None) } else { self.scan(file, found, superseded, dir, reader) }
    }

    /// Returns what is to be forgotten of the accounts that a row group may have.
    fn may_be_in(&self, entry: &RowGroupEntry) -> impl Iterator<Item = &OfAccount<'c>> {
        let accounts = self.0.iter().filter(move |(account, _)| may_have_account(entry, account));
        accounts.map(|(_, of_account)| of_account)
    }

    /// Reads the accounts, customers and days of some rows.
    fn scan(
        &self,
        file: &DataFile,
        found: Vec<FoundRows>,
        superseded: &Superseded,
        dir: &Path,
        reader: &TableReader<'_>,
    ) -> Result<Option<ForgottenRows<'c>>, IngestError> {
        let path = dir.join(&file.path);
        let row_groups = found.iter().map(|found| found.row_group).collect();
        let opened = EventFile::open(dir, file, row_groups, reader.monitor.interrupt()).of_dataset(&path)?;
        let mut held = ForgottenRows::default();
        for FoundRows { row_group: number, rows, .. } in found {
            reader.monitor.check()?;
            let row_group = opened.row_group(number, Some(&READ), rows).of_dataset(&path)?;
            let left = LeftInRowGroup::new(file, number, superseded);
            let forgotten = self.scan_rows(&row_group, left.cursor(), &mut held).of_dataset(&path)?;
            leave_out(&mut held.vector, (file, number), forgotten, left, &row_group).of_dataset(&path)?;
        }
        Ok((!held.customers.is_empty()).then_some(held))
    }

    /// Adds the customers to forget of whom a row group has a row, and those of whom it has one that is left. Returns
    /// the rows that are left of these customers.
    fn scan_rows(
        &self,
        row_group: &EventRowGroup<'_>,
        mut left: LeftCursor,
        held: &mut ForgottenRows<'c>,
    ) -> Result<Vec<Range<usize>>, DatasetError> {
        let (accounts, customers) = (row_group.texts(ACCOUNT)?, row_group.texts(OPPORTUNITY_ID)?);
        let mut forgotten = Vec::new();
        for row in row_group.rows().iter().cloned().flatten() {
            let of_account = accounts.get(row).and_then(text).and_then(|account| self.0.get(account));
            let customer = customers.get(row).and_then(text).zip(of_account);
            let Some(customer) = customer.and_then(|(id, of_account)| of_account.customers.get(id).copied()) else {
                continue;
            };
            held.customers.insert(customer);
            if !left.has(row) {
                continue;
            }
            held.current.insert(customer);
            forgotten.push(row);
        }
        Ok(ranges_of(forgotten.into_iter()))
    }
}

/// Returns the events of forgotten customers that a stored file has left.
pub(crate) fn forgotten_rows(
    file: &DataFile,
    superseded: &Superseded,
    forgotten: &ForgottenCustomers,
    dir: &Path,
    monitor: &Monitor,
) -> Result<DeletionVector, IngestError> {
    let (path, mut found) = (dir.join(&file.path), DeletionVector::default());
    let opened = EventFile::open(dir, file, (0..file.row_groups.len()).collect(), monitor.interrupt());
    let opened = opened.of_dataset(&path)?;
    for (number, entry) in file.row_groups.iter().enumerate() {
        monitor.check()?;
        let row_group = opened.row_group(number, Some(&READ), FoundRows::all(number, entry).rows).of_dataset(&path)?;
        let texts = |name: &str| row_group.texts(name).of_dataset(&path);
        let (accounts, customers) = (texts(ACCOUNT)?, texts(OPPORTUNITY_ID)?);
        let left = LeftInRowGroup::new(file, number, superseded);
        // The events of a customer follow each other.
        let (mut cursor, mut last) = (left.cursor(), (None, false));
        let is_forgotten = |row: &usize| {
            let customer = accounts.get(*row).and_then(text).zip(customers.get(*row).and_then(text));
            if last.0 != customer {
                last = (customer, customer.is_some_and(|(account, id)| forgotten.until(account, id).is_some()));
            }
            last.1 && cursor.has(*row)
        };
        let gone = ranges_of(row_group.rows().iter().cloned().flatten().filter(is_forgotten));
        leave_out(&mut found, (file, number), gone, left, &row_group).of_dataset(&path)?;
    }
    Ok(found)
}

/// Adds rows that a row group has left to a vector.
fn leave_out(
    vector: &mut DeletionVector,
    (file, number): (&DataFile, usize),
    rows: Vec<Range<usize>>,
    left: LeftInRowGroup,
    row_group: &EventRowGroup<'_>,
) -> Result<(), DatasetError> {
    if !rows.is_empty() {
        let left_days = left.days_without(&rows, row_group)?;
        vector.supersede(file, number, rows.into_iter().map(|rows| rows.start as u64..rows.end as u64), left_days);
    }
    Ok(())
}

/// Returns the ranges of some rows, which ascend.
fn ranges_of(rows: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(last) if last.end == row => last.end = row + 1,
            _ => ranges.push(row..row + 1),
        }
    }
    ranges
}
