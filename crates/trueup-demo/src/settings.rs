//! The settings of a demo dataset, and their bounds.

use std::fmt;

use chrono::{Datelike, Months, NaiveDate};

/// What to generate. The same settings generate the same rows on every machine; `batch_rows` only determines how rows
/// are split into batches.
///
/// # Examples
/// ```
/// use trueup_demo::Settings;
///
/// let settings = Settings { seed: 7, ..Settings::scale(20_000, 20) };
/// assert_eq!(settings.end()?.to_string(), "2026-06-30");
/// # Ok::<(), trueup_demo::SettingsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Seed of all random draws.
    pub seed: u64,
    /// Number of accounts, 1 to 200.
    pub accounts: u32,
    /// Approximate number of events, 1 to 1,000,000,000. For thousands of events, the actual number differs by a few
    /// percent.
    pub events: u64,
    /// First day of the first month, in each account's own time zone; the first of a month from 1970 to 2138.
    pub start: NaiveDate,
    /// Number of calendar months, 1 to 120.
    pub months: u32,
    /// The last day that may have events or spend, in the last month; `None` for the last of that month.
    pub last: Option<NaiveDate>,
    /// Number of rows of each record batch except the last; at least 1.
    pub batch_rows: usize,
}

impl Settings {
    const MAX_ACCOUNTS: u32 = 200;
    const MAX_MONTHS: u32 = 120;
    const MAX_EVENTS: u64 = 1_000_000_000;

    /// Returns the settings of the default demo: 200,000 events of 40 accounts over 24 months.
    #[must_use]
    pub fn demo() -> Self {
        Self::scale(200_000, 40)
    }

    /// Returns the settings of the default demo with another number of events and accounts.
    #[must_use]
    pub fn scale(events: u64, accounts: u32) -> Self {
        let start = NaiveDate::from_ymd_opt(2024, 7, 1).unwrap_or_default();
        Self { seed: 2024, accounts, events, start, months: 24, last: None, batch_rows: 65_536 }
    }

    /// Returns the settings with other days: as many months, of which the last ends with this day.
    ///
    /// ```
    /// use trueup_demo::Settings;
    ///
    /// let settings = Settings::demo().until("2026-05-20".parse()?);
    /// assert_eq!(settings.start.to_string(), "2024-06-01");
    /// assert_eq!(settings.end()?.to_string(), "2026-05-20");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, last: NaiveDate) -> Self {
        let month =
            last.with_day(1).and_then(|month| month.checked_sub_months(Months::new(self.months.saturating_sub(1))));
        Self { start: month.unwrap_or(last), last: Some(last), ..self }
    }

    /// Returns the last day that may have events or spend, in each account's own time zone.
    ///
    /// # Errors
    /// If a setting is outside its bounds.
    pub fn end(&self) -> Result<NaiveDate, SettingsError> {
        self.check()?;
        self.start
            .checked_add_months(Months::new(self.months))
            .and_then(|after| after.pred_opt())
            .ok_or(SettingsError::Start(self.start))
            .and_then(|end| match self.last {
                Some(last) if last > end || last.with_day(1) != end.with_day(1) => Err(SettingsError::Last(last)),
                last => Ok(last.unwrap_or(end)),
            })
    }

    fn check(&self) -> Result<(), SettingsError> {
        let Self { seed: _, accounts, events, start, months, last: _, batch_rows } = *self;
        if !(1..=Self::MAX_ACCOUNTS).contains(&accounts) {
            return Err(SettingsError::Accounts(accounts));
        }
        if !(1..=Self::MAX_EVENTS).contains(&events) {
            return Err(SettingsError::Events(events));
        }
        if !(1..=Self::MAX_MONTHS).contains(&months) {
            return Err(SettingsError::Months(months));
        }
        // With these years, even the longest span ends within the dates that a dataset supports.
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
    /// Not the first of a month from 1970 to 2138.
    Start(NaiveDate),
    /// A last day that is not in the last month.
    Last(NaiveDate),
    /// Batches of 0 rows.
    BatchRows,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts(found) => {
                write!(f, "expected 1 to {} accounts, but found `{found}`", Settings::MAX_ACCOUNTS)
            }
            Self::Events(found) => write!(f, "expected 1 to {} events, but found `{found}`", Settings::MAX_EVENTS),
            Self::Months(found) => write!(f, "expected 1 to {} months, but found `{found}`", Settings::MAX_MONTHS),
            Self::Start(found) => write!(f, "expected the first day of a month from 1970 to 2138, but found `{found}`"),
            Self::Last(found) => write!(f, "expected the last day in the last month, but found `{found}`"),
            Self::BatchRows => write!(f, "expected batches of at least 1 row, but found `0`"),
        }
    }
}

impl std::error::Error for SettingsError {}
