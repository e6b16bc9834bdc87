//! The accounts, and the table that describes them.

use super::columns::{ACCOUNT, Meaning, SPEND_MEASURES, check_columns, find, names, require};
use super::currency::{Currency, ParseCurrencyError};
use super::fault::{CellFault, CellFaults, Reason, SchemaFault, TableFault, too_many_rows};
use super::plain_column::{PlainColumn, read_account_keys};
use super::zone::Zone;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

const ACCOUNT_NAME: &str = "accountName";
const INDUSTRY: &str = "industry";
const TIME_ZONE: &str = "timeZone";
const LEAD_GRADING: &str = "leadGrading";
const CURRENCY: &str = "currency";

/// The columns of a table of accounts.
pub const ACCOUNT_COLUMNS: [&str; 6] = [ACCOUNT, ACCOUNT_NAME, INDUSTRY, TIME_ZONE, LEAD_GRADING, CURRENCY];

/// The columns that describe an account, each with its meaning.
const DESCRIBED: [(&str, Meaning); 5] = [
    (ACCOUNT_NAME, Meaning::Dimension),
    (INDUSTRY, Meaning::Dimension),
    (TIME_ZONE, Meaning::Text),
    (LEAD_GRADING, Meaning::Boolean),
    (CURRENCY, Meaning::Text),
];

/// One account.
///
/// For example, the account with the key `north-va` has the name `North Virginia`, the industry `plumbing`, the time
/// zone `America/New_York`, the currency `USD`, and no lead grading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The key. It is not empty and contains neither `,` nor `/`.
    pub key: String,
    /// The name for people. It is the key if the account has no name.
    pub name: String,
    /// The industry whose accounts the account is compared with in benchmarks; `None` if it is unknown, never the empty
    /// text.
    pub industry: Option<String>,
    /// The time zone in which the account's events have their dates.
    pub time_zone: Zone,
    /// Whether the account subscribes to lead grading. If not, its dimensions of lead grading are empty, and its
    /// metrics of lead grading are 0.
    pub lead_grading: bool,
    /// The currency of the amounts of its events and its spend; `None` if it is not stated.
    pub currency: Option<Currency>,
}

impl Account {
    /// Returns an account with a key and defaults: the key as its name, no industry, UTC, no lead grading, no currency.
    pub fn new(key: impl Into<String>) -> Self {
        let key = key.into();
        Self { name: key.clone(), key, industry: None, time_zone: Zone::UTC, lead_grading: false, currency: None }
    }
}

/// The described accounts, by key. Any other account has the defaults of [`Account::new`].
///
/// ```
/// use trueup_core::model::{Account, Accounts};
///
/// let mut accounts = Accounts::default();
/// accounts.insert(Account { name: "North".to_owned(), ..Account::new("n") });
/// assert_eq!(accounts.name("n"), "North");
/// // An account without a description.
/// assert_eq!((accounts.name("s"), accounts.time_zone("s").name()), ("s", "UTC"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts(BTreeMap<String, Account>);

/// The accepted and the rejected rows of an account table. Each row is in one of the two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRows {
    /// The numbers of the accepted rows in the batch, from 0, ascending.
    pub rows: Vec<u32>,
    /// One fault per rejected row, by row.
    pub faults: Vec<CellFault>,
}

impl Accounts {
    /// Returns the account with that key; `None` if it is not described.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Account> {
        self.0.get(key)
    }

    /// Returns the account's time zone; UTC if the account is not described.
    #[must_use]
    pub fn time_zone(&self, key: &str) -> Zone {
        self.get(key).map_or(Zone::UTC, |account| account.time_zone)
    }

    /// Returns the account's name; its key if the account is not described.
    #[must_use]
    pub fn name<'a>(&'a self, key: &'a str) -> &'a str {
        self.get(key).map_or(key, |account| &account.name)
    }

    /// Returns whether the account subscribes to lead grading; `false` if the account is not described.
    #[must_use]
    pub fn lead_grading(&self, key: &str) -> bool {
        self.get(key).is_some_and(|account| account.lead_grading)
    }

    /// Returns the account's currency; `None` if none is stated, or the account is not described.
    #[must_use]
    pub fn currency(&self, key: &str) -> Option<Currency> {
        self.get(key).and_then(|account| account.currency)
    }

    /// Returns the code of the account's currency; the empty text if it has none.
    pub(crate) fn currency_code(&self, key: &str) -> &str {
        self.get(key).and_then(|account| account.currency.as_ref()).map_or("", Currency::code)
    }

    /// Returns the accounts, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Account> {
        self.0.values()
    }

    /// Returns the number of accounts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no accounts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an account. Returns the account that it replaces, if one has its key.
    pub fn insert(&mut self, account: Account) -> Option<Account> {
        self.0.insert(account.key.clone(), account)
    }

    /// Adds the `later` accounts. They replace accounts with the same keys.
    pub fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Reads a table of accounts from its batches.
    ///
    /// # Errors
    /// Returns an error if the columns are wrong, or the fault of the first bad row. A row whose account occurred
    /// before is bad.
    pub fn from_batches(batches: &[RecordBatch]) -> Result<Self, TableFault> {
        let mut accounts = Self::default();
        for batch in batches {
            if let Some(fault) = accounts.read(batch)?.faults.into_iter().next() {
                return Err(fault.into());
            }
        }
        Ok(accounts)
    }

    /// Adds the accounts of a batch, and rejects bad rows. A row is also bad if its account is already there, from an
    /// accepted row or added in another way.
    ///
    /// The batch has the column `account` and any of the other [`ACCOUNT_COLUMNS`]. Further columns are ignored.
    ///
    /// # Errors
    /// Returns an error if the columns are of spend, if the column `account` is missing, if a column is nested or one
    /// of [`ACCOUNT_COLUMNS`] has a wrong type, if a name occurs twice or is another spelling of a known one,
    /// or if the batch has too many rows.
    pub fn read(&mut self, batch: &RecordBatch) -> Result<AccountRows, TableFault> {
        let schema = batch.schema_ref();
        check_columns(schema, &ACCOUNT_COLUMNS)?;
        let has = |name: &&str| schema.fields().find(name).is_some();
        if SPEND_MEASURES.iter().any(has) && !ACCOUNT_COLUMNS.iter().skip(1).any(has) {
            return Err(SchemaFault::SpendAsAccounts { found: names(schema) }.into());
        }
        let mut faults = CellFaults::default();
        let column = |at: usize| PlainColumn::new(schema.field(at).name(), batch.column(at));
        let keys = read_account_keys(&column(require(schema, &[ACCOUNT], Meaning::Id)?)?, &mut faults)?;
        let texts = |(name, meaning)| -> Result<Option<StringArray>, TableFault> {
            let at = find(schema, name, meaning)?;
            Ok(at.map(|at| column(at)?.texts(&mut faults)).transpose()?)
        };
        let columns: Vec<_> = DESCRIBED.into_iter().map(texts).collect::<Result<_, _>>()?;
        let mut rows = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let Some(key) = key.filter(|_| !faults.has(row)) else { continue };
            match self.account(key, std::array::from_fn(|at| text(columns[at].as_ref(), row))) {
                Ok(account) => {
                    rows.push(u32::try_from(row).map_err(|_| too_many_rows(batch.num_rows()))?);
                    self.insert(account);
                }
                Err((column, value, reason)) => faults.add(row, column, value, reason),
            }
        }
        Ok(AccountRows { rows, faults: faults.into_faults() })
    }

    /// Returns the account of a row, or the column, value and reason of its fault. The values are in the order of
    /// [`DESCRIBED`]; a missing one is empty.
    fn account<'a>(
        &self,
        key: &'a str,
        [name, industry, time_zone, lead_grading, currency]: [&'a str; DESCRIBED.len()],
    ) -> Result<Account, (&'static str, &'a str, Reason)> {
        if self.get(key).is_some() {
            return Err((ACCOUNT, key, Reason::DuplicateAccount));
        }
        let mut account = Account::new(key);
        if !name.is_empty() {
            name.clone_into(&mut account.name);
        }
        account.industry = Some(industry.to_owned()).filter(|industry| !industry.is_empty());
        if !time_zone.is_empty() {
            account.time_zone = time_zone.parse().map_err(|_| (TIME_ZONE, time_zone, Reason::TimeZone))?;
        }
        account.lead_grading = match lead_grading {
            "true" => true,
            "false" | "" => false,
            other => return Err((LEAD_GRADING, other, Reason::Boolean)),
        };
        if !currency.is_empty() {
            let fault = |ParseCurrencyError| (CURRENCY, currency, Reason::Currency);
            account.currency = Some(currency.parse().map_err(fault)?);
        }
        Ok(account)
    }

    /// Returns the accounts as a table, by key, in the form that [`Accounts::read`] accepts.
    ///
    /// # Errors
    /// Returns an error if the accounts are too large for one batch.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
        let schema = Schema::new(vec![
            text(ACCOUNT, false),
            text(ACCOUNT_NAME, false),
            text(INDUSTRY, true),
            text(TIME_ZONE, false),
            Field::new(LEAD_GRADING, DataType::Boolean, false),
            text(CURRENCY, true),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| &account.key))),
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| &account.name))),
            Arc::new(StringArray::from_iter(self.iter().map(|account| account.industry.as_deref()))),
            Arc::new(StringArray::from_iter_values(self.iter().map(|account| account.time_zone.name()))),
            Arc::new(BooleanArray::from_iter(self.iter().map(|account| Some(account.lead_grading)))),
            Arc::new(StringArray::from_iter(self.iter().map(|account| account.currency.map(|it| it.to_string())))),
        ];
        RecordBatch::try_new(Arc::new(schema), columns)
    }
}

fn text(texts: Option<&StringArray>, row: usize) -> &str {
    texts.filter(|texts| arrow_array::Array::is_valid(texts, row)).map_or("", |texts| texts.value(row))
}

#[cfg(test)]
mod tests;
