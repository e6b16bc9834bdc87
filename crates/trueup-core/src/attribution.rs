//! The event that is credited: from which one the attribution dimensions of a row are taken.

use crate::Shown;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

named! {
    /// The event from which the attribution dimensions of a row are taken: `attributionCategory`, `attributionChannel`,
    /// `campaign`, and every stored column whose name begins with `attribution`.
    ///
    /// Filters, groups and definitions see the values so taken; spend keeps its own. A customer without a conversion
    /// keeps what is recorded.
    ///
    /// ```
    /// use trueup_core::query::Attribution;
    ///
    /// assert_eq!("first".parse(), Ok(Attribution::First));
    /// assert_eq!(Attribution::default().to_string(), "recorded");
    /// assert!("linear".parse::<Attribution>().is_err());
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase", try_from = "String")]
    pub enum Attribution {
        /// The event of the row itself.
        #[default]
        Recorded = "recorded",
        /// The customer's first conversion of all.
        First = "first",
        /// The customer's last conversion at or before the event of the row; the first one, if there is none before.
        Last = "last",
    }
}

/// A text that is not an attribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the attribution `recorded`, `first` or `last`, but found `{}`", Shown(.0))]
pub struct UnknownAttribution(pub String);

impl Attribution {
    /// Returns the attribution by which a stored column of events is read: this one, or the recorded values if the
    /// column is not one of attribution.
    pub(crate) fn of_column(self, name: &str) -> Self {
        if name == "campaign" || name.starts_with("attribution") { self } else { Self::Recorded }
    }

    /// Returns whether the recorded values are read, which is the default.
    pub(crate) fn is_recorded(&self) -> bool {
        *self == Self::Recorded
    }
}

impl FromStr for Attribution {
    type Err = UnknownAttribution;

    fn from_str(text: &str) -> Result<Self, UnknownAttribution> {
        let known = Self::ALL.into_iter().find(|attribution| attribution.name() == text);
        known.ok_or_else(|| UnknownAttribution(text.to_owned()))
    }
}

impl TryFrom<String> for Attribution {
    type Error = UnknownAttribution;

    fn try_from(text: String) -> Result<Self, UnknownAttribution> {
        text.parse()
    }
}
