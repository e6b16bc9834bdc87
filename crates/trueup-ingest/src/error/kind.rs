//! What went wrong in an ingest, and the words for it.

use super::rejected_rows::Rows;
use super::{
    FileFault, MappingFault, MaxRejects, OutputError, RejectedRows, Repetition, RowFault, SpendTwice, StageFault,
};
use crate::IngestError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use trueup_core::dataset::manifest::OtherTzdata;
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{DatasetError, without_credentials};
use trueup_core::definitions::DefinitionError;
use trueup_core::{Interruption, Shown};

/// What went wrong in an ingest. Match on it with [`IngestError::kind`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system, an object store, a web server, or a reader that was given as a source, reported an error.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file or folder, the URL, or the name of the source.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// No input was given.
    #[error("there is nothing to ingest: name at least one file")]
    NothingToIngest,
    /// No customer to forget was named.
    #[error("there is nobody to forget: name at least one customer")]
    NobodyToForget,
    /// A character cannot separate the columns of CSV files.
    #[error("`{}` cannot separate columns; use an ASCII character that is neither a quote nor a line end", .0.escape_default())]
    Delimiter(char),
    /// The dataset is a folder of a web server.
    #[error(
        "`{}` is a folder of a web server, where a dataset can only be read; ingest into a folder, or into an object store \
         (`s3://`, `gs://`, `az://`)",
        .0.display()
    )]
    UrlOfDataset(PathBuf),
    /// The object store of the dataset lets writers replace the objects of others.
    #[error(
        "the store of `{}` ignores the condition that an object must not exist yet (`If-None-Match`), so that two ingests could \
         replace each other's version; use a store that honors it",
        .0.display()
    )]
    UnconditionalStore(PathBuf),
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
    #[error("`{}`: {fault}", path.display())]
    Input {
        /// The input.
        path: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// A row breaks a rule.
    #[error("`{}`, {fault}", path.display())]
    Row {
        /// The file that the value is in: the input, or the one that a mapping joins.
        path: PathBuf,
        /// The row, its column and value, and the rule.
        fault: RowFault,
    },
    /// Rows break a rule, and there is no rejects file.
    #[error("{first}{}{}", more_rows(rejected.rows().saturating_sub(1)), then.as_ref().map_or_else(String::new, |then| format!("; and {then}")))]
    Rejected {
        /// The error of the first row.
        first: IngestError,
        /// All rows that break a rule.
        rejected: RejectedRows,
        /// What kept the inputs from being read to their end, if anything did.
        then: Option<IngestError>,
    },
    /// Every row of a table breaks a rule.
    #[error("every row of the {table} breaks a rule ({})", Rows(*.rows))]
    AllRejected {
        /// The table.
        table: &'static str,
        /// Its rows.
        rows: u64,
    },
    /// More rows break a rule than may be rejected.
    #[error(
        "{} of {all} {} a rule, but at most {limit} may",
        Rows(*.rejected), if *rejected == 1 { "breaks" } else { "break" }
    )]
    ManyRejects {
        /// The rows that break a rule.
        rejected: u64,
        /// All rows.
        all: u64,
        /// The most rows that may be rejected.
        limit: MaxRejects,
    },
    /// More event ids than this limit are shared by several events of the ingest, so that not even their rows can be
    /// rejected.
    #[error(
        "more than {0} values of `eventId` are each shared by several events, which differ in `type` or \
         `opportunityId`; the column does not identify events: make the id of several columns, or leave it out"
    )]
    ManySharedIds(usize),
    /// Spend with a source would count next to spend without one.
    #[error("{0}")]
    SpendTwice(SpendTwice),
    /// An earlier version cannot become the newest one, because it is not there.
    #[error(
        "version {version} cannot be restored: {}; the newest one is {newest}, and `trueup versions` lists all",
        if *is_taken { "it has expired" } else { "there is no such version" }
    )]
    NotRestored {
        /// The version to restore.
        version: u64,
        /// The newest version.
        newest: u64,
        /// Whether there was such a version.
        is_taken: bool,
    },
    /// An account with events would get another time zone, but the days of its events cannot be computed again.
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
    /// Days of the dataset were computed by a newer release of the time zone database than that of this program.
    #[error("{0}; ingest with a newer trueup")]
    NewerTzdata(OtherTzdata),
    /// There is no dataset to change.
    #[error("`{}` holds no dataset", .0.display())]
    NoDataset(PathBuf),
    /// Definitions of metrics and dimensions do not suit the dataset.
    #[error("definitions: {0}")]
    Definitions(DefinitionError),
    /// Without the customers to forget, no event has a column that a definition needs.
    #[error(
        "only customers to forget have what a definition needs: {0}; change the definitions first (`trueup define`)"
    )]
    ForgottenColumn(DefinitionError),
    /// A file from which the rows of customers are to be removed has a line that is no rejected row.
    #[error("`{}`, line {line}: expected a row as `--rejects` of an ingest writes it", path.display())]
    NotRejects {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// An input has a column with the name of a definition.
    #[error(
        "`{}`: the events would have the column `{column}`, but the dataset defines a metric or dimension of this name; leave \
         the column out with `--ignore {column}`, or define the dataset's own fields without it (`trueup define`)",
        .path.display()
    )]
    DefinedColumn {
        /// The input.
        path: PathBuf,
        /// The column.
        column: String,
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
        "the customer `{}` of account `{}` has {events} events, but at most {limit} per customer are allowed; is the \
         column `opportunityId` right? `--max-customer-events` raises the limit",
        Shown(.customer), Shown(.account)
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
        "the {events} events of the customer `{}` of account `{}` take {bytes} bytes, but a customer may take at most \
         {limit} in this memory; raise `--memory`",
        Shown(.customer), Shown(.account)
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
    /// The keys of this number of accounts do not fit in memory.
    #[error("the events have more than {0} accounts, whose list does not fit in memory; raise `--memory`")]
    ManyAccounts(usize),
    /// A patch is given together with a mapping, a source, or a source to replace.
    #[error(
        "a patch changes columns of stored events, and has no mapping, no source of its own and no source to replace; give \
         the column `source`, or ingest whole events"
    )]
    PatchWithOthers,
    /// What is held as a whole does not fit in memory, such as the table of accounts.
    #[error("the {what} take {bytes} bytes, but they may take at most {limit} in this memory; raise `--memory`")]
    LargeTable {
        /// What does not fit, in words, such as `accounts`.
        what: &'static str,
        /// The bytes of memory that it takes, as far as it was read.
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
    /// The files of the events, or some of them, were ingested before in another way, or with rejected rows, or some of
    /// their events were removed since, and some events have no id.
    #[error("{0}")]
    IngestedBefore(Box<Repetition>),
    /// A file of the new version was written, but the reader cannot read it back.
    #[error("`{}` was written, but cannot be read back; nothing was published", path.display())]
    NotReadBack {
        /// The file.
        path: PathBuf,
        /// Why; `None` if it says something else than was written.
        source: Option<DatasetError>,
    },
    /// Another writer is writing to the dataset, for as long as this one may wait.
    #[error("another command is writing to `{}`; {}", dataset.display(), after_waiting(*waited))]
    Busy {
        /// The folder of the dataset.
        dataset: PathBuf,
        /// How long this one could wait.
        waited: Duration,
    },
    /// The ingest, or another command that writes, was interrupted. After an ingest or a [`Define`](crate::Define), the
    /// dataset is as before, and nothing is left, except possibly in an object store, where a later ingest removes it.
    /// What a [`Compact`](crate::Compact), a [`Forget`](crate::Forget) or an [`Expire`](crate::Expire) has completed
    /// stays.
    #[error("{}, and no incomplete change was published", interrupted(.0))]
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
        rejected: RejectedRows,
    },
    /// A purge failed after it had published a version.
    #[error(
        "{error}; version {version} has nothing of the customers, but earlier versions may have them until the purge is complete; run \
         it again"
    )]
    UnfinishedPurge {
        /// The version that was published.
        version: u64,
        /// Why the purge is not complete.
        #[source]
        error: IngestError,
    },
    /// A manifest of the dataset cannot be found, read or published.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file of the dataset cannot be read.
    #[error("`{}` of the dataset cannot be read", path.display())]
    Stored {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A new Parquet file cannot be written. The cause may be an error of the file system.
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
    /// A key of the mapping cannot be carried out.
    #[error("mapping `{}`, {fault}", without_credentials(path).display())]
    Mapping {
        /// The mapping.
        path: PathBuf,
        /// The key, and the reason.
        fault: MappingFault,
    },
    /// A key of the mapping that the dataset keeps cannot be carried out.
    #[error(
        "the mapping that the dataset keeps, {fault}; `trueup inspect {} --mapping` shows it, as a file to edit and to give again with \
         `--mapping`",
        dataset.display()
    )]
    StoredMapping {
        /// The dataset.
        dataset: PathBuf,
        /// The key, and the reason.
        fault: MappingFault,
    },
    /// The mapping is not TOML, or has a key that mappings do not have or a wrong kind of value.
    #[error("mapping `{}`: {error}", without_credentials(path).display())]
    MappingSyntax {
        /// The mapping.
        path: PathBuf,
        /// Where and why it does not parse.
        error: Box<toml::de::Error>,
    },
    /// A part of a distributed ingest failed.
    #[error(
        "part {part} of {parts}: {error}{}",
        row.as_ref().map_or_else(String::new, |row| format!("; the row: {row}"))
    )]
    Part {
        /// The part, counted from 0.
        part: u32,
        /// The number of parts.
        parts: u32,
        /// Why it failed.
        #[source]
        error: IngestError,
        /// The cells of the first row that breaks a rule. They identify the row, because the location of a row in the
        /// input of a part says nothing to the user. `None` if no row is at fault.
        row: Option<String>,
    },
    /// A distributed ingest failed.
    #[error(transparent)]
    Stage(StageFault),
}

/// Says what to do about another writer, after a wait of this long.
fn after_waiting(waited: Duration) -> String {
    if waited.is_zero() {
        return "try again when it is done, or wait for it with `--wait 30s`".to_owned();
    }
    format!("it was not done after a wait of {waited:?}")
}

/// Counts the rows that break a rule after the first.
fn more_rows(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 more row breaks a rule".to_owned(),
        more => format!("; {more} more rows break a rule"),
    }
}

const fn interrupted(interruption: &Interruption) -> &'static str {
    match interruption {
        Interruption::Deadline => "the command took longer than it may",
        Interruption::Canceled => "the command was canceled",
    }
}
