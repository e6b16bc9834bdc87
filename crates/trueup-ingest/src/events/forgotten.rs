//! Which stored events are those of customers to forget.
//!
//! The lists of files and the `key_index` of each file say which row groups may have such customers, and these row
//! groups are read. Accounts and customers are compared as texts, because a customer with the key of another one must
//! not be lost.

use super::key_index::{AccountKeys, KeySet};
use super::touched::{read_index, sets};
use crate::error::ErrorContext;
use crate::left_rows::{LeftCursor, Superseded, either};
use crate::read::TableReader;
use crate::{Customer, IngestError};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_core::dataset::{CheckedFile, DatasetError, Days, DeletionVector, EventFile, EventRowGroup};
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
#[derive(Default)]
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
        self.scan(file, row_groups, superseded, dir, reader)
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
        file: &DataFile,
        row_groups: Vec<usize>,
        superseded: &Superseded,
        dir: &Path,
        reader: &TableReader<'_>,
    ) -> Result<Option<Held<'c>>, IngestError> {
        const READ: [&str; 3] = [ACCOUNT, OPPORTUNITY_ID, DATE];

        let path = dir.join(&file.path);
        let opened = EventFile::open(dir, file, reader.monitor.interrupt()).of_dataset(&path)?;
        let superseded = superseded.get(&file.path);
        let mut held = Held::default();
        for number in row_groups {
            reader.monitor.check()?;
            let row_group = opened.row_group(number, Some(&READ)).of_dataset(&path)?;
            let left = superseded.and_then(|vector| vector.left_ranges(&file.row_groups, number));
            let (forgotten, left_days) =
                self.scan_rows(&row_group, LeftCursor::new(left), &mut held).of_dataset(&path)?;
            if !forgotten.is_empty() {
                let rows = forgotten.into_iter().map(|rows| rows.start as u64..rows.end as u64);
                held.vector.supersede(file, number, rows, left_days);
            }
        }
        Ok((!held.customers.is_empty()).then_some(held))
    }

    /// Adds the customers to forget of whom a row group has a row, and those of whom it has one that is left. Returns
    /// the rows that are left of these customers, and the days of the others.
    fn scan_rows(
        &self,
        row_group: &EventRowGroup<'_>,
        mut left: LeftCursor,
        held: &mut Held<'c>,
    ) -> Result<(Vec<Range<usize>>, Days), DatasetError> {
        let (accounts, customers) = (row_group.texts(ACCOUNT)?, row_group.texts(OPPORTUNITY_ID)?);
        let dates = row_group.numbers(DATE)?;
        let mut forgotten: Vec<Range<usize>> = Vec::new();
        let mut left_days = None;
        for (row, day) in dates.into_iter().enumerate() {
            let of_account = accounts.get(row).and_then(|account| self.0.get(account));
            let customers = customers.get(row).zip(of_account);
            let customer = customers.and_then(|(id, of_account)| of_account.customers.get(id).copied());
            held.customers.extend(customer);
            if !left.has(row) {
                continue;
            }
            held.current.extend(customer);
            match forgotten.last_mut() {
                _ if customer.is_none() => left_days = either(left_days, Some((day, day))),
                Some(last) if last.end == row => last.end = row + 1,
                _ => forgotten.push(row..row + 1),
            }
        }
        Ok((forgotten, left_days))
    }
}
