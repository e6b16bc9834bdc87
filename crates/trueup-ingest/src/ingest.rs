//! An ingest: its settings. `given_inputs.rs` checks its inputs, and `run.rs` makes the next version of the dataset. If
//! several processes share the work, one runs `staged_ingest.rs`, and the others run `stage.rs`.

mod given_inputs;
mod run;
mod stage;
mod staged_ingest;

pub use staged_ingest::StagedIngest;

use crate::settings::CommonSettings;
use crate::source::{FileFormat, ReadOptions, TextEncoding};
use crate::table::Table;
use crate::{IngestError, IngestSummary, Interrupt, MaxRejects, Progress, Source};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueup_core::files::Files;
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
/// Spend, accounts, insights and events with an `eventId` replace what is stored, however often they are ingested.
/// Events without one are added. If an ingest with such events has the same files as an earlier one, and is read in the
/// same way (options, mapping, joined files, time zones of accounts), its events are not applied again. If only some
/// of the files are the same, or if they were read in another way or with rejected rows, the ingest fails with
/// [`ErrorKind::IngestedBefore`](crate::ErrorKind::IngestedBefore), which says what differs.
/// [`Ingest::again`] applies them in any case.
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
#[derive(Debug)]
#[must_use = "nothing happens until the ingest is run"]
pub struct Ingest {
    common: CommonSettings,
    /// The inputs, in the order in which they were added.
    sources: Vec<(Table, Source)>,
    mapping: Option<PathBuf>,
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
        Self {
            common: CommonSettings::of(dataset),
            sources: Vec::new(),
            mapping: None,
            reading: ReadOptions::default(),
            delimiter: None,
            ignore: Vec::new(),
            format: None,
            rejects: None,
            replace_rejects: false,
            max_rejects: None,
            clock_zone: None,
            max_customer_events: 1_000_000,
            again: false,
            replaced_source: None,
        }
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

    fn add(mut self, table: Table, source: Source) -> Self {
        self.sources.push((table, source));
        self
    }

    /// Reads through a mapping file all inputs that [`Ingest::events`] adds. The mapping makes events, spend and
    /// accounts of them.
    pub fn mapping(mut self, path: impl AsRef<Path>) -> Self {
        self.mapping = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the source of the events and the spend that do not name theirs in the column `source`: who reported them,
    /// such as `google-ads`. Spend replaces the stored spend of the same account, day and source alone. If not set, the
    /// source is the one that a mapping gives the table, or else the name of the table's input; without a mapping, it
    /// is empty.
    pub fn source(mut self, name: &str) -> Self {
        self.reading.source = Some(name.into());
        self
    }

    /// Removes all stored events and all stored spend of a source in the same version, before anything of this ingest
    /// is added. A file all of whose events were removed can be ingested again as if it were new. The empty name is the
    /// empty source. Event files that may have events of the source are written again as a whole.
    pub fn replace_source(mut self, name: impl Into<String>) -> Self {
        self.replaced_source = Some(name.into());
        self
    }

    /// Sets the format of the event files, and of other files whose names do not say it. If not set, the first bytes of
    /// a file whose name does not say its format decide.
    ///
    /// The format of an input of a mapping is the one that the mapping says, or else the name of the file, or else this
    /// one; without any of them, the ingest fails.
    pub fn format(mut self, format: FileFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the sheet of XLSX files; the first one if not set. What a mapping says of its inputs comes first.
    pub fn sheet(mut self, name: impl Into<String>) -> Self {
        self.reading.sheet = Some(name.into());
        self
    }

    /// Leaves out the columns whose names match a pattern, in which `*` stands for any characters, `?` for one, and
    /// `[ab]` for one of several. Call it several times for several patterns. A column that the name of a folder gives,
    /// such as `day=2025-01-31`, is left out if a pattern matches that name: `day=*`.
    pub fn ignore(mut self, pattern: impl Into<String>) -> Self {
        self.ignore.push(pattern.into());
        self
    }

    /// Sets what separates the cells of CSV files, an ASCII character other than a quote or a line end. If not set, it
    /// is a tab in files whose names end in `.tsv`, and a comma in others. What a mapping says of its inputs comes
    /// first.
    pub fn delimiter(mut self, delimiter: char) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Sets the encoding of text files; UTF-8 if not set. A byte order mark has precedence over an encoding other than
    /// UTF-8. What a mapping says of its inputs comes first.
    pub fn encoding(mut self, encoding: TextEncoding) -> Self {
        self.reading.encoding = Some(encoding);
        self
    }

    /// Writes rows that break a rule to this file, one JSON object per row, and ingests the others. Without such a
    /// file, these rows make the ingest fail once all rows are checked. The file must not exist yet, unless
    /// [`Ingest::replace_rejects`] allows it.
    pub fn rejects(mut self, path: impl AsRef<Path>) -> Self {
        self.rejects = Some(path.as_ref().to_owned());
        self
    }

    /// Sets whether the file of [`Ingest::rejects`] may replace a file of that name; false if not set. It never
    /// replaces an input or a file of a dataset.
    pub fn replace_rejects(mut self, replace: bool) -> Self {
        self.replace_rejects = replace;
        self
    }

    /// Sets how many rows may go to the file of [`Ingest::rejects`]; any number if not set, as long as a row of each
    /// table remains. An ingest with more fails, and leaves the file.
    pub fn max_rejects(mut self, limit: MaxRejects) -> Self {
        self.max_rejects = Some(limit);
        self
    }

    /// Sets the time zone of each `dateTime` without an offset. If not set, such a `dateTime` breaks a rule. A mapping
    /// that states the time zone of a column has precedence.
    pub fn time_zone(mut self, zone: ClockZone) -> Self {
        self.clock_zone = Some(zone);
        self
    }

    /// Sets whether events are applied although the same files were ingested before; false if not set. Events without
    /// an `eventId` are then in the dataset, and count, once for each ingest.
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Sets the bytes of memory that the ingest may take; 1 GiB if not set. It may take a fifth more, and a fixed 200
    /// MiB.
    ///
    /// Events and spend that do not fit are spilled to disk. What is held as a whole is refused if it does not fit: a
    /// customer's history that takes more than an eighth of the memory; the list of the accounts that have events, if
    /// it takes more than half of the memory; and the spend of one calendar quarter, the days of the new spend, the
    /// accounts, the keys of insights, the texts and styles of an XLSX file, or the inputs that a mapping joins
    /// together with its first conversions, if they take more than a fourth of the memory. Each of them may always take
    /// 16 MiB, and a history never 2 GiB or more.
    ///
    /// A record of CSV or NDJSON may take a sixteenth of the memory: always 4 MiB, and never more than 64 MiB. The
    /// pages of a row group of Parquet and one of its rows may together take a fourth of the memory, and always 96 MiB.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.common = self.common.memory(bytes);
        self
    }

    /// Sets the most rows of a row group of events and spend; 65,536 if not set. The history of a customer is never
    /// split, so a customer with more events makes a larger row group.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.common = self.common.row_group_rows(rows);
        self
    }

    /// Sets the rows after which an event file ends; 1,048,576 if not set. The file ends with the account that reaches
    /// this number, or within that account at four times as many rows. It ends earlier if its row groups take too much
    /// memory, or if it has too many column chunks.
    pub fn file_rows(mut self, rows: usize) -> Self {
        self.common = self.common.file_rows(rows);
        self
    }

    /// Sets the most rows that are decoded as one batch while inputs are read; 65,536 if not set. With little memory, a
    /// batch has fewer rows.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.common.batch_rows = rows.max(1);
        self
    }

    /// Sets the most columns of an input, and the most dimensions of the dataset's events; 2,000 if not set. An ingest
    /// with more is refused.
    pub fn max_columns(mut self, columns: usize) -> Self {
        self.common.max_columns = columns.max(1);
        self
    }

    /// Sets the most bytes of a text; 1 MiB if not set. A row with a longer text breaks a rule. It does not limit
    /// insight documents, whose lines may have 16 MiB.
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.common.max_text_bytes = bytes.max(1);
        self
    }

    /// Sets the most events of a customer; 1,000,000 if not set. An ingest with a longer history is refused, because a
    /// history is held in memory as a whole. [`Ingest::memory`] limits its bytes.
    pub fn max_customer_events(mut self, events: usize) -> Self {
        self.max_customer_events = events.max(1);
        self
    }

    /// Sets the number of threads. If not set, the ingest runs on the caller's rayon pool, which has one thread per
    /// processor unless the caller has made another.
    pub fn threads(mut self, threads: usize) -> Self {
        self.common = self.common.threads(threads);
        self
    }

    /// Calls `report` when a phase begins, and each time some of its rows or bytes are done. The ingest waits for it,
    /// and several threads call it, one at a time.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.common = self.common.progress(report);
        self
    }

    /// Stops the ingest when this interrupt or a clone of it is canceled, or at its deadline. Until the new version is
    /// published, the ingest then fails with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) and leaves
    /// nothing behind: no file, and the dataset as it was. Only in an object store may objects stay, which a later
    /// ingest removes.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.common = self.common.interrupt(interrupt);
        self
    }

    /// Sets how long the ingest may wait, from its start, for others that write to the dataset. If not set, it fails at
    /// once with [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another one is writing. Of several that wait for a
    /// folder, any may be next.
    ///
    /// Nobody can lock an object store: there, an ingest that finds its version taken when it publishes begins again
    /// from the new version, and reads its inputs again, unless this time is over. If an input can be read only once,
    /// such as a reader, record batches, or the standard input, or if the rejects go to a pipe or a descriptor, the
    /// ingest fails instead. So does a [distributed one](Self::begin_staged), because its parts depend on the version.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use trueup_ingest::Ingest;
    ///
    /// Ingest::into("acme").events("batch-0001.csv").wait(Duration::from_secs(30)).run()?;
    /// # Ok::<(), trueup_ingest::IngestError>(())
    /// ```
    pub fn wait(mut self, time: Duration) -> Self {
        self.common = self.common.wait(time);
        self
    }

    /// Sets the file operations that read the inputs and write the dataset. Tests use it to make an operation fail.
    pub fn files(mut self, files: Files) -> Self {
        self.common = self.common.files(files);
        self
    }

    /// Runs the ingest: reads and checks all inputs, writes the new data files, and makes them visible with the next
    /// manifest.
    ///
    /// # Errors
    /// The call or the mapping is at fault, an input cannot be read, breaks a rule or exceeds a limit, the dataset is
    /// damaged or does not allow the change, another command is writing to it or has published a version meanwhile and
    /// this one may not [wait](Self::wait) any longer, the ingest is interrupted, or the file system or an object store
    /// refuses. [`ErrorKind`](crate::ErrorKind) lists all causes. The dataset is then unchanged, unless the new version
    /// [may be published](IngestError::may_be_published).
    ///
    /// # Panics
    /// A reader, an iterator or a stream of a [`Source`] panics. The dataset is then unchanged.
    pub fn run(mut self) -> Result<IngestSummary, IngestError> {
        let monitor = self.common.monitor(true);
        self.run_watched(&monitor).map_err(|error| monitor.explain(error))
    }
}
