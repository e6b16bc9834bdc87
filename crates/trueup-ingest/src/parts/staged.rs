//! What a part of a distributed ingest hands back, and the check that all parts together make up the ingest.

use super::StagePlan;
use crate::IngestError;
use crate::error::{ErrorContext, StageFault};
use crate::events::Reassigned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use trueup_core::dataset::TableProtocol;
use trueup_core::dataset::manifest::{DataFile, checksum};

/// What a part of a distributed ingest hands back: the files that it has written, and counts that
/// [`StagedIngest::commit`](crate::StagedIngest::commit) compares. It goes from process to process [as
/// bytes](Self::to_bytes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Staged {
    /// The id of the ingest.
    pub(crate) ingest: String,
    /// The fingerprint of the plan, which names the version that the part follows and all settings.
    pub(crate) plan: String,
    pub(crate) part: u32,
    /// The id of the attempt that wrote the files.
    pub(crate) attempt: String,
    /// The event files. Their paths are those below the folder of the attempt or, in a store, of the dataset.
    pub(crate) files: Vec<DataFile>,
    /// What became of the rows of the inputs, all of which keep the rules.
    pub(crate) protocol: TableProtocol,
    /// The rows of stored files that the part has taken over.
    pub(crate) carried: u64,
    /// The rows without an event id that are equal to another in every column.
    pub(crate) repeated: u64,
    /// The replaced events that had another customer.
    pub(crate) reassigned: Reassigned,
    /// The stored events that got another day, because the time zone of their account changes.
    pub(crate) moved: u64,
    /// The dimensions of the files.
    pub(crate) dimensions: BTreeSet<String>,
    pub(crate) warnings: Vec<String>,
}

/// The hex digits of the checksum at the end of the bytes.
const CHECKSUM_DIGITS: usize = 64;

impl Staged {
    /// Returns the number of the part.
    #[must_use]
    pub const fn part(&self) -> u32 {
        self.part
    }

    /// Returns the number of rows that the part has read from its inputs.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.protocol.read().rows
    }

    /// Returns the bytes of the files that the part has written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Returns the bytes for another process: JSON, and its checksum.
    ///
    /// # Errors
    /// The value cannot be written as JSON, which does not happen to what a part hands back.
    pub fn to_bytes(&self) -> Result<Vec<u8>, IngestError> {
        let mut bytes = serde_json::to_vec(self).doing("write what a part has staged")?;
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        Ok(bytes)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has returned.
    ///
    /// # Errors
    /// The bytes are changed or incomplete.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IngestError> {
        let sealed = bytes.len().checked_sub(CHECKSUM_DIGITS).and_then(|end| bytes.split_at_checked(end));
        let text = sealed.filter(|(text, found)| checksum(text).as_bytes() == *found);
        let read = text.and_then(|(text, _)| serde_json::from_slice(text).ok());
        read.ok_or_else(|| StageFault::Altered.into())
    }

    /// Checks the counts of the part against each other.
    fn check_rows(&self) -> Result<(), StageFault> {
        let expected = (self.protocol.taken().rows + self.carried).saturating_sub(self.protocol.all_replaced().rows);
        let found = self.files.iter().map(|file| file.rows).sum();
        if expected == found { Ok(()) } else { Err(StageFault::Rows { part: self.part, expected, found }) }
    }
}

/// Checks that some parts are all parts of a plan, each of them once, and that they have taken over every row of the
/// stored files that they write again, `stored_rows` in all. Returns them by number.
pub(crate) fn in_order(
    plan: &StagePlan,
    stored_rows: u64,
    staged: impl IntoIterator<Item = Staged>,
) -> Result<Vec<Staged>, IngestError> {
    let fingerprint = plan.fingerprint()?;
    let mut staged: Vec<Staged> = staged.into_iter().collect();
    staged.sort_by_key(Staged::part);
    for part in &staged {
        if part.ingest != plan.ingest {
            let (found, expected) = (part.ingest.clone(), plan.ingest.clone());
            return Err(StageFault::OtherIngest { part: part.part, found, expected }.into());
        }
        if part.plan != fingerprint {
            return Err(StageFault::OtherPlan(part.part).into());
        }
        plan.part(part.part)?;
        part.check_rows()?;
    }
    if let Some(twice) = staged.windows(2).find(|pair| pair[0].part == pair[1].part) {
        return Err(StageFault::Repeated(twice[0].part).into());
    }
    let found: BTreeSet<u32> = staged.iter().map(Staged::part).collect();
    let missing: Vec<u32> = (0..plan.parts).filter(|part| !found.contains(part)).collect();
    if !missing.is_empty() {
        return Err(StageFault::Missing { missing, parts: plan.parts }.into());
    }
    let expected = stored_rows;
    let found = staged.iter().map(|part| part.carried).sum();
    if expected != found {
        return Err(StageFault::StoredRows { expected, found }.into());
    }
    Ok(staged)
}
