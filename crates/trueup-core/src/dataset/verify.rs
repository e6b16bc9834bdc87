//! A check of every file of a dataset against its manifest.

use super::as_of::{AsOf, manifest};
use super::batch_list::read_batch_list;
use super::block_checksums::sum;
use super::checked_file::{CheckedFile, StartedReads};
use super::error::DatasetError;
use super::forgotten::read_forgotten;
use super::insights;
use super::manifest::{
    ACCOUNTS, DEFINITIONS_FOLDER, DataFile, FORGOTTEN_FOLDER, MAPPING_FOLDER, Manifest, RowGroupEntry, TARGETS,
};
use super::open::{read_definitions, read_held, read_mapping};
use super::table_file::TableFile;
use crate::error::Error;
use crate::model::{Accounts, OPPORTUNITY_ID, QuarterSpan, Targets};
use crate::scan::{
    ColumnFault, EventColumns, EventProjection, SpendColumns, SpendProjection, TableColumns, TextColumn,
    customer_numbers,
};
use crate::{Day, Interrupt};
use hashbrown::HashSet;
use std::fmt;
use std::path::Path;

/// The result of a check of a dataset's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// The version that was checked.
    pub version: u64,
    /// The number of files checked.
    pub files: usize,
    /// The number of bytes of the files whose length and checksum are those of the manifest.
    pub bytes: u64,
    /// What is wrong: at most one message per file, which names the file. Empty if nothing is wrong.
    pub faults: Vec<String>,
}

impl Verification {
    /// Checks the newest version in a folder, or the one that `as_of` means.
    ///
    /// - Every file: its length, checksum and number of rows.
    /// - Events: every column decodes. In each row group the customers are sorted by account, start date and
    ///   `opportunityId`, and all are of one [period](crate::model::QuarterSpan). The customers of a file are numbered
    ///   from 0, the events of each are in the order of their days, and no customer occurs twice in the dataset. The
    ///   manifest describes row groups correctly: queries skip row groups by it. The order of a customer's events of
    ///   one day is not checked.
    /// - Spend: every column decodes. The rows are in the order of calendar quarters, accounts and dates.
    /// - Accounts: each row is valid, and no account occurs twice.
    /// - Definitions: each one is valid. Lists of batches: each line is a batch.
    /// - Insights: each line is a document, and the lines are in the order of accounts and days, with at most one for
    ///   an account and a day.
    ///
    /// The check holds one row group at a time, where each insight is, and 16 bytes of a digest of each customer. Two
    /// customers with the same digest would be reported as one that occurs twice; the probability is below 1 in 10^20
    /// even for a billion customers.
    ///
    /// # Errors
    /// There is no manifest to check against, or the manifest, its lists of files or its deletion vectors cannot be
    /// read.
    pub fn of(folder: impl AsRef<Path>, as_of: Option<AsOf>) -> Result<Self, Error> {
        Self::watched(folder, as_of, |_, _| ())
    }

    /// Checks a version as [`of`](Self::of) does. Calls `progress` after each file, with the number of bytes of the
    /// files that were checked, and of all files.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn watched(
        folder: impl AsRef<Path>,
        as_of: Option<AsOf>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let manifest = manifest(folder, as_of)?;
        let Manifest { lists, events, spend, named, deletion_vectors, batches, .. } = &manifest;
        let lists = || lists.events.iter().chain(&lists.spend).map(|list| &list.file);
        let mut check = FileCheck {
            folder,
            found: Self { version: manifest.version, ..Self::default() },
            checked_bytes: 0,
            all_bytes: manifest.files().map(|file| file.size).sum(),
            progress,
        };
        let superseded = |file: &DataFile| manifest.superseded.get(&file.path).cloned();
        let mut customers = Customers::default();
        for file in events {
            check.file(file, |file| customers.check(&TableFile::new(folder, file, superseded(file))?));
        }
        for file in spend {
            check.file(file, |file| check_spend(&TableFile::new(folder, file, superseded(file))?));
        }
        for file in lists().chain(deletion_vectors) {
            // Its contents were checked when they were read with the manifest.
            check.file(file, |_| Ok(()));
        }
        for file in batches {
            check.file(file, |file| Ok(read_batch_list(folder, file).map(drop)?));
        }
        for (name, file) in named {
            check.file(file, |file| check_named(folder, name, file).map_err(|error| FileFault(error.to_string())));
        }
        Ok(check.found)
    }
}

/// A check of the files of a version that is under way.
struct FileCheck<'a, P> {
    folder: &'a Path,
    found: Verification,
    checked_bytes: u64,
    all_bytes: u64,
    progress: P,
}

impl<P: FnMut(u64, u64)> FileCheck<'_, P> {
    /// Checks the bytes of a file, and then its rows, unless the bytes have changed.
    fn file(&mut self, file: &DataFile, check_rows: impl FnOnce(&DataFile) -> Result<(), FileFault>) {
        self.found.files += 1;
        let checked = check_bytes(self.folder, file).and_then(|()| {
            self.found.bytes += file.size;
            check_rows(file)
        });
        if let Err(FileFault(fault)) = checked {
            self.found.faults.push(fault);
        }
        self.checked_bytes += file.size;
        (self.progress)(self.checked_bytes, self.all_bytes);
    }
}

/// A message that says what is wrong with a file and names it.
struct FileFault(String);

impl FileFault {
    /// Makes a message about a row of a row group, both counted from 0. `row` is counted among the rows that are left;
    /// the message gives its place among all rows of the row group.
    fn at(file: &TableFile, row_group: usize, row: usize, fault: impl fmt::Display) -> Self {
        let row = file.live_rows(row_group).and_then(|left| left.stored_row(row)).unwrap_or(row);
        Self(format!("`{}`, row group {row_group}, row {row}: {fault}", file.path().display()))
    }
}

impl From<DatasetError> for FileFault {
    fn from(error: DatasetError) -> Self {
        Self(error.to_string())
    }
}

/// Compares the length and the BLAKE3 of a file with the manifest.
fn check_bytes(folder: &Path, promised: &DataFile) -> Result<(), FileFault> {
    let file = CheckedFile::open(folder, promised)?;
    let found = file.blake3()?;
    if found == promised.blake3 {
        return Ok(());
    }
    let promised = &promised.blake3;
    Err(FileFault(format!("`{}` has the checksum {found}, but the manifest says {promised}", file.path().display())))
}

/// The customers of the files checked so far.
#[derive(Default)]
struct Customers {
    /// The first bytes of a digest of each customer.
    seen: HashSet<[u8; 16]>,
}

/// What customers are sorted by in a row group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CustomerKey<'a> {
    account: &'a str,
    start: u16,
    opportunity_id: &'a str,
}

impl Customers {
    /// Checks a file, and its customers against those of the files before.
    fn check(&mut self, file: &TableFile) -> Result<(), FileFault> {
        let texts = file.texts().map(str::to_owned).collect();
        let projection = EventProjection { texts, totals: true, date_times: true, ..EventProjection::default() };
        // Also reads the footer of a file without row groups.
        TableFile::read_footers(std::iter::once(file), &Interrupt::default())?;
        let mut next = 0;
        for row_group in 0..file.row_groups() {
            let rows =
                file.read(row_group, &projection.columns(true), StartedReads::default(), &Interrupt::default())?;
            let damaged = |fault| file.damaged(row_group, fault);
            let columns = EventColumns::decode(&rows, &projection).map_err(damaged)?;
            file.row_group(row_group).check(&columns).map_err(damaged)?;
            file.check_left_days(row_group, columns.left_days())?;
            let numbers = customer_numbers(&rows).map_err(damaged)?;
            let Some(ids) = columns.text(OPPORTUNITY_ID) else {
                return Err(damaged(ColumnFault::new(OPPORTUNITY_ID, "the column is missing")).into());
            };
            next = self
                .check_row_group(&columns, &numbers, ids, next)
                .map_err(|(row, fault)| FileFault::at(file, row_group, row, fault))?;
        }
        Ok(())
    }

    /// Checks a row group whose first customer must be number `next` of the file, and returns the number after its last
    /// customer. An error is a row and what is wrong with it.
    fn check_row_group(
        &mut self,
        columns: &EventColumns,
        numbers: &[i32],
        ids: &TextColumn,
        next: i64,
    ) -> Result<i64, (usize, String)> {
        let (Some(first_number), Some(last_number)) = (numbers.first(), numbers.last()) else { return Ok(next) };
        // Decoding has checked that numbers increase by one inside a row group.
        if next != i64::from(*first_number) {
            let fault = format!(
                "expected the row group to begin with the customer {next} of the file, but found {first_number}"
            );
            return Err((0, fault));
        }
        let id = |customer: usize, row: usize| &ids.dictionary()[ids.code(customer, row)];
        let mut previous = None;
        let mut period = None;
        for number in 0..columns.customers.len() {
            let rows = columns.customers.events(number);
            let first = rows.start;
            let account = &columns.customers.account_keys()[columns.customers.accounts().get(number)];
            let opportunity_id = id(number, first);
            if opportunity_id.is_empty() {
                return Err((first, format!("a customer of `{account}` has no `{OPPORTUNITY_ID}`")));
            }
            if let Some(row) = rows.clone().find(|row| id(number, *row) != opportunity_id) {
                let other = id(number, row);
                return Err((
                    row,
                    format!(
                        "the rows of the customer `{opportunity_id}` of `{account}` also have the `{OPPORTUNITY_ID}` \
                         `{other}`"
                    ),
                ));
            }
            let customer = CustomerKey { account, start: columns.days[first], opportunity_id };
            // A customer that occurs twice may also be out of order. The repetition is reported, because it says more.
            if !self.seen.insert(customer.digest()) {
                return Err((
                    first,
                    format!("the customer `{opportunity_id}` of `{account}` occurs twice in the dataset"),
                ));
            }
            if previous.as_ref().is_some_and(|previous| *previous > customer) {
                return Err((first, format!("the customer `{opportunity_id}` of `{account}` is out of order")));
            }
            previous = Some(customer);
            let of_customer =
                QuarterSpan::of(Day::from_number(columns.days[first]), Day::from_number(columns.days[rows.end - 1]));
            if *period.get_or_insert(of_customer) != of_customer {
                return Err((
                    first,
                    format!(
                        "the customer `{opportunity_id}` of `{account}` is of other quarters than the one before it, and so \
                         belongs in another row group"
                    ),
                ));
            }
        }
        Ok(i64::from(*last_number) + 1)
    }
}

impl CustomerKey<'_> {
    /// Returns the first bytes of a digest of the customer: of its account and its id, but not of its start.
    fn digest(&self) -> [u8; 16] {
        let mut digest = blake3::Hasher::new();
        digest.update(&(self.account.len() as u64).to_le_bytes());
        digest.update(self.account.as_bytes()).update(self.opportunity_id.as_bytes());
        sum(&digest.finalize())
    }
}

impl RowGroupEntry {
    /// Checks that every row of a row group is inside the bounds, because queries skip row groups by them.
    fn check(&self, columns: &EventColumns) -> Result<(), ColumnFault> {
        if let Some((first, last)) = &self.accounts {
            let inside = |key: &str| **first <= *key && *key <= **last;
            if !columns.present_accounts().all(inside) {
                return Err(ColumnFault::new("account", "an account is not within the statistics"));
            }
        }
        if let Some((first, last)) = self.days
            && !columns.days.iter().all(|day| (first..=last).contains(&i32::from(*day)))
        {
            return Err(ColumnFault::new("date", "a date is not within the statistics"));
        }
        Ok(())
    }
}

/// Checks that every column decodes, and that the rows are in the order of calendar quarters, accounts and dates.
fn check_spend(file: &TableFile) -> Result<(), FileFault> {
    let mut last: Option<(u16, String, u16)> = None;
    let projection = SpendProjection::all();
    TableFile::read_footers(std::iter::once(file), &Interrupt::default())?;
    for row_group in 0..file.row_groups() {
        let rows = file.read(row_group, &projection.columns(true), StartedReads::default(), &Interrupt::default())?;
        let columns = SpendColumns::decode(&rows, &projection).map_err(|fault| file.damaged(row_group, fault))?;
        file.check_left_days(row_group, columns.left_days())?;
        for (row, day) in columns.days.iter().copied().enumerate() {
            let account = &columns.accounts.texts[columns.accounts.codes.get(row)];
            let quarter = Day::from_number(day).quarter();
            if last
                .as_ref()
                .is_some_and(|(last, key, last_day)| (*last, key.as_str(), *last_day) > (quarter, account, day))
            {
                let fault = "the rows are not in the order of quarters, accounts and dates";
                return Err(FileFault::at(file, row_group, row, fault));
            }
            last = Some((quarter, account.to_owned(), day));
        }
    }
    Ok(())
}

/// Checks what a file of a name holds.
fn check_named(folder: &Path, name: &str, file: &DataFile) -> Result<(), Error> {
    match name {
        ACCOUNTS => drop(read_held::<Accounts>(folder, file)?),
        TARGETS => drop(read_held::<Targets>(folder, file)?),
        DEFINITIONS_FOLDER => drop(read_definitions(folder, file)?),
        MAPPING_FOLDER => drop(read_mapping(folder, file)?),
        FORGOTTEN_FOLDER => drop(read_forgotten(folder, file)?),
        // There is no other name.
        _ => insights::check(folder, file)?,
    }
    Ok(())
}
