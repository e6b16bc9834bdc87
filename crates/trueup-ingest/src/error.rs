//! The errors of an ingest.

use crate::OutputError;
use crate::mapping::MappingError;
use crate::refused::{MaxRejects, Refusal, RefusedRows, Rows};
use crate::row_fault::{InputLocation, RowFault, Rule, ValueFault};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use trueup_core::dataset::store::StoreError;
use trueup_core::model::SchemaFault;
use trueup_core::{Interruption, Shown};

/// An ingest that failed.
///
/// The dataset is unchanged, unless the new version [may be published](Self::may_be_published). The message names the
/// file, the row, and the value at fault in one line; [`source`](std::error::Error::source) is the cause, if there is
/// one. A program that acts on an error matches its [`kind`](Self::kind), or the [`row`](Self::row) at fault.
///
/// ```
/// use trueup_ingest::{Ingest, InputLocation, Reason, Rule};
///
/// # let dir = tempfile::tempdir()?;
/// let events = dir.path().join("events.csv");
/// std::fs::write(&events, "account,opportunityId,type,date\nacme,1,bought,2025-01-31\n")?;
/// let error = Ingest::into(dir.path().join("dataset")).events(&events).run().unwrap_err();
/// let row = error.row().ok_or("no row is at fault")?;
/// assert_eq!((row.file, row.location), (&*events, InputLocation::Line(2)));
/// assert_eq!((row.column, row.value, row.rule), (Some("type"), Some("bought"), Rule::Value(Reason::Stage)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IngestError(Box<ErrorKind>);

/// What went wrong in an ingest. Match on it with [`IngestError::kind`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system reported an error.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// No input was given.
    #[error("there is nothing to ingest: name at least one file")]
    NothingToIngest,
    /// A character cannot separate the columns of CSV files.
    #[error("`{}` cannot separate columns; use an ASCII character that is neither a quote nor a line end", .0.escape_default())]
    Delimiter(char),
    /// An input is a URL.
    #[error("`{}` is a URL, and only files are read yet; download it, or pipe it into `trueup ingest -`", .0.display())]
    Url(PathBuf),
    /// The dataset is a URL.
    #[error("`{}` is a URL, and a dataset can only be in a folder yet; ingest into a folder, and copy it", .0.display())]
    UrlOfDataset(PathBuf),
    /// A pattern of names is broken.
    #[error("`{}` is no pattern of names: {reason}", pattern.display())]
    Pattern {
        /// The pattern.
        pattern: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A pattern of file names matches nothing.
    #[error("no file matches `{}`", .0.display())]
    NoMatch(PathBuf),
    /// A folder has no files to read.
    #[error("there is no file to read in the folder `{}`; names that begin with `.` or `_` are left out", .0.display())]
    EmptyFolder(PathBuf),
    /// A folder has a file whose name does not say its format.
    #[error(
        "the folder `{}` has the file `{}`, whose name does not say its format; name the files with a pattern such as \
         `{}/*.csv`, or say `--format`",
        folder.display(), file.display(), folder.display()
    )]
    UnknownInFolder {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// An input was given twice.
    #[error("`{}` is given twice; give it once", .0.display())]
    GivenTwice(PathBuf),
    /// An input lies in the folder of the dataset.
    #[error("the input `{}` lies in the folder of the dataset, which holds files of trueup alone; move it elsewhere", .0.display())]
    InputInDataset(PathBuf),
    /// An input as a whole cannot be ingested.
    #[error("{}: {fault}", path.display())]
    Input {
        /// The input.
        path: PathBuf,
        /// What is wrong with it.
        fault: InputFault,
    },
    /// A row breaks a rule.
    #[error("{}, {fault}", path.display())]
    Row {
        /// The input.
        path: PathBuf,
        /// The row, its column and value, and the rule.
        fault: RowFault,
    },
    /// A row has a value that the mapping cannot read.
    #[error(transparent)]
    Value(Box<ValueFault>),
    /// Rows break a rule, and there is no rejects file.
    #[error("{0}")]
    Refused(Refusal),
    /// Every row of a table breaks a rule.
    #[error("every row of the {table} breaks a rule ({})", Rows(*.rows))]
    AllRejected {
        /// The table.
        table: &'static str,
        /// Its rows.
        rows: u64,
    },
    /// More rows break a rule than may be rejected.
    #[error("{} of {all} break a rule, but at most {limit} may", Rows(*.rejected))]
    ManyRejects {
        /// The rows that break a rule.
        rejected: u64,
        /// All rows.
        all: u64,
        /// The most rows that may be rejected.
        limit: MaxRejects,
    },
    /// An account with events would get another time zone.
    #[error(
        "the time zone of account `{}` is `{stored}` and cannot become `{wanted}`: {why}; to change it, \
         ingest all of the account's events again, together with the new accounts, into a new dataset",
        Shown(.account)
    )]
    ZoneChanged {
        /// The account.
        account: String,
        /// Its time zone in the dataset.
        stored: String,
        /// Its time zone in the inputs.
        wanted: String,
        /// Why the days of its events cannot be computed again.
        why: String,
    },
    /// The events have too many dimensions.
    #[error(
        "the events of the dataset would have {count} dimensions, but at most {limit} are allowed; leave columns out, or raise \
         `--max-columns`"
    )]
    ManyDimensions {
        /// The dimensions of the dataset and the inputs.
        count: usize,
        /// The most dimensions allowed.
        limit: usize,
    },
    /// A customer has too many events.
    #[error(
        "the customer `{customer}` of account `{account}` has {events} events, but at most {limit} per customer are allowed; is the \
         column `opportunityId` right? `--max-customer-events` raises the limit"
    )]
    LongHistory {
        /// The account.
        account: String,
        /// The customer.
        customer: String,
        /// The events of the customer.
        events: usize,
        /// The most events allowed.
        limit: usize,
    },
    /// The events of a customer do not fit in memory.
    #[error(
        "the {events} events of the customer `{customer}` of account `{account}` take {bytes} bytes, but a customer may take at most \
         {limit} in this memory; raise `--memory`"
    )]
    LargeHistory {
        /// The account.
        account: String,
        /// The customer.
        customer: String,
        /// The events of the customer.
        events: usize,
        /// The bytes of memory that they take.
        bytes: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// The keys of the accounts do not fit in memory.
    #[error("the events have more than {count} accounts, whose list does not fit in memory; raise `--memory`")]
    ManyAccounts {
        /// The accounts that were counted.
        count: usize,
    },
    /// A table that is held as a whole does not fit in memory.
    #[error("the {what} take {bytes} bytes, but they may take at most {limit} in this memory; raise `--memory`")]
    LargeTable {
        /// The rows, in words.
        what: &'static str,
        /// The bytes of memory that they take.
        bytes: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// The inputs that a mapping joins do not fit in memory.
    #[error(
        "the mapping joins `{}` and holds its rows in memory: with them, joined inputs take at least {bytes} bytes, but they may take at \
         most {limit} in this memory; raise `--memory`",
        path.display()
    )]
    LargeJoin {
        /// The file that does not fit.
        path: PathBuf,
        /// The bytes of memory that the inputs take with this file, at least.
        bytes: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// Another ingest is writing to the dataset.
    #[error("another ingest is writing to `{}`; try again when it is done", .0.display())]
    Busy(PathBuf),
    /// The ingest was interrupted. The dataset is as before, and nothing of the ingest is left.
    #[error("{}, and nothing was ingested", interrupted(.0))]
    Interrupted(Interruption),
    /// The rejects file cannot be written.
    #[error(transparent)]
    Output(OutputError),
    /// The ingest failed after some rows were rejected; the rejects file holds these rows.
    #[error("{error}; nothing was ingested, and `{}` holds the rows that were rejected before ({rows})", path.display())]
    AfterRejects {
        /// Why the ingest failed.
        #[source]
        error: IngestError,
        /// The rows that were rejected.
        rows: u64,
        /// The rejects file.
        path: PathBuf,
        /// The same rows, by rule.
        refused: RefusedRows,
    },
    /// A manifest of the dataset cannot be found, read or published.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the dataset cannot be read.
    #[error("`{}` of the dataset cannot be read", path.display())]
    Stored {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A new file cannot be written, for a reason other than the file system.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something failed that no input can make fail.
    #[error("cannot {action}")]
    Internal {
        /// What was tried.
        action: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The mapping cannot be read or run.
    #[error("{0}")]
    Mapping(Box<MappingError>),
}

const fn interrupted(interruption: &Interruption) -> &'static str {
    match interruption {
        Interruption::Deadline => "the ingest took longer than it may",
        Interruption::Canceled => "the ingest was canceled",
    }
}

/// Why an input as a whole cannot be ingested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// A CSV file or a sheet has no header.
    #[error("the file has no header; its first line must name the columns")]
    NoHeader,
    /// The header names a column twice.
    #[error("line {line}: the header has the column `{}` twice", Shown(.name))]
    RepeatedColumn {
        /// The line, counted from 1.
        line: u64,
        /// The name.
        name: String,
    },
    /// The first line has not as many cells as the mapping names columns.
    #[error("the mapping's header has {expected} columns, but the first line has {found}")]
    OtherWidth {
        /// The number that is expected.
        expected: usize,
        /// The number that was found.
        found: usize,
    },
    /// The header has a column without a name.
    #[error("line {line}: column {at} of the header has no name")]
    NamelessColumn {
        /// The line, counted from 1.
        line: u64,
        /// The column, counted from 1.
        at: usize,
    },
    /// A file that declares its columns has too many.
    #[error("the file has {count} columns, but at most {limit} are allowed; leave some out, or raise `--max-columns`")]
    TooManyColumns {
        /// The columns of the file.
        count: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// An NDJSON file, whose columns are counted while it is read, has too many.
    #[error("the file has more than {limit} columns; leave some out, or raise `--max-columns`")]
    ManyColumns {
        /// The largest number allowed.
        limit: usize,
    },
    /// The name of a column is too long.
    #[error("the column name that begins with `{begin}` has {bytes} bytes, but at most {limit} are allowed; rename it")]
    LongName {
        /// The first characters of the name.
        begin: String,
        /// The bytes of the name.
        bytes: usize,
        /// The largest number allowed.
        limit: usize,
    },
    /// A record is too long.
    #[error(
        "line {line}: the record has more than {longest} bytes; is a quote never closed? A larger `--memory` may take longer ones, \
         up to 64 MiB"
    )]
    LongRecord {
        /// The line, counted from 1.
        line: u64,
        /// The most bytes allowed.
        longest: usize,
    },
    /// An insight document is too long.
    #[error("line {line}: the document has more than {longest} bytes; publish a shorter one")]
    LongDocument {
        /// The line, counted from 1.
        line: u64,
        /// The most bytes allowed.
        longest: usize,
    },
    /// A JSON array is broken.
    #[error("element {element} of the JSON list: {what}")]
    JsonArray {
        /// The element, counted from 1.
        element: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Columns hold values that the table cannot have, such as lists or bytes.
    #[error("columns that cannot be dimensions: {}; leave them out with {}", shown_columns(.0), shown_ignores(.0))]
    UnfitColumns(Vec<UnfitColumn>),
    /// The file and the name of its folder have the same column.
    #[error(
        "the file has a column `{}`, and its folder `{}` gives one, too; say `--ignore '{}'` or `--ignore '{}'` for the one \
         to leave out",
        Shown(.column), Shown(.folder), Shown(.column), Shown(.folder)
    )]
    ColumnOfFolder {
        /// The column.
        column: String,
        /// The folder's name.
        folder: String,
    },
    /// A text is not UTF-8.
    #[error(
        "line {line}: the text is not UTF-8 at byte offset {offset} (0x{byte:02X}); it looks like {likely}: if it is, say \
         `--encoding {likely}`"
    )]
    NotUtf8 {
        /// The line, counted from 1.
        line: u64,
        /// The bytes of the text before the first one that is not UTF-8.
        offset: u64,
        /// That byte.
        byte: u8,
        /// The encoding that the text probably has.
        likely: &'static str,
    },
    /// A text is in UTF-16.
    #[error("the text is not UTF-8 from byte offset 0 on; it looks like {likely}: if it is, say `--encoding {likely}`")]
    Utf16 {
        /// The encoding that the text probably has.
        likely: &'static str,
    },
    /// A text is not in the encoding that was given.
    #[error("the text is not {encoding} at byte offset {offset}; is `--encoding` right?")]
    NotInEncoding {
        /// The encoding.
        encoding: &'static str,
        /// The bytes of the text before the first one that is not in the encoding.
        offset: u64,
    },
    /// The header has one column and other separators.
    #[error(
        "the header has one column: there is no {} in it, but {}; if that separates the columns, say `--delimiter '{}'`",
        shown_separator(*.assumed), shown_counts(.found), candidate.escape_default()
    )]
    OtherSeparator {
        /// The separator that the file was read with.
        assumed: char,
        /// Other separators, and how often the header has each.
        found: Vec<(char, usize)>,
        /// The one that it has most often.
        candidate: char,
    },
    /// The file's name says that it is compressed, and its content says otherwise.
    #[error("the file's name says that it is compressed with {program}, but its first bytes say otherwise; rename it")]
    NotCompressed {
        /// The program, such as `gzip`.
        program: &'static str,
    },
    /// A compressed file cannot be unpacked.
    #[error("the file cannot be unpacked with {program}, it is damaged or cut short: {source}")]
    DamagedCompression {
        /// The program, such as `gzip`.
        program: &'static str,
        /// What the program says.
        source: io::Error,
    },
    /// A compressed file unpacks to far more than data does.
    #[error(
        "the file unpacks to more than {ratio} times its size, which data rarely does; if it is sound, unpack it first"
    )]
    CompressionBomb {
        /// The most bytes that a byte of the file may become, on average.
        ratio: u64,
    },
    /// A file that is no text is compressed as a whole.
    #[error("only text is read while it is compressed; unpack the file first")]
    CompressedBinary,
    /// The file should be a Parquet file and is not.
    #[error("expected a Parquet file, but the file does not begin with `PAR1`")]
    NotParquet,
    /// The file is a Parquet file and should not be.
    #[error("this is a Parquet file, but its name ends differently; rename it to end in `.parquet`")]
    IsParquet,
    /// The file should be an XLSX file and is not.
    #[error("expected an XLSX file, but the file does not begin as a ZIP archive")]
    NotXlsx,
    /// The file is a ZIP archive and should not be.
    #[error(
        "this is a ZIP archive, such as an XLSX file, but its name ends differently; unpack it, or rename it to end in `.xlsx`"
    )]
    IsZip,
    /// The file is of an older Excel.
    #[error(
        "this is a file of an older Excel (.xls), or one that a password protects; open it and save it as .xlsx without a \
         password"
    )]
    OldExcel,
    /// The file is a ZIP archive of other files.
    #[error("this is a ZIP archive without a workbook in it; unpack it, and give the files in it")]
    NoWorkbook,
    /// The file is no table.
    #[error("this is {what}, not a table; export the data as CSV, NDJSON, XLSX or Parquet")]
    NoTable {
        /// What the file is, such as `a PDF file`.
        what: &'static str,
    },
    /// The XLSX file is damaged; the message of its reader.
    #[error("the XLSX file cannot be read: {0}")]
    DamagedWorkbook(String),
    /// The workbook has no sheet of the name.
    #[error("the workbook has no sheet `{}`; its sheets are `{}`", Shown(.wanted), Shown(.found))]
    NoSheet {
        /// The name.
        wanted: String,
        /// The sheets of the workbook.
        found: String,
    },
    /// The Parquet file is damaged or cut short.
    #[error("the Parquet file is damaged or cut short: {0}")]
    Damaged(parquet::errors::ParquetError),
    /// A row group of the Parquet file cannot be read.
    #[error("row group {row_group} (counted from 0) of the Parquet file cannot be read: {source}")]
    DamagedGroup {
        /// The row group, counted from 0.
        row_group: usize,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A row group of the Parquet file does not fit in memory.
    #[error(
        "row group {row_group} (counted from 0) of the Parquet file takes {held} bytes of memory for its pages and up to {row} for \
         a row, but at most {most} are allowed; raise `--memory`, or write the file with smaller pages"
    )]
    TooLarge {
        /// The row group, counted from 0.
        row_group: usize,
        /// The bytes of memory that its pages take.
        held: usize,
        /// The most bytes of memory that a row takes.
        row: usize,
        /// The most bytes of memory allowed.
        most: usize,
    },
    /// A line of the file cannot be read.
    #[error("line {line}: {what}")]
    Record {
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with the line.
        what: &'static str,
    },
    /// The columns are not those of the table.
    #[error("{_0}{hint}", hint = draft_hint(_0))]
    Schema(SchemaFault),
    /// A record batch has other columns than the first one.
    #[error("record batch {batch} (counted from 0) has other columns than the first one")]
    OtherColumns {
        /// The batch, counted from 0.
        batch: usize,
    },
    /// There is no record batch that says what the columns are.
    #[error("there is no record batch; give one without rows, or a reader that knows its columns")]
    NoBatches,
    /// Insights are given as something other than lines of JSON.
    #[error("insights are documents, one JSON object per line; give a file or a reader of NDJSON")]
    NotDocuments,
    /// The rows cannot be read, or not held in memory in the form that they need.
    #[error("{0}")]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
}

/// A column that a table cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitColumn {
    /// The name.
    pub name: String,
    /// The type, as Arrow writes it.
    pub data_type: String,
}

fn shown_columns(columns: &[UnfitColumn]) -> String {
    let shown = |column: &UnfitColumn| format!("`{}` ({})", Shown(&column.name), Shown(&column.data_type));
    columns.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn shown_ignores(columns: &[UnfitColumn]) -> String {
    let shown = |column: &UnfitColumn| format!("`--ignore {}`", Shown(&column.name));
    columns.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Returns how many of each separator there are, for messages.
fn shown_counts(found: &[(char, usize)]) -> String {
    let counts: Vec<String> = found.iter().map(|(char, count)| format!("{count} {}", shown_separator(*char))).collect();
    counts.join(", ")
}

fn shown_separator(separator: char) -> String {
    if separator == '\t' { "tab".to_owned() } else { format!("`{separator}`") }
}

impl IngestError {
    /// Returns whether the data is at fault: an input that does not exist, is not in its format, or exceeds a limit; a
    /// row that breaks a rule; a mapping that cannot be read or run; a change that the dataset does not allow; a
    /// dataset that is damaged; another ingest into the same dataset; or a rejects file that may not be written.
    #[must_use]
    pub fn is_data(&self) -> bool {
        match &*self.0 {
            ErrorKind::Input { .. }
            | ErrorKind::NoMatch(_)
            | ErrorKind::EmptyFolder(_)
            | ErrorKind::UnknownInFolder { .. }
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
            | ErrorKind::LargeJoin { .. }
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
        matches!(
            &*self.0,
            ErrorKind::NothingToIngest
                | ErrorKind::Delimiter(_)
                | ErrorKind::Url(_)
                | ErrorKind::UrlOfDataset(_)
                | ErrorKind::Pattern { .. }
                | ErrorKind::GivenTwice(_)
                | ErrorKind::InputInDataset(_)
        )
    }
}

/// A row that breaks a rule, whatever its input is and however that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultyRow<'e> {
    /// The input.
    pub file: &'e Path,
    /// Where the row is in the input.
    pub location: InputLocation,
    /// The column at fault; `None` if the record as a whole is.
    pub column: Option<&'e str>,
    /// The value at fault as text, shortened if it is long; `None` if there is no single one. Null is empty.
    pub value: Option<&'e str>,
    /// The rule that the row breaks.
    pub rule: Rule,
}

impl IngestError {
    /// Returns what went wrong.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns the first row that breaks a rule, if that is why the ingest failed.
    #[must_use]
    pub fn row(&self) -> Option<FaultyRow<'_>> {
        match self.kind() {
            ErrorKind::Row { path, fault } => Some(FaultyRow {
                file: path,
                location: fault.location(),
                column: fault.column(),
                value: fault.value(),
                rule: fault.rule().clone(),
            }),
            ErrorKind::Value(fault) => Some(fault.faulty_row()),
            ErrorKind::Refused(refusal) => refusal.first().row(),
            ErrorKind::AfterRejects { error, .. } => error.row(),
            _ => None,
        }
    }

    /// Returns what interrupted the ingest, if something did. It then has left nothing behind.
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        match self.kind() {
            ErrorKind::Interrupted(interruption) => Some(*interruption),
            _ => None,
        }
    }

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

/// Says how to read a file of another shape, if columns are missing.
fn draft_hint(fault: &SchemaFault) -> &'static str {
    match fault {
        SchemaFault::MissingColumns { .. } | SchemaFault::NoSpend { .. } => {
            "; if it is a file of another shape, `trueup mapping draft FILE` drafts a mapping of it"
        }
        _ => "",
    }
}

impl InputFault {
    /// Adds the file.
    pub(crate) fn of(self, path: &Path) -> IngestError {
        ErrorKind::Input { path: path.to_owned(), fault: self }.into()
    }
}
