//! How much of the history of a lead a cohort counts.

use crate::text::text_form;
use crate::{Day, Shown};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The window of a [cohort](super::EventsQuery::cohort): how much of the history of each lead counts.
///
/// The text form is a number of days such as `90d`, or `all`.
///
/// ```
/// use trueup_core::query::CohortWindow;
///
/// assert_eq!("90d".parse(), Ok(CohortWindow::Days(90)));
/// assert_eq!("all".parse(), Ok(CohortWindow::All));
/// assert_eq!(CohortWindow::Days(0).to_string(), "0d");
/// assert!("90".parse::<CohortWindow>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CohortWindow {
    /// The events up to this number of days after the first event. With 0 they are those of the first event's day.
    Days(u32),
    /// The whole history.
    All,
}

/// A text that is not a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of days such as `90d`, or `all`, but found `{}`", Shown(.0))]
pub struct ParseWindowError(pub String);

impl CohortWindow {
    /// Returns the last day that counts for a lead whose first event is on `first`; [`Day::MAX`] if the window ends
    /// later.
    ///
    /// ```
    /// use trueup_core::Day;
    /// use trueup_core::query::CohortWindow;
    ///
    /// let first: Day = "2026-03-01".parse()?;
    /// assert_eq!(CohortWindow::Days(30).last_day(first).to_string(), "2026-03-31");
    /// assert_eq!(CohortWindow::All.last_day(first), Day::MAX);
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn last_day(self, first: Day) -> Day {
        match self {
            Self::Days(days) => {
                Day::from_number(first.number().saturating_add(u16::try_from(days).unwrap_or(u16::MAX)))
            }
            Self::All => Day::MAX,
        }
    }
}

impl FromStr for CohortWindow {
    type Err = ParseWindowError;

    fn from_str(text: &str) -> Result<Self, ParseWindowError> {
        if text == "all" {
            return Ok(Self::All);
        }
        let digits = text.strip_suffix('d').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let days = digits.and_then(|digits| digits.parse().ok());
        days.map(Self::Days).ok_or_else(|| ParseWindowError(text.to_owned()))
    }
}

impl fmt::Display for CohortWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Days(days) => write!(f, "{days}d"),
            Self::All => f.write_str("all"),
        }
    }
}

text_form!(CohortWindow, ParseWindowError);
