//! The accounts and what is known of them.

use super::columns::{ACCOUNT, Meaning, check_columns, find, require};
use super::fault::{CellFault, Reason, RowFaults, TableFault, too_many_rows};
use super::keys::read_accounts;
use super::render::PlainColumn;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use chrono_tz::Tz;
use std::collections::BTreeMap;
use std::sync::Arc;

const ACCOUNT_NAME: &str = "accountName";
const INDUSTRY: &str = "industry";
const TIME_ZONE: &str = "timeZone";
const LEAD_GRADING: &str = "leadGrading";

/// The columns that a table of accounts may have.
pub const ACCOUNT_COLUMNS: [&str; 5] = [ACCOUNT, ACCOUNT_NAME, INDUSTRY, TIME_ZONE, LEAD_GRADING];

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The key; neither empty nor with `,` or `/`.
    pub key: String,
    /// The name for people; the key if there is no other.
    pub name: String,
    /// The industry that its benchmarks come from; never the empty text.
    pub industry: Option<String>,
    /// Where its events have their dates.
    pub time_zone: Tz,
    /// Whether it subscribes to lead grading; if not, its lead-grading fields read as empty.
    pub lead_grading: bool,
}

impl Account {
    /// An account of which nothing but the key is known.
    pub fn new(key: impl Into<String>) -> Self {
        let key = key.into();
        Self { name: key.clone(), key, industry: None, time_zone: Tz::UTC, lead_grading: false }
    }
}

/// The accounts by key. One that is not among them has the defaults of [`Account::new`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts(BTreeMap<String, Account>);

/// What became of the rows of an account table. Each row is in one of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRows {
    /// The rows that were taken, in order.
    pub rows: Vec<u32>,
    /// One fault for each row that was not, by row.
    pub faults: Vec<CellFault>,
}

impl Accounts {
    /// The account with that key, if something is known of it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Account> {
        self.0.get(key)
    }

    /// The account's time zone.
    #[must_use]
    pub fn time_zone(&self, key: &str) -> Tz {
        self.get(key).map_or(Tz::UTC, |account| account.time_zone)
    }

    /// The account's name.
    #[must_use]
    pub fn name<'a>(&'a self, key: &'a str) -> &'a str {
        self.get(key).map_or(key, |account| &account.name)
    }

    /// Whether the account subscribes to lead grading.
    #[must_use]
    pub fn lead_grading(&self, key: &str) -> bool {
        self.get(key).is_some_and(|account| account.lead_grading)
    }

    /// The accounts, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Account> {
        self.0.values()
    }

    /// The number of accounts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an account, and gives back the one that had its key.
    pub fn insert(&mut self, account: Account) -> Option<Account> {
        self.0.insert(account.key.clone(), account)
    }

    /// Adds `later` accounts; they replace those with the same keys.
    pub fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// The accounts of one table, given in batches.
    ///
    /// # Errors
    /// The columns are wrong, or the first row that breaks a rule; an account that occurs twice does.
    pub fn from_batches(batches: &[RecordBatch]) -> Result<Self, TableFault> {
        let mut accounts = Self::default();
        for batch in batches {
            if let Some(fault) = accounts.read(batch)?.faults.into_iter().next() {
                return Err(fault.into());
            }
        }
        Ok(accounts)
    }

    /// Adds the accounts of a batch: `account`, and any of `accountName`, `industry`, `timeZone`, `leadGrading`; other columns are
    /// passed over, unless their names differ from one of these in letter case alone. Rows that break a rule are left out; one whose account is already there does.
    ///
    /// # Errors
    /// The columns are wrong, or the batch is too large.
    pub fn read(&mut self, batch: &RecordBatch) -> Result<AccountRows, TableFault> {
        let schema = batch.schema_ref();
        check_columns(schema, &ACCOUNT_COLUMNS)?;
        let mut faults = RowFaults::default();
        let cells = |at: usize| PlainColumn::new(schema.field(at).name(), batch.column(at));
        let keys = read_accounts(&cells(require(schema, ACCOUNT, Meaning::Id)?)?, &mut faults)?;
        let mut texts = |name, meaning| -> Result<Option<StringArray>, TableFault> {
            let at = find(schema, name, meaning)?;
            Ok(at.map(|at| cells(at)?.texts(&mut faults)).transpose()?)
        };
        let names = texts(ACCOUNT_NAME, Meaning::Dimension)?;
        let industries = texts(INDUSTRY, Meaning::Dimension)?;
        let zones = texts(TIME_ZONE, Meaning::Text)?;
        let gradings = texts(LEAD_GRADING, Meaning::Boolean)?;
        let mut rows = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let Some(key) = key.filter(|_| !faults.has(row)) else { continue };
            let given = AccountCells {
                key,
                name: text(names.as_ref(), row),
                industry: text(industries.as_ref(), row),
                time_zone: text(zones.as_ref(), row),
                lead_grading: text(gradings.as_ref(), row),
            };
            match self.account(&given) {
                Ok(account) => {
                    rows.push(u32::try_from(row).map_err(|_| too_many_rows(batch.num_rows()))?);
                    self.insert(account);
                }
                Err((column, value, reason)) => faults.add(row, column, value, reason),
            }
        }
        Ok(AccountRows { rows, faults: faults.into_faults() })
    }

    fn account<'a>(&self, given: &AccountCells<'a>) -> Result<Account, (&'static str, &'a str, Reason)> {
        if self.get(given.key).is_some() {
            return Err((ACCOUNT, given.key, Reason::DuplicateAccount));
        }
        let mut account = Account::new(given.key);
        if !given.name.is_empty() {
            given.name.clone_into(&mut account.name);
        }
        account.industry = Some(given.industry.to_owned()).filter(|industry| !industry.is_empty());
        if !given.time_zone.is_empty() {
            account.time_zone = given.time_zone.parse().map_err(|_| (TIME_ZONE, given.time_zone, Reason::TimeZone))?;
        }
        account.lead_grading = match given.lead_grading {
            "true" => true,
            "false" | "" => false,
            other => return Err((LEAD_GRADING, other, Reason::Boolean)),
        };
        Ok(account)
    }

    /// The accounts as a table, by key, as [`Accounts::read`] takes it.
    ///
    /// # Errors
    /// They are too large for one batch.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
        let schema = Schema::new(vec![
            text(ACCOUNT, false),
            text(ACCOUNT_NAME, false),
            text(INDUSTRY, true),
            text(TIME_ZONE, false),
            Field::new(LEAD_GRADING, DataType::Boolean, false),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| &account.key))),
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| &account.name))),
            Arc::new(StringArray::from_iter(self.iter().map(|account| account.industry.as_deref()))),
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| account.time_zone.name()))),
            Arc::new(BooleanArray::from_iter(self.iter().map(|account| Some(account.lead_grading)))),
        ];
        RecordBatch::try_new(Arc::new(schema), columns)
    }
}

/// One row of an account table; what is absent is empty.
struct AccountCells<'a> {
    key: &'a str,
    name: &'a str,
    industry: &'a str,
    time_zone: &'a str,
    lead_grading: &'a str,
}

fn text(texts: Option<&StringArray>, row: usize) -> &str {
    texts.filter(|texts| arrow_array::Array::is_valid(texts, row)).map_or("", |texts| texts.value(row))
}

#[cfg(test)]
mod tests;
