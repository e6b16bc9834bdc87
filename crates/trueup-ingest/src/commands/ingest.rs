//! An ingest: its settings. `given_inputs.rs` checks its inputs, and `run.rs` makes the next version of the dataset. If
//! several processes share the work, one runs `staged_ingest.rs`, and the others run `stage.rs`.

mod given_inputs;
mod run;
mod stage;
mod staged_ingest;

pub use staged_ingest::StagedIngest;

use super::{Action, Command, Run, WritesRows};
use crate::source::{FileFormat, ReadOptions, TextEncoding};
use crate::table::Table;
use crate::{IngestError, IngestSummary, MaxRejects, Source};
use std::path::{Path, PathBuf};
use trueup_core::model::ClockZone;

/// An ingest of files, URLs, readers or Arrow record batches into a dataset. Either all of it takes effect, or nothing
/// of it. A limit of 0 counts as 1, except that of [`Ingest::max_rejects`].
///
/// # Inputs
/// Files are Parquet (`.parquet`, `.pq`), CSV (`.csv`, `.tsv`), NDJSON or a JSON array (`.ndjson`, `.jsonl`, `.json`),
/// or XLSX (`.xlsx`, `.xlsm`). If a name ends in another way, the first bytes of the file decide, except for the inputs
/// of a mapping ([`Ingest::format`]). A text may be compressed with gzip, zstd or bzip2. A file has the columns of the
/// table that it is given as. The order of the files matters only where rows replace one another.
///
/// # Events that were ingested before
/// Spend, accounts, insights, targets and events with an `eventId` replace what is stored, however often they are
/// ingested. Events without one are added. If an ingest with such events has the same files as an earlier one, and is
/// read in the same way (options, mapping, what it joins, time zones of accounts), its events are not applied again. If
/// only some of the files are the same, or if they were read in another way or with rejected rows, or if some of their
/// events were [removed](Ingest::replace_source) since, the ingest fails with
/// [`ErrorKind::IngestedBefore`](crate::ErrorKind::IngestedBefore), which says what differs. [`Ingest::again`] applies
/// them in any case.
///
/// # Memory
/// [`Ingest::memory`] is a budget: events and spend that do not fit are spilled to disk, and tables that must be held
/// as a whole are refused if they do not fit.
///
/// # Examples
/// ```
/// use trueup_ingest::Ingest;
///
/// # let dir = tempfile::tempdir()?;
/// let events = dir.path().join("events.csv");
/// std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-31\n")?;
/// let summary = Ingest::into(dir.path().join("dataset")).events(events).run()?;
/// assert_eq!((summary.version, summary.events.taken), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A row that breaks a rule makes the ingest fail, unless there is a file for such rows:
/// ```
/// # use trueup_ingest::Ingest;
/// # let dir = tempfile::tempdir()?;
/// # let (events, rejects) = (dir.path().join("events.csv"), dir.path().join("rejects.ndjson"));
/// std::fs::write(&events, "account,opportunityId,type,date\nacme,1,booked,2025-01-31\nacme,2,booked,soon\n")?;
/// let ingest = || Ingest::into(dir.path().join("dataset")).events(&events);
/// let error = ingest().run().unwrap_err();
/// assert!(error.to_string().contains("line 3, column `date`: expected a date"));
/// let summary = ingest().rejects(&rejects).run()?;
/// assert_eq!((summary.events.taken, summary.events.rejected), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Ingest = Command<Ingestion>;

/// What [`Ingest`] does.
#[derive(Debug, Default)]
pub struct Ingestion {
    /// The inputs, in the order in which they were added.
    sources: Vec<(Table, Source)>,
    mapping: Option<PathBuf>,
    uses_stored_mapping: bool,
    is_patch: bool,
    reading: ReadOptions,
    delimiter: Option<char>,
    ignore: Vec<String>,
    format: Option<FileFormat>,
    rejects: Option<PathBuf>,
    replace_rejects: bool,
    max_rejects: Option<MaxRejects>,
    clock_zone: Option<ClockZone>,
    max_customer_events: usize,
    again: bool,
    replaced_source: Option<String>,
}

impl Ingest {
    /// Prepares an ingest into the dataset in a folder or, with the feature `object-store` of `trueup` or
    /// `trueup-core`, below the URL of an object store such as `s3://bucket/acme`. [`Ingest::run`] makes the folder,
    /// and the folders above it, if they do not exist.
    pub fn into(dataset: impl AsRef<Path>) -> Self {
        Self::prepare(dataset, Ingestion { max_customer_events: 1_000_000, ..Ingestion::default() })
    }

    /// Adds events: the path of a file, or another [`Source`]. With a mapping, adds an input of the mapping.
    pub fn events(self, source: impl Into<Source>) -> Self {
        self.add(Table::Events, source.into())
    }

    /// Adds spend.
    pub fn spend(self, source: impl Into<Source>) -> Self {
        self.add(Table::Spend, source.into())
    }

    /// Adds accounts.
    pub fn accounts(self, source: impl Into<Source>) -> Self {
        self.add(Table::Accounts, source.into())
    }

    /// Adds insight documents: one `{"account", "date", "insight"}` per line, with the date as YYYY-MM-DD. The source
    /// is a path or a reader of NDJSON.
    pub fn insights(self, source: impl Into<Source>) -> Self {
        self.add(Table::Insights, source.into())
    }

    /// Adds targets. A target replaces the one of the same account, month, metric and values.
    pub fn targets(self, source: impl Into<Source>) -> Self {
        self.add(Table::Targets, source.into())
    }

    fn add(self, table: Table, source: Source) -> Self {
        self.with(|action| action.sources.push((table, source)))
    }

    /// Reads through a mapping file all inputs that [`Ingest::events`] adds. The mapping makes events, spend,
    /// accounts and targets of them. The new version of the dataset has it from then on: [`Ingest::stored_mapping`].
    pub fn mapping(self, path: impl AsRef<Path>) -> Self {
        self.with(|action| action.mapping = Some(path.as_ref().to_owned()))
    }

    /// Sets whether inputs of [`Ingest::events`] are read through the mapping that the dataset has, if there is one and
    /// no other is given: the last one that [`Ingest::mapping`] set. False if not set.
    pub fn stored_mapping(self, used: bool) -> Self {
        self.with(|action| action.uses_stored_mapping = used)
    }

    /// Sets whether the inputs of [`Ingest::events`] are a patch; false if not set. The rows of a patch have the
    /// columns `account` and `eventId` of stored events, and change only the columns of these in which they have a
    /// value. A row that names no stored event breaks a rule.
    pub fn patch(self, patch: bool) -> Self {
        self.with(|action| action.is_patch = patch)
    }

    /// Sets the source of the events and the spend that do not name theirs in the column `source`: who reported them,
    /// such as `google-ads`. Spend replaces the stored spend of the same account, day and source alone. If not set, the
    /// source is the one that a mapping gives the table, or else the name of the table's input; without a mapping, it
    /// is empty.
    pub fn source(self, name: &str) -> Self {
        self.with(|action| action.reading.source = Some(name.into()))
    }

    /// Removes all stored events and all stored spend of a source in the same version, before anything of this ingest
    /// is added. A file all of whose events were removed can be ingested again as if it were new. The empty name is the
    /// empty source. Event files that may have events of the source are written again as a whole.
    pub fn replace_source(self, name: impl Into<String>) -> Self {
        self.with(|action| action.replaced_source = Some(name.into()))
    }

    /// Sets the format of the event files, and of other files whose names do not say it. If not set, the first bytes of
    /// a file whose name does not say its format decide.
    ///
    /// The format of an input of a mapping is the one that the mapping says, or else the name of the file, or else this
    /// one; without any of them, the ingest fails.
    pub fn format(self, format: FileFormat) -> Self {
        self.with(|action| action.format = Some(format))
    }

    /// Sets the sheet of XLSX files; the first one if not set. What a mapping says of its inputs comes first.
    pub fn sheet(self, name: impl Into<String>) -> Self {
        self.with(|action| action.reading.sheet = Some(name.into()))
    }

    /// Leaves out the columns whose names match a pattern, in which `*` stands for any characters, `?` for one, and
    /// `[ab]` for one of several. Call it several times for several patterns. A column that the name of a folder gives,
    /// such as `day=2025-01-31`, is left out if a pattern matches that name: `day=*`.
    pub fn ignore(self, pattern: impl Into<String>) -> Self {
        self.with(|action| action.ignore.push(pattern.into()))
    }

    /// Sets what separates the cells of CSV files, an ASCII character other than a quote or a line end. If not set, it
    /// is a tab in files whose names end in `.tsv`, and a comma in others. What a mapping says of its inputs comes
    /// first.
    pub fn delimiter(self, delimiter: char) -> Self {
        self.with(|action| action.delimiter = Some(delimiter))
    }

    /// Sets the encoding of text files; UTF-8 if not set. A byte order mark has precedence. What a mapping says of its
    /// inputs comes first.
    pub fn encoding(self, encoding: TextEncoding) -> Self {
        self.with(|action| action.reading.encoding = Some(encoding))
    }

    /// Writes rows that break a rule to this file, one JSON object per row, and ingests the others. Without such a
    /// file, these rows make the ingest fail once all rows are checked. The file must not exist yet, unless
    /// [`Ingest::replace_rejects`] allows it.
    pub fn rejects(self, path: impl AsRef<Path>) -> Self {
        self.with(|action| action.rejects = Some(path.as_ref().to_owned()))
    }

    /// Sets whether the file of [`Ingest::rejects`] may replace a file of that name; false if not set. It never
    /// replaces an input or a file of a dataset.
    pub fn replace_rejects(self, replace: bool) -> Self {
        self.with(|action| action.replace_rejects = replace)
    }

    /// Sets how many rows may go to the file of [`Ingest::rejects`]; any number if not set, as long as a row of each
    /// table remains. An ingest with more fails, and leaves the file.
    pub fn max_rejects(self, limit: MaxRejects) -> Self {
        self.with(|action| action.max_rejects = Some(limit))
    }

    /// Sets the time zone of each `dateTime` without an offset. If not set, such a `dateTime` breaks a rule. A mapping
    /// that states the time zone of a column has precedence.
    pub fn time_zone(self, zone: ClockZone) -> Self {
        self.with(|action| action.clock_zone = Some(zone))
    }

    /// Sets whether events are applied although the same files were ingested before; false if not set. Events without
    /// an `eventId` are then in the dataset, and count, once for each ingest.
    pub fn again(self, again: bool) -> Self {
        self.with(|action| action.again = again)
    }

    /// Sets the most rows that are decoded as one batch while inputs are read; 65,536 if not set. With little memory, a
    /// batch has fewer rows.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.settings.batch_rows = rows.max(1);
        self
    }

    /// Sets the most columns of an input, and the most dimensions of the dataset's events; 2,000 if not set. An ingest
    /// with more is refused.
    pub fn max_columns(mut self, columns: usize) -> Self {
        self.settings.max_columns = columns.max(1);
        self
    }

    /// Sets the most bytes of a text; 1 MiB if not set. A row with a longer text breaks a rule. It does not limit
    /// insight documents, whose lines may have 16 MiB.
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_text_bytes = bytes.max(1);
        self
    }

    /// Sets the most events of a customer; 1,000,000 if not set. An ingest with a longer history is refused, because a
    /// history is held in memory as a whole. [`Ingest::memory`] limits its bytes.
    pub fn max_customer_events(self, events: usize) -> Self {
        self.with(|action| action.max_customer_events = events.max(1))
    }
}

impl WritesRows for Ingestion {}

impl Action for Ingestion {
    type Summary = IngestSummary;

    const MAKES_DATASET: bool = true;

    fn perform(mut self, run: &Run) -> Result<IngestSummary, IngestError> {
        run.attempts(|| self.attempt(run).map(Some))
    }
}
