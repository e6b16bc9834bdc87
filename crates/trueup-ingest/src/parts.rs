//! The parts of a distributed ingest: which accounts a part has, the plan that every part follows, and what a part
//! hands back.
//!
//! ```text
//! one process     Ingest::begin_staged   takes the lock; writes the other tables            ingest/staged_ingest
//!   │ StagePlan, as text
//! every part      Ingest::stage          reads, checks, sorts and writes events             ingest/stage
//!   │ Staged, as bytes
//! that process    StagedIngest::commit   checks that the parts are whole, publishes once    ingest/staged_ingest
//! ```

mod plan;
mod staged;

pub use plan::StagePlan;
pub(crate) use plan::{PartSettings, base_of};
pub use staged::Staged;
pub(crate) use staged::in_order;

use crate::IngestError;
use crate::error::StageFault;
use std::collections::BTreeSet;

/// The most parts of an ingest. More would only make small files.
pub(crate) const MAX_PARTS: u32 = 100_000;

/// Returns the part of an account, counted from 0: the CRC-32 of its key in UTF-8, modulo the number of parts.
/// Returns 0 if there are no parts. Other engines have this function, too: in Spark SQL it is `crc32(account) % parts`.
///
/// ```
/// use trueup_ingest::part_of;
///
/// assert_eq!(part_of("north-va", 1), 0);
/// assert_eq!(part_of("123456789", 1_000), 0xcbf4_3926 % 1_000);
/// ```
#[must_use]
pub fn part_of(account: &str, parts: u32) -> u32 {
    crc32fast::hash(account.as_bytes()).checked_rem(parts).unwrap_or(0)
}

/// The accounts of one part.
pub(crate) struct PartOfAccounts<'a> {
    pub(crate) part: u32,
    pub(crate) parts: u32,
    /// The accounts that may have new rows; `None` if any may.
    pub(crate) planned: Option<&'a BTreeSet<String>>,
}

impl PartOfAccounts<'_> {
    /// Returns whether the part has the stored rows of an account.
    pub(crate) fn has(&self, account: &str) -> bool {
        part_of(account, self.parts) == self.part
    }

    /// Checks that the part may have new rows of an account.
    pub(crate) fn check(&self, account: &str) -> Result<(), IngestError> {
        let belongs = part_of(account, self.parts);
        if belongs != self.part {
            return Err(StageFault::OtherPart { account: account.to_owned(), part: self.part, belongs }.into());
        }
        if self.planned.is_some_and(|planned| !planned.contains(account)) {
            return Err(StageFault::Unplanned(account.to_owned()).into());
        }
        Ok(())
    }
}
