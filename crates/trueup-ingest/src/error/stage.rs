//! Why a distributed ingest fails, apart from what can go wrong in any ingest.

use super::ErrorKind;
use crate::IngestError;
use std::fmt;
use std::path::PathBuf;
use trueup_core::Shown;
use trueup_core::model::tzdata_release;

/// What is wrong with a distributed ingest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageFault {
    /// The ingest has an input or a setting that a distributed ingest cannot have. The text says which.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The number of parts is not allowed.
    #[error("expected 1 to {limit} parts, but found {parts}")]
    Count {
        /// The number of parts.
        parts: u32,
        /// The most parts.
        limit: u32,
    },
    /// The plan has no part with this number.
    #[error("the ingest has the parts 0 to {last}, but no part {part}")]
    NoPart {
        /// The number.
        part: u32,
        /// The number of the last part.
        last: u32,
    },
    /// A text is not a plan.
    #[error("the text is not the plan of a distributed ingest: {0}")]
    NotPlan(String),
    /// The bytes are not what a part has handed back, or they name a file that it cannot have written.
    #[error("the bytes are not what a part of a distributed ingest has handed back; stage the part again")]
    Altered,
    /// The ingest with this id has been committed or given up.
    #[error("the ingest {0} has ended, so that nothing can be staged for it any more")]
    Ended(String),
    /// The dataset's version with this number is not the version that the plan follows.
    #[error("version {0} of the dataset is not the one that the ingest was planned with; begin the ingest again")]
    OtherBase(u64),
    /// The program of a part has another release of the time zone database than this one, by which the ingest was
    /// begun.
    #[error(
        "the ingest was planned with tzdata {}, but this part has {}; use the same trueup for all parts",
        .0, tzdata_release()
    )]
    OtherTzdata(String),
    /// A part has rows of an account that belongs to another part.
    #[error("the rows of account `{}` belong to part {belongs}, but part {part} has some of them", Shown(.account))]
    OtherPart {
        /// The account.
        account: String,
        /// The part that has the rows.
        part: u32,
        /// The part that the account belongs to.
        belongs: u32,
    },
    /// A part has rows of this account, which the ingest was not planned with.
    #[error(
        "there are rows of account `{}`, but the ingest was planned without them; the rows must be the same each time that they \
         are computed",
        Shown(.0)
    )]
    Unplanned(String),
    /// What a part has handed back is of another ingest.
    #[error("part {part} was staged for another ingest ({found}) than this one ({expected})")]
    OtherIngest {
        /// The part.
        part: u32,
        /// The ingest that it was staged for.
        found: String,
        /// This ingest.
        expected: String,
    },
    /// What this part has handed back is of another plan of the ingest.
    #[error(
        "part {0} was staged with another plan of this ingest; begin the ingest again, and stage all parts with the plan \
         that it returns"
    )]
    OtherPlan(u32),
    /// This part was handed back twice.
    #[error("part {0} is there twice; hand back what one attempt has staged, and not that of another")]
    Repeated(u32),
    /// Parts are missing.
    #[error("{} of {parts} parts {}: {}", missing.len(), if missing.len() == 1 { "is missing" } else { "are missing" }, Numbers(.missing))]
    Missing {
        /// The missing parts.
        missing: Vec<u32>,
        /// The number of parts.
        parts: u32,
    },
    /// The rows that a part has written are not as many as it has read, minus the rows that later ones replaced.
    #[error("part {part} has written {found} rows instead of {expected}; begin the ingest again")]
    Rows {
        /// The part.
        part: u32,
        /// The rows that it should have written.
        expected: u64,
        /// The rows of its files.
        found: u64,
    },
    /// The parts together have not taken over each row of the stored files that are rewritten exactly once.
    #[error("the parts have taken over {found} rows of the stored files instead of {expected}; begin the ingest again")]
    StoredRows {
        /// The rows of the stored files that are rewritten.
        expected: u64,
        /// The rows that the parts have taken over.
        found: u64,
    },
    /// A file of a part is missing or has another length.
    #[error(
        "the file `{}` of part {part} {}",
        path.display(),
        match found {
            Some(found) => format!("has {found} bytes instead of {expected}"),
            None => "is not there; every process must reach the dataset at the same place".to_owned(),
        }
    )]
    File {
        /// The part.
        part: u32,
        /// The file.
        path: PathBuf,
        /// The bytes that were written.
        expected: u64,
        /// The bytes that were found; `None` if there is no file.
        found: Option<u64>,
    },
}

impl StageFault {
    /// Returns whether the call is at fault.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(self, Self::Unsupported(_) | Self::Count { .. } | Self::NoPart { .. })
    }
}

impl From<StageFault> for IngestError {
    fn from(fault: StageFault) -> Self {
        ErrorKind::Stage(fault).into()
    }
}

/// The first few of some numbers.
struct Numbers<'a>(&'a [u32]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 8;
        for (at, number) in self.0.iter().take(MOST).enumerate() {
            write!(f, "{}{number}", if at == 0 { "" } else { ", " })?;
        }
        if self.0.len() > MOST { f.write_str(", ...") } else { Ok(()) }
    }
}
