//! Section 1: the tables, as plain rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::NaiveDate;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;

/// A value of a dimension column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value; rendered as `""`.
    Null,
    /// Text, unchanged.
    Text(String),
    /// Rendered as `true` or `false`.
    Bool(bool),
    /// Rendered in decimal.
    Integer(i64),
    /// Rendered as a number of ECMAScript.
    Float(f64),
    /// Rendered as `YYYY-MM-DD`.
    Date(NaiveDate),
    /// Microseconds since 1970-01-01 UTC, rendered as RFC 3339 with `Z`.
    Timestamp(i64),
}

/// One row of the event table. Of two rows of an account with one event id, the last one wins.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// The account key, not empty.
    pub account: String,
    /// The id of the customer in its account, not empty.
    pub opportunity_id: String,
    /// The funnel stage, as in the column `type`.
    pub kind: String,
    /// The calendar date; `None` means the date of `date_time` in the account's time zone.
    pub date: Option<NaiveDate>,
    /// Microseconds since 1970-01-01 UTC. This or `date` is present.
    pub date_time: Option<i64>,
    /// The id of the event in its account; `None` and `""` mean no id.
    pub event_id: Option<String>,
    /// Millionths of a currency unit; `None` counts as 0 in sums.
    pub total: Option<i64>,
    /// Every other column, by name. A missing name is null.
    pub other: BTreeMap<String, Cell>,
}

/// One row of the spend table.
#[derive(Clone, Debug, PartialEq)]
pub struct SpendRow {
    /// The account key.
    pub account: String,
    /// The day of the spend.
    pub date: NaiveDate,
    /// `None` and `""` mean not attributable.
    pub attribution_category: Option<String>,
    /// `None` and `""` mean not attributable.
    pub attribution_channel: Option<String>,
    /// `None` and `""` mean not attributable.
    pub campaign: Option<String>,
    /// Millionths of a currency unit; `None` is 0.
    pub ad_spend: Option<i64>,
    /// Millionths of a currency unit; `None` is 0.
    pub management_fee: Option<i64>,
    /// `None` is 0.
    pub clicks: Option<u64>,
    /// `None` is 0.
    pub impressions: Option<u64>,
}

/// One row of the account table.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountRow {
    /// The account key.
    pub account: String,
    /// The display name; `None` and `""` mean the key.
    pub account_name: Option<String>,
    /// The industry, which only benchmarks use.
    pub industry: Option<String>,
    /// An IANA time zone, such as `America/Chicago`.
    pub time_zone: String,
    /// Whether the account subscribes to lead grading.
    pub lead_grading: bool,
    /// The code of a currency; `None` and `""` mean that none is stated.
    pub currency: Option<String>,
}

impl AccountRow {
    /// Section 1: an account that occurs only in events or spend "has the defaults."
    #[must_use]
    pub fn defaults(account: &str) -> Self {
        Self {
            account: account.to_owned(),
            account_name: None,
            industry: None,
            time_zone: "UTC".to_owned(),
            lead_grading: false,
            currency: None,
        }
    }

    /// Section 1: "`currency` (ISO 4217, optional)"; `""` if there is none.
    #[must_use]
    pub fn currency(&self) -> &str {
        self.currency.as_deref().unwrap_or_default()
    }

    /// Section 1: "`accountName` (null or empty: the key)".
    #[must_use]
    pub fn name(&self) -> &str {
        self.account_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.account)
    }
}

/// The three tables of one ingest of canonical input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Events, in the order of the input.
    pub events: Vec<EventRow>,
    /// Spend. Equal rows add up.
    pub spend: Vec<SpendRow>,
    /// Accounts, each key once.
    pub accounts: Vec<AccountRow>,
}

impl Tables {
    /// Returns the account's row, or the defaults if it has none.
    #[must_use]
    pub fn account(&self, key: &str) -> AccountRow {
        self.accounts.iter().find(|row| row.account == key).cloned().unwrap_or_else(|| AccountRow::defaults(key))
    }

    /// Returns the accounts in any of the tables, sorted.
    #[must_use]
    pub fn account_keys(&self) -> BTreeSet<String> {
        let events = self.events.iter().map(|row| &row.account);
        let spend = self.spend.iter().map(|row| &row.account);
        let accounts = self.accounts.iter().map(|row| &row.account);
        events.chain(spend).chain(accounts).cloned().collect()
    }
}

/// Section 1: "the calendar date of `dateTime` in the account's `timeZone`". `micros` are since 1970-01-01 UTC; `None`
/// for an unknown time zone or a point in time beyond the calendar.
#[must_use]
pub fn local_date(micros: i64, time_zone: &str) -> Option<NaiveDate> {
    local_time(micros, time_zone)?.date().to_string().parse().ok()
}

/// Returns the date and the time of day in a time zone, as jiff computes them from the database; `None` as for
/// [`local_date`].
pub(super) fn local_time(micros: i64, time_zone: &str) -> Option<DateTime> {
    static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    let zone = DATABASE.get(time_zone).ok()?;
    Some(zone.to_datetime(Timestamp::from_microsecond(micros).ok()?))
}
