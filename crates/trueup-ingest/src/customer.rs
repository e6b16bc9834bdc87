//! A customer by its account and its id.

use std::fmt;
use trueup_core::Shown;

/// A customer of an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Customer {
    /// The key of the account.
    pub account: String,
    /// The id of the customer in the account.
    pub opportunity_id: String,
}

impl fmt::Display for Customer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "customer `{}` of account `{}`", Shown(&self.opportunity_id), Shown(&self.account))
    }
}
