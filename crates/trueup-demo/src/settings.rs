use std::fmt;

use chrono::{Datelike, Months, NaiveDate};

/// What to generate. The same settings give the same rows on every machine; `batch_rows` only decides where batches are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Seeds everything that is drawn.
    pub seed: u64,
    /// Number of accounts, 1 to 200.
    pub accounts: u32,
    /// Number of events to aim at. What comes out is within a few percent of it, if there are thousands.
    pub events: u64,
    /// First day of the first month, in each account's own time zone.
    pub start: NaiveDate,
    /// Number of calendar months, 1 to 120.
    pub months: u32,
    /// Rows of each record batch but the last.
    pub batch_rows: usize,
}

impl Settings {
    const ACCOUNTS: u32 = 200;
    const MONTHS: u32 = 120;
    const EVENTS: u64 = 1_000_000_000;

    /// A small data set that is quickly written: a dozen accounts over 24 months.
    #[must_use]
    pub fn demo() -> Self {
        Self::scale(200_000, 12)
    }

    /// The demo's months and seed with another number of events and accounts.
    #[must_use]
    pub fn scale(events: u64, accounts: u32) -> Self {
        let start = NaiveDate::from_ymd_opt(2024, 7, 1).unwrap_or_default();
        Self { seed: 2024, accounts, events, start, months: 24, batch_rows: 65_536 }
    }

    /// The last day that may carry events or spend.
    ///
    /// # Errors
    /// If any setting is outside its bounds.
    pub fn end(&self) -> Result<NaiveDate, SettingsError> {
        self.check()?;
        self.start
            .checked_add_months(Months::new(self.months))
            .and_then(|after| after.pred_opt())
            .ok_or(SettingsError::Start(self.start))
    }

    fn check(&self) -> Result<(), SettingsError> {
        let Self { seed: _, accounts, events, start, months, batch_rows } = *self;
        if !(1..=Self::ACCOUNTS).contains(&accounts) {
            return Err(SettingsError::Accounts(accounts));
        }
        if !(1..=Self::EVENTS).contains(&events) {
            return Err(SettingsError::Events(events));
        }
        if !(1..=Self::MONTHS).contains(&months) {
            return Err(SettingsError::Months(months));
        }
        // The years leave the longest span inside the dates that a dataset holds.
        if start.day() != 1 || !(1970..2139).contains(&start.year()) {
            return Err(SettingsError::Start(start));
        }
        if batch_rows == 0 {
            return Err(SettingsError::BatchRows);
        }
        Ok(())
    }
}

/// A setting outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// Too few or too many accounts.
    Accounts(u32),
    /// Too few or too many events.
    Events(u64),
    /// Too few or too many months.
    Months(u32),
    /// Not the first of a month, or years away from what a dataset holds.
    Start(NaiveDate),
    /// Batches without rows.
    BatchRows,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts(found) => write!(f, "expected 1 to {} accounts, but found `{found}`", Settings::ACCOUNTS),
            Self::Events(found) => write!(f, "expected 1 to {} events, but found `{found}`", Settings::EVENTS),
            Self::Months(found) => write!(f, "expected 1 to {} months, but found `{found}`", Settings::MONTHS),
            Self::Start(found) => write!(f, "expected the first day of a month from 1970 to 2138, but found `{found}`"),
            Self::BatchRows => write!(f, "expected batches of at least 1 row, but found `0`"),
        }
    }
}

impl std::error::Error for SettingsError {}
