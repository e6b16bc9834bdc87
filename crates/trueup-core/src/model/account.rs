//! The accounts, and the table that describes them.

use super::columns::{ACCOUNT, Meaning, SPEND_MEASURES, check_columns, names, require};
use super::currency::{Currency, ParseCurrencyError};
use super::fault::{Reason, SchemaFault};
use super::held::{self, HeldColumn, HeldRow, HeldTable, batch_of};
use super::zone::Zone;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

const ACCOUNT_NAME: &str = "accountName";
const INDUSTRY: &str = "industry";
const TIME_ZONE: &str = "timeZone";
const LEAD_GRADING: &str = "leadGrading";
const CURRENCY: &str = "currency";

/// The columns of a table of accounts.
pub const ACCOUNT_COLUMNS: [&str; 6] = held::names(Accounts::COLUMNS);

/// Bytes that an account takes apart from its strings, approximately.
const ACCOUNT_BYTES: usize = 256;

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

    fn strings(&self, string: fn(&Account) -> Option<&str>) -> ArrayRef {
        Arc::new(self.iter().map(string).collect::<StringArray>())
    }
}

impl HeldTable for Accounts {
    const COLUMNS: &'static [HeldColumn] = &[
        HeldColumn::new(ACCOUNT, Meaning::Id),
        HeldColumn::new(ACCOUNT_NAME, Meaning::Dimension),
        HeldColumn::new(INDUSTRY, Meaning::Dimension),
        HeldColumn::new(TIME_ZONE, Meaning::Text),
        HeldColumn::new(LEAD_GRADING, Meaning::Boolean),
        HeldColumn::new(CURRENCY, Meaning::Text),
    ];

    const REQUIRED: usize = 1;

    /// Also refuses columns of spend.
    fn check_names(schema: &Schema) -> Result<(), SchemaFault> {
        check_columns(schema, &ACCOUNT_COLUMNS)?;
        let has = |name: &&str| schema.fields().find(name).is_some();
        if SPEND_MEASURES.iter().any(has) && !ACCOUNT_COLUMNS.iter().skip(1).any(has) {
            return Err(SchemaFault::SpendAsAccounts { found: names(schema) });
        }
        require(schema, &[ACCOUNT], Meaning::Id).map(drop)
    }

    /// Refuses an account that is already there, from a row or added in another way.
    fn add(&mut self, row: &HeldRow<'_>, _: &dyn Fn(&str) -> bool) -> Result<bool, (&'static str, Reason)> {
        let [key, name, industry, time_zone, lead_grading, currency] = std::array::from_fn(|number| row.string(number));
        if self.get(key).is_some() {
            return Err((ACCOUNT, Reason::DuplicateAccount));
        }
        let mut account = Account::new(key);
        if !name.is_empty() {
            name.clone_into(&mut account.name);
        }
        account.industry = Some(industry.to_owned()).filter(|industry| !industry.is_empty());
        if !time_zone.is_empty() {
            account.time_zone = time_zone.parse().map_err(|_| (TIME_ZONE, Reason::TimeZone))?;
        }
        account.lead_grading = match lead_grading {
            "true" => true,
            "false" | "" => false,
            _ => return Err((LEAD_GRADING, Reason::Boolean)),
        };
        if !currency.is_empty() {
            account.currency = Some(currency.parse().map_err(|ParseCurrencyError| (CURRENCY, Reason::Currency))?);
        }
        self.insert(account);
        Ok(false)
    }

    fn merge(&mut self, later: Self) -> u64 {
        later.0.into_values().map(|account| u64::from(self.insert(account).is_some())).sum()
    }

    fn bytes(&self) -> usize {
        let strings = |it: &Account| it.key.len() + it.name.len() + it.industry.as_ref().map_or(0, String::len);
        self.iter().map(|account| strings(account) + ACCOUNT_BYTES).sum()
    }

    fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let gradings: BooleanArray = self.iter().map(|account| Some(account.lead_grading)).collect();
        let columns: [(ArrayRef, bool); ACCOUNT_COLUMNS.len()] = [
            (self.strings(|account| Some(&account.key)), false),
            (self.strings(|account| Some(&account.name)), false),
            (self.strings(|account| account.industry.as_deref()), true),
            (self.strings(|account| Some(account.time_zone.name())), false),
            (Arc::new(gradings), false),
            (self.strings(|account| account.currency.as_ref().map(Currency::code)), true),
        ];
        batch_of(ACCOUNT_COLUMNS, columns)
    }
}

#[cfg(test)]
mod tests;
