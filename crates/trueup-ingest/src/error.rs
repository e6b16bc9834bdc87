//! What can go wrong, in four types. A fault is made where it is found, and gets its place with `at`:
//!
//! ```text
//! RowFault       a row that breaks a rule: its location, column and value             row.rs, rejected_rows.rs
//! FileFault      an input as a whole: its format, its text, its columns               file.rs
//! MappingFault   a key of a mapping                                                   mapping.rs
//! IngestError    any of these with its file, or another of the kinds of failures      kind.rs
//! ```
//!
//! Some kinds have words of their own in a file: `output.rs`, `repetition.rs`, `spend_twice.rs` and `stage.rs`. This
//! folder depends on no other one of the crate. Here is what an error says about itself, and how failures of other
//! libraries become one.

mod file;
mod kind;
mod mapping;
mod output;
mod rejected_rows;
mod repetition;
mod row;
mod spend_twice;
mod stage;

pub use file::{FileFault, UnfitColumn};
pub use kind::ErrorKind;
pub use mapping::MappingFault;
pub(crate) use mapping::OfMapping;
pub use output::OutputError;
pub(crate) use rejected_rows::MAX_RULES;
pub use rejected_rows::{BrokenRule, MaxRejects, ParseMaxRejectsError, RejectedRow, RejectedRows};
pub use repetition::{Difference, Repetition};
pub(crate) use row::{CellText, RowCells, shortened, with_utc_offset};
pub use row::{InputLocation, RowFault, Rule};
pub use spend_twice::{SpendTwice, TwiceRows};
pub use stage::StageFault;

use std::io;
use std::path::Path;
use trueup_core::Interruption;
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::without_credentials;

/// An ingest that failed.
///
/// The dataset is unchanged, unless the new version [may be published](Self::may_be_published). The message names the
/// file, the row, and the value at fault. It has one line, unless the value has line ends or the message shows a
/// mapping that is not TOML; [`source`](std::error::Error::source) is the cause, if there is one. A program that acts
/// on an error matches its [`kind`](Self::kind), or the [`row`](Self::row) at fault.
///
/// ```
/// use trueup_ingest::{Ingest, InputLocation, Reason, Rule};
///
/// # let dir = tempfile::tempdir()?;
/// let events = dir.path().join("events.csv");
/// std::fs::write(&events, "account,opportunityId,type,date\nacme,1,bought,2025-01-31\n")?;
/// let error = Ingest::into(dir.path().join("dataset")).events(&events).run().unwrap_err();
/// let (file, row) = error.row().ok_or("no row is at fault")?;
/// assert_eq!((file, row.location()), (&*events, InputLocation::Line(2)));
/// assert_eq!((row.column(), row.value()), (Some("type"), Some("bought")));
/// assert_eq!(row.rule(), &Rule::Value(Reason::Stage));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct IngestError(Box<ErrorKind>);

impl IngestError {
    /// Returns what went wrong.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns the first row that breaks a rule, if that is why the ingest failed, and its file: the input, or the file
    /// that a mapping joins if the value is in it. `None` if too many rows were rejected, or all rows of a table:
    /// [`rejected_rows`](Self::rejected_rows) has them.
    #[must_use]
    pub fn row(&self) -> Option<(&Path, &RowFault)> {
        match self.kind() {
            ErrorKind::Row { path, fault } => Some((path, fault)),
            ErrorKind::Rejected { first, .. } => first.row(),
            ErrorKind::AfterRejects { error, .. } | ErrorKind::Part { error, .. } => error.row(),
            _ => None,
        }
    }

    /// Returns what interrupted the command, if something did. [`ErrorKind::Interrupted`] says what is then left.
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        match self.kind() {
            ErrorKind::Interrupted(interruption) => Some(*interruption),
            ErrorKind::Part { error, .. } | ErrorKind::UnfinishedPurge { error, .. } => error.interruption(),
            _ => None,
        }
    }

    /// Returns whether the data is at fault: an input that cannot be opened, is not in its format, or exceeds a limit;
    /// a folder or a pattern without a file, or a folder with a file of unknown format; a row that breaks a rule; a
    /// mapping that cannot be read or run; a change that the dataset does not allow; events that it may have already; a
    /// dataset that is missing or damaged; another command that writes to the same dataset; an object store that
    /// [cannot keep a dataset](ErrorKind::UnconditionalStore); a rejects file that may not be written; a file that is
    /// given as a rejects file and has other lines; or parts of a distributed ingest that do not fit together.
    #[must_use]
    pub fn is_data(&self) -> bool {
        match self.kind() {
            ErrorKind::Manifest(error) => !matches!(error, ManifestError::Io { .. }) && !error.may_be_published(),
            ErrorKind::Output(error) => !matches!(error, OutputError::Io { .. }),
            ErrorKind::AfterRejects { error, .. }
            | ErrorKind::Part { error, .. }
            | ErrorKind::UnfinishedPurge { error, .. } => error.is_data(),
            // An input that cannot be opened is a fault of the data; a full disk is not.
            ErrorKind::Io { action, .. } => *action == OPEN,
            ErrorKind::Interrupted(_)
            | ErrorKind::PatchWithOthers
            | ErrorKind::NotReadBack { .. }
            | ErrorKind::Write { .. }
            | ErrorKind::Internal { .. } => false,
            _ => !self.is_usage(),
        }
    }

    /// Returns whether readers may see the new version although the ingest failed, because the file system or the
    /// object store refused while the version was published or made durable.
    #[must_use]
    pub fn may_be_published(&self) -> bool {
        matches!(&*self.0, ErrorKind::Manifest(error) if error.may_be_published())
    }

    /// Returns whether another command has published the version that this one would have published.
    pub(crate) fn is_overtaken(&self) -> bool {
        matches!(&*self.0, ErrorKind::Manifest(ManifestError::Conflict { .. }))
    }

    /// Returns the rows that break a rule, if the ingest has counted any and [the data is at fault](Self::is_data): all
    /// such rows of the inputs, or the ones that were found before another fault ended the ingest.
    #[must_use]
    pub fn rejected_rows(&self) -> Option<&RejectedRows> {
        match &*self.0 {
            ErrorKind::Rejected { rejected, .. } | ErrorKind::AfterRejects { rejected, .. } => Some(rejected),
            ErrorKind::Part { error, .. } => error.rejected_rows(),
            _ => None,
        }
    }

    /// Returns whether the call is at fault: no input, nobody to forget, an input that is given twice, an input in the
    /// dataset's own folder, a URL that no dataset can be written to, a pattern that is broken, a delimiter that cannot
    /// separate columns, or something that a distributed ingest cannot have.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match &*self.0 {
            ErrorKind::NothingToIngest
            | ErrorKind::NobodyToForget
            | ErrorKind::Delimiter(_)
            | ErrorKind::UrlOfDataset(_)
            | ErrorKind::Io { action: OPEN_DATASET, .. }
            | ErrorKind::Pattern { .. }
            | ErrorKind::GivenTwice(_)
            | ErrorKind::InputInDataset(_) => true,
            ErrorKind::Stage(fault) => fault.is_usage(),
            ErrorKind::Part { error, .. } => error.is_usage(),
            _ => false,
        }
    }
}

/// The action of opening an input. [`IngestError::is_data`] recognizes a missing input by it.
pub(crate) const OPEN: &str = "open the input";

/// The action of finding the dataset's folder or object store. [`IngestError::is_usage`] recognizes a wrong URL by it.
pub(crate) const OPEN_DATASET: &str = "open the dataset";

impl From<ErrorKind> for IngestError {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl IngestError {
    /// Refuses what is held as a whole, such as `accounts`, if it takes more than `limit` bytes of memory.
    pub(crate) fn check_size(what: &'static str, bytes: usize, limit: usize) -> Result<(), Self> {
        if bytes > limit { Err(ErrorKind::LargeTable { what, bytes, limit }.into()) } else { Ok(()) }
    }
}

impl From<ManifestError> for IngestError {
    fn from(error: ManifestError) -> Self {
        ErrorKind::Manifest(error).into()
    }
}

/// Turns a failure into an [`IngestError`] that says what was tried, and with which file.
pub(crate) trait ErrorContext<T, E> {
    /// Names an action of the file system, and the file; of a URL, without what may be secret in it.
    fn at(self, action: &'static str, path: &Path) -> Result<T, IngestError>
    where
        E: Into<io::Error>;

    /// Names an action that no input can make fail.
    fn doing(self, action: &'static str) -> Result<T, IngestError>;

    /// Names the new Parquet file that could not be written, for whatever reason.
    fn writing(self, path: &Path) -> Result<T, IngestError>;

    /// Names the file of the dataset that could not be read.
    fn of_dataset(self, path: &Path) -> Result<T, IngestError>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> ErrorContext<T, E> for Result<T, E> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, IngestError>
    where
        E: Into<io::Error>,
    {
        self.map_err(|source| ErrorKind::Io { action, path: without_credentials(path), source: source.into() }.into())
    }

    fn doing(self, action: &'static str) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Internal { action, source: Box::new(source) }.into())
    }

    fn writing(self, path: &Path) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Write { path: without_credentials(path), source: Box::new(source) }.into())
    }

    fn of_dataset(self, path: &Path) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Stored { path: without_credentials(path), source: Box::new(source) }.into())
    }
}
