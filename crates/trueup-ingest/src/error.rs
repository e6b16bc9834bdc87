//! The errors of an ingest.

use crate::OutputError;
use crate::refused::{MaxRejects, Refusal, RefusedRows, Rows};
use crate::row_fault::{RowFault, ValueFault};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use trueup_core::Shown;
use trueup_core::dataset::store::StoreError;

/// An ingest that failed.
///
/// The dataset is unchanged, unless the new version [may be published](Self::may_be_published). The message names the
/// file, the row, and the value at fault in one line; [`source`](std::error::Error::source) is the cause, if there is
/// one.
///
/// ```
/// use trueup_ingest::Ingest;
///
/// let error = Ingest::into("dataset").run(&()).unwrap_err();
/// assert!(error.is_usage());
/// assert_eq!(error.to_string(), "there is nothing to ingest: name at least one file");
/// ```
#[derive(Debug)]
pub struct IngestError(Box<ErrorKind>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("cannot {action} `{}`", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("there is nothing to ingest: name at least one file")]
    NothingToIngest,
    #[error("`{}` is given twice; give it once", .0.display())]
    GivenTwice(PathBuf),
    #[error("the input `{}` lies in the folder of the dataset, which holds files of trueup alone; move it elsewhere", .0.display())]
    InputInDataset(PathBuf),
    #[error("{}: {fault}", path.display())]
    Input { path: PathBuf, fault: InputFault },
    #[error("{}, {fault}", path.display())]
    Row { path: PathBuf, fault: RowFault },
    #[error(transparent)]
    Value(Box<ValueFault>),
    #[error("{0}")]
    Refused(Refusal),
    #[error("every row of the {table} breaks a rule ({})", Rows(*.rows))]
    AllRejected { table: &'static str, rows: u64 },
    #[error("{} of {all} break a rule, but at most {limit} may", Rows(*.rejected))]
    ManyRejects { rejected: u64, all: u64, limit: MaxRejects },
    #[error(
        "the time zone of account `{}` is `{stored}` and cannot become `{wanted}`: its events' dates are already decided; \
         to change it, ingest all of the account's events again, together with the new accounts, into a new dataset",
        Shown(.account)
    )]
    ZoneChanged { account: String, stored: String, wanted: String },
    #[error(
        "the events of the dataset would have {count} dimensions, but at most {limit} are allowed; leave columns out, or raise \
         `--max-columns`"
    )]
    ManyDimensions { count: usize, limit: usize },
    #[error(
        "the customer `{customer}` of account `{account}` has {events} events, but at most {limit} per customer are allowed; is the \
         column `opportunityId` right? `--max-customer-events` raises the limit"
    )]
    LongHistory { account: String, customer: String, events: usize, limit: usize },
    #[error(
        "the {events} events of the customer `{customer}` of account `{account}` take {bytes} bytes, but a customer may take at most \
         {limit} in this memory; raise `--memory`"
    )]
    LargeHistory { account: String, customer: String, events: usize, bytes: usize, limit: usize },
    #[error("the events have more than {count} accounts, whose list does not fit in memory; raise `--memory`")]
    ManyAccounts { count: usize },
    #[error("the {what} take {bytes} bytes, but they may take at most {limit} in this memory; raise `--memory`")]
    LargeTable { what: &'static str, bytes: usize, limit: usize },
    #[error("another ingest is writing to `{}`; try again when it is done", .0.display())]
    Busy(PathBuf),
    #[error(transparent)]
    Output(OutputError),
    #[error("{error}; nothing was ingested, and `{}` holds the rows that were rejected before ({rows})", path.display())]
    AfterRejects {
        #[source]
        error: IngestError,
        rows: u64,
        path: PathBuf,
        refused: RefusedRows,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("`{}` of the dataset cannot be read", path.display())]
    Stored { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("cannot {action}")]
    Internal { action: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("{0}")]
    Mapping(Box<dyn std::error::Error + Send + Sync>),
}

/// Why an input as a whole cannot be ingested.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputFault {
    #[error("the file is empty")]
    Empty,
    #[error("the file has no header; its first line must name the columns")]
    NoHeader,
    #[error("line {line}: the header has the column `{}` twice", Shown(.name))]
    RepeatedColumn { line: u64, name: String },
    /// Of a file whose columns the mapping names.
    #[error("the mapping's header has {expected} columns, but the first line has {found}")]
    OtherWidth { expected: usize, found: usize },
    #[error("line {line}: column {at} of the header has no name")]
    NamelessColumn { line: u64, at: usize },
    /// Of a file that declares its columns.
    #[error("the file has {count} columns, but at most {limit} are allowed; leave some out, or raise `--max-columns`")]
    TooManyColumns { count: usize, limit: usize },
    /// Of NDJSON, whose columns are counted while it is read.
    #[error("the file has more than {limit} columns; leave some out, or raise `--max-columns`")]
    ManyColumns { limit: usize },
    #[error("the column name that begins with `{begin}` has {bytes} bytes, but at most {limit} are allowed; rename it")]
    LongName { begin: String, bytes: usize, limit: usize },
    #[error(
        "line {line}: the record has more than {longest} bytes; is a quote never closed? A larger `--memory` may take longer ones, \
         up to 64 MiB"
    )]
    LongRecord { line: u64, longest: usize },
    #[error("line {line}: the document has more than {longest} bytes; publish a shorter one")]
    LongDocument { line: u64, longest: usize },
    #[error("expected a Parquet file, but the file does not begin with `PAR1`")]
    NotParquet,
    #[error("this is a Parquet file, but its name ends differently; rename it to end in `.parquet`")]
    IsParquet,
    #[error("expected an XLSX file, but the file does not begin as a ZIP archive")]
    NotXlsx,
    #[error(
        "this is a ZIP archive, such as an XLSX file, but its name ends differently; unpack it, or rename it to end in `.xlsx`"
    )]
    IsZip,
    #[error("this is a file of an older Excel (.xls); open it and save it as .xlsx")]
    OldExcel,
    #[error("the XLSX file cannot be read: {0}")]
    DamagedWorkbook(String),
    #[error("the workbook has no sheet `{}`; its sheets are `{}`", Shown(.wanted), Shown(.found))]
    NoSheet { wanted: String, found: String },
    #[error("the Parquet file is damaged or cut short: {0}")]
    Damaged(parquet::errors::ParquetError),
    #[error("row group {row_group} (counted from 0) of the Parquet file cannot be read: {source}")]
    DamagedGroup { row_group: usize, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(
        "row group {row_group} (counted from 0) of the Parquet file takes {held} bytes of memory for its pages and up to {row} for \
         a row, but at most {most} are allowed; raise `--memory`, or write the file with smaller pages"
    )]
    TooLarge { row_group: usize, held: usize, row: usize, most: usize },
    #[error("line {line}: {what}")]
    Record { line: u64, what: &'static str },
    #[error("{0}")]
    Schema(String),
}

impl IngestError {
    /// Returns whether the data is at fault: an input that does not exist, is not in its format, or exceeds a limit; a
    /// row that breaks a rule; a mapping that cannot be read or run; a change that the dataset does not allow; a
    /// dataset that is damaged; another ingest into the same dataset; or a rejects file that may not be written.
    #[must_use]
    pub fn is_data(&self) -> bool {
        match &*self.0 {
            ErrorKind::Input { .. }
            | ErrorKind::Row { .. }
            | ErrorKind::Value(_)
            | ErrorKind::Refused(_)
            | ErrorKind::AllRejected { .. }
            | ErrorKind::ManyRejects { .. }
            | ErrorKind::ZoneChanged { .. }
            | ErrorKind::ManyDimensions { .. }
            | ErrorKind::LongHistory { .. }
            | ErrorKind::LargeHistory { .. }
            | ErrorKind::ManyAccounts { .. }
            | ErrorKind::LargeTable { .. }
            | ErrorKind::Busy(_)
            | ErrorKind::Stored { .. } => true,
            ErrorKind::Store(error) => !matches!(error, StoreError::Io { .. }) && !error.may_be_published(),
            ErrorKind::Output(error) => !matches!(error, OutputError::Io { .. }),
            ErrorKind::AfterRejects { error, .. } => error.is_data(),
            // An input that cannot be opened is a fault of the data; a full disk is not.
            ErrorKind::Io { action, .. } => *action == OPEN,
            ErrorKind::Mapping(_) => true,
            _ => false,
        }
    }

    /// Returns whether readers may see the new version although the ingest failed, because the file system refused
    /// while the version was published or made durable.
    #[must_use]
    pub fn may_be_published(&self) -> bool {
        matches!(&*self.0, ErrorKind::Store(error) if error.may_be_published())
    }

    /// Returns the rows that break a rule, if there are any: all rows of the inputs, or the ones before the fault that
    /// ended the ingest.
    #[must_use]
    pub fn refused_rows(&self) -> Option<&RefusedRows> {
        match &*self.0 {
            ErrorKind::Refused(Refusal { refused, .. }) | ErrorKind::AfterRejects { refused, .. } => Some(refused),
            _ => None,
        }
    }

    /// Returns whether the call is at fault: no input, an input that is given twice, or an input in the dataset's own
    /// folder.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(&*self.0, ErrorKind::NothingToIngest | ErrorKind::GivenTwice(_) | ErrorKind::InputInDataset(_))
    }
}

impl IngestError {
    /// Returns what happened, to be matched.
    pub(crate) fn into_kind(self) -> ErrorKind {
        *self.0
    }
}

/// The action of opening an input. [`IngestError::is_data`] recognizes a missing input by it.
pub(crate) const OPEN: &str = "open the input";

impl From<ErrorKind> for IngestError {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<StoreError> for IngestError {
    fn from(error: StoreError) -> Self {
        ErrorKind::Store(error).into()
    }
}

impl fmt::Display for IngestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for IngestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Turns a failure into an [`IngestError`] that says what was tried, and with which file.
pub(crate) trait ErrorContext<T, E> {
    /// Names an action of the file system, and the file.
    fn at(self, action: &'static str, path: &Path) -> Result<T, IngestError>
    where
        E: Into<io::Error>;

    /// Names an action that no input can make fail.
    fn doing(self, action: &'static str) -> Result<T, IngestError>;

    /// Names the new file that could not be written, if the failure is not that of the file system itself.
    fn writing(self, path: &Path) -> Result<T, IngestError>;

    /// Names the file of the dataset that could not be read.
    fn of_dataset(self, path: &Path) -> Result<T, IngestError>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> ErrorContext<T, E> for Result<T, E> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, IngestError>
    where
        E: Into<io::Error>,
    {
        self.map_err(|source| ErrorKind::Io { action, path: path.to_owned(), source: source.into() }.into())
    }

    fn doing(self, action: &'static str) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Internal { action, source: Box::new(source) }.into())
    }

    fn writing(self, path: &Path) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Write { path: path.to_owned(), source: Box::new(source) }.into())
    }

    fn of_dataset(self, path: &Path) -> Result<T, IngestError> {
        self.map_err(|source| ErrorKind::Stored { path: path.to_owned(), source: Box::new(source) }.into())
    }
}

impl InputFault {
    /// Adds the file.
    pub(crate) fn of(self, path: &Path) -> IngestError {
        ErrorKind::Input { path: path.to_owned(), fault: self }.into()
    }
}
