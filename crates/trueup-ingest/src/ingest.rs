//! One ingest, from its inputs to the next version of the dataset.

use crate::batch::BatchPlan;
use crate::error::{ErrorContext, ErrorKind, InputFault};
use crate::events::{Budget, ZoneChanges};
use crate::given::{StreamReader, expand, is_stream, is_url};
use crate::input::{self, MappedInputs};
use crate::monitor::{Monitor, ReportProgress};
use crate::read::TableReader;
use crate::received::{Producer, SourceRows};
use crate::refused::RefusedRows;
use crate::rejects::{self, FaultyRows, RejectsWriter};
use crate::source::{
    FileFormat, FolderColumn, InputFormat, ReadLimits, ReadOptions, TextEncoding, is_known_name, separator,
    unpacked_name,
};
use crate::table::Table;
use crate::version::VersionBuilder;
use crate::{
    CREATED_BY, IngestError, IngestSummary, Input, Interrupt, MaxRejects, Outputs, Progress, Source, accounts, events,
    insights, spend,
};
use glob::Pattern;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::manifest::{Manifest, SCHEMA_VERSION};
use trueup_core::files::Files;
use trueup_core::model::ClockZone;

/// Bytes of memory per row of a batch. Several batches are decoded in parallel, and each exists in several forms before
/// its rows are buffered.
const ROW_BYTES: usize = 4_096;

/// An ingest of files, readers or Arrow record batches into a dataset. Either all of it takes effect, or nothing of it.
/// A limit of 0 counts as 1.
///
/// # Inputs
/// Files are Parquet (`.parquet`), CSV (`.csv`, `.tsv`), NDJSON (`.ndjson`, `.jsonl`) or XLSX (`.xlsx`, `.xlsm`). If a
/// name ends in another way, the first bytes of the file decide. A file has the columns of the table that it is given
/// as. The order of the files matters only where rows replace one another. If the dataset already holds the batch of a
/// table, the table stays as it is.
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
/// A row that breaks a rule ends the ingest, unless there is a file for such rows:
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
    dir: PathBuf,
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
    memory: usize,
    group_rows: usize,
    file_rows: usize,
    batch_rows: usize,
    max_columns: usize,
    max_text_bytes: usize,
    max_customer_events: usize,
    threads: Option<usize>,
    files: Files,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
}

/// An input as it was given.
struct GivenInput {
    table: Table,
    input: Input,
    /// Produces the file of the input, if it has none yet.
    producer: Option<Producer>,
    /// Whether it was given as a path.
    is_path: bool,
}

impl Ingest {
    /// Prepares an ingest into the dataset in a folder. [`Ingest::run`] makes the folder, and the folders above it, if
    /// they do not exist.
    pub fn into(dataset: impl AsRef<Path>) -> Self {
        Self {
            dir: dataset.as_ref().to_owned(),
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
            memory: 1 << 30,
            group_rows: 65_536,
            file_rows: 1 << 20,
            batch_rows: 65_536,
            max_columns: 2_000,
            max_text_bytes: 1 << 20,
            max_customer_events: 1_000_000,
            threads: None,
            files: Files::default(),
            report: None,
            interrupt: Interrupt::default(),
        }
    }

    /// Adds events: the path of a file, or another [`Source`]. With a mapping, it is one that the mapping reads.
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

    /// Adds insight documents: one `{"account", "date", "insight"}` per line, with the date as YYYY-MM-DD.
    pub fn insights(self, source: impl Into<Source>) -> Self {
        self.add(Table::Insights, source.into())
    }

    fn add(mut self, table: Table, source: Source) -> Self {
        self.sources.push((table, source));
        self
    }

    /// Reads the event files through a mapping file.
    pub fn mapping(mut self, path: impl AsRef<Path>) -> Self {
        self.mapping = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the format of the event files, and of other files whose names do not say it. If not set, the first bytes of
    /// such a file decide.
    pub fn format(mut self, format: FileFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the sheet of XLSX files; the first one if not set. What a mapping says of its inputs comes first.
    pub fn sheet(mut self, name: impl Into<String>) -> Self {
        self.reading.sheet = Some(name.into());
        self
    }

    /// Leaves out the columns whose names match a pattern, in which `*` and `?` stand for any characters and for one.
    /// Call it several times for several patterns. A pattern with `=`, such as `day=*`, leaves out the columns that the
    /// names of folders give.
    pub fn ignore(mut self, pattern: impl Into<String>) -> Self {
        self.ignore.push(pattern.into());
        self
    }

    /// Sets what separates the cells of CSV files, an ASCII character. If not set, it is a tab in files whose names end
    /// in `.tsv`, and a comma in others. What a mapping says of its inputs comes first.
    pub fn delimiter(mut self, delimiter: char) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Sets the encoding of text files; UTF-8 if not set. What a mapping says of its inputs comes first.
    pub fn encoding(mut self, encoding: TextEncoding) -> Self {
        self.reading.encoding = Some(encoding);
        self
    }

    /// Writes rows that break a rule to this file, one JSON object per row, instead of stopping at the first. The file
    /// must not exist yet, unless [`Ingest::replace_rejects`] allows it.
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

    /// Sets the bytes of memory that the ingest may take; 1 GiB if not set. It may take a fifth more, and a fixed 200
    /// MiB.
    ///
    /// Events and spend that do not fit are spilled to disk. What is held as a whole is refused if it does not fit: a
    /// customer's history that takes more than an eighth of the memory; and the spend of one calendar quarter, the
    /// accounts, the keys of insights, or the inputs that a mapping joins together with its first conversions, if they
    /// take more than a fourth of the memory. Each of them may always take 16 MiB.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes.max(1);
        self
    }

    /// Sets the most rows of a row group of events and spend; 65,536 if not set. The history of a customer is never
    /// split, so a customer with more events makes a larger row group.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.group_rows = rows.max(1);
        self
    }

    /// Sets the rows after which an event file ends; 1,048,576 if not set. The file ends with the account that reaches
    /// this number, or within that account at four times as many rows. It ends earlier if its row groups take too much
    /// memory.
    pub fn file_rows(mut self, rows: usize) -> Self {
        self.file_rows = rows.max(1);
        self
    }

    /// Sets the most rows that are decoded as one batch while inputs are read; 65,536 if not set. With little memory, a
    /// batch has fewer rows.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Sets the most columns of an input, and the most dimensions of the dataset's events; 2,000 if not set. An ingest
    /// with more is refused.
    pub fn max_columns(mut self, columns: usize) -> Self {
        self.max_columns = columns.max(1);
        self
    }

    /// Sets the most bytes of a text; 1 MiB if not set. A row with a longer text breaks a rule.
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes.max(1);
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
        self.threads = Some(threads.max(1));
        self
    }

    /// Calls `report` when a phase begins, and each time some of its rows or bytes are done. The ingest waits for it,
    /// and several threads call it, one at a time.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.report = Some(ReportProgress::new(report));
        self
    }

    /// Stops the ingest when this interrupt or a clone of it is canceled, or at its deadline. Until the new version is
    /// published, the ingest then fails with [`ErrorKind::Interrupted`] and leaves nothing behind: no file, and the
    /// dataset as it was.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Sets the file operations that read the inputs and write the dataset. Tests use it to make an operation fail.
    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// Runs the ingest: reads and checks all inputs, writes the new data files, and makes them visible with the next
    /// manifest.
    ///
    /// # Errors
    /// An input cannot be read or breaks a rule, another ingest is writing to the dataset, or the file system refuses.
    /// The dataset is then unchanged, unless the new version [may be published](IngestError::may_be_published).
    pub fn run(mut self) -> Result<IngestSummary, IngestError> {
        let monitor = Monitor::new(self.report.take(), self.interrupt.clone());
        self.files = monitor.stoppable(self.files);
        self.run_watched(&monitor).map_err(|error| monitor.explain(error))
    }

    fn run_watched(mut self, monitor: &Monitor) -> Result<IngestSummary, IngestError> {
        monitor.check()?;
        if is_url(&self.dir) {
            return Err(ErrorKind::UrlOfDataset(self.dir.clone()).into());
        }
        let mut given = self.given()?;
        let rejects = self.checked_rejects(&given)?;
        let (mut version, latest) = VersionBuilder::begin(&self.files, &self.dir)?;
        // Holds what was received until the ingest ends.
        let mut received = Vec::new();
        for GivenInput { input, producer, .. } in &mut given {
            // On the caller's thread, because a stream may depend on it.
            if let Some(producer) = producer.take() {
                let scratch = version.scratch()?;
                input.path = producer.receive(&input.shown, &scratch, monitor)?;
                received.push(scratch);
            }
        }
        let given = given.into_iter().map(|given| (given.table, given.input)).collect::<Vec<_>>();
        let threads = self.threads;
        let run = move || self.run_here(&given, rejects, version, latest, monitor);
        let Some(threads) = threads else { return run() };
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().doing("start threads")?.install(run)
    }

    fn run_here(
        &self,
        given: &[(Table, Input)],
        rejects: Option<(PathBuf, Outputs)>,
        mut version: VersionBuilder,
        latest: Option<Manifest>,
        monitor: &Monitor,
    ) -> Result<IngestSummary, IngestError> {
        let limits = ReadLimits {
            rows: self.batch_rows.min((self.memory / ROW_BYTES).max(1)),
            decoded_bytes: self.memory / 8,
            max_columns: self.max_columns,
            max_text_bytes: self.max_text_bytes,
        };
        let mapped = MappedInputs::new(self.mapping.as_deref(), given, &self.files, limits, self.clock_zone)?;
        let plan = BatchPlan::new(given, &mapped, latest.as_ref(), &self.files, monitor)?;
        let warnings = plan.warnings();
        let mut summary = IngestSummary { version: version.number() - 1, warnings, ..IngestSummary::default() };
        if plan.is_empty() {
            return Ok(summary);
        }
        let mut reader = TableReader {
            files: &self.files,
            limits,
            monitor,
            faulty_rows: match rejects {
                Some((path, outputs)) => FaultyRows::Reject(RejectsWriter::create(&path, &outputs)?),
                None => FaultyRows::Refuse { first: None },
            },
            refused: RefusedRows::default(),
            warnings: Vec::new(),
        };
        let written = self.write(plan, &mapped, latest, &mut version, &mut reader, &mut summary);
        let written = written.map_err(|error| monitor.explain(error));
        let (manifest, rejects) = rejects::settle(written, reader.faulty_rows, &reader.refused)?;
        version.publish(&manifest).map_err(|error| rejects.take_back(error))?;
        summary.warnings.extend(reader.warnings);
        summary.refused = reader.refused;
        summary.version = manifest.version;
        summary.changed = true;
        Ok(summary)
    }

    /// Checks that some row of each table keeps the rules, and that not more rows are rejected than allowed.
    fn check_rejects(&self, summary: &IngestSummary) -> Result<(), IngestError> {
        let IngestSummary { events, spend, accounts, insights, .. } = summary;
        let counts =
            [(Table::Accounts, accounts), (Table::Events, events), (Table::Spend, spend), (Table::Insights, insights)];
        for (table, counts) in counts {
            if counts.taken == 0 && counts.rejected > 0 {
                return Err(ErrorKind::AllRejected { table: table.name(), rows: counts.rejected }.into());
            }
        }
        let tables = counts.map(|(_, counts)| (counts.rejected, counts.rejected + counts.taken));
        match self.max_rejects.filter(|limit| limit.is_exceeded(&tables)) {
            None => Ok(()),
            Some(limit) => {
                let [rejected, all] =
                    [tables.map(|(rejected, _)| rejected), tables.map(|(_, all)| all)].map(|rows| rows.iter().sum());
                Err(ErrorKind::ManyRejects { rejected, all, limit }.into())
            }
        }
    }

    /// Checks that the rejects file may be written. Returns its path, and the [`Outputs`] that create it.
    fn checked_rejects(&self, given: &[GivenInput]) -> Result<Option<(PathBuf, Outputs)>, IngestError> {
        let Some(path) = self.rejects.clone() else { return Ok(None) };
        let outputs = Outputs::new(self.replace_rejects).dataset(&self.dir);
        let paths = given.iter().filter(|given| given.is_path).map(|given| &given.input.path);
        let outputs = paths.chain(&self.mapping).fold(outputs, Outputs::input);
        outputs.check(&path).map_err(ErrorKind::Output)?;
        Ok(Some((path, outputs)))
    }

    /// Returns the inputs given, and checks that each path is given once.
    fn given(&mut self) -> Result<Vec<GivenInput>, IngestError> {
        let known = |char| separator(char).ok_or_else(|| IngestError::from(ErrorKind::Delimiter(char)));
        let separator = self.delimiter.map(known).transpose()?;
        let ignore = self.ignore.iter().map(|text| {
            let pattern = PathBuf::from(text);
            Pattern::new(text).map_err(|error| IngestError::from(ErrorKind::Pattern { pattern, reason: error.msg }))
        });
        let ignore = ignore.collect::<Result<Vec<_>, _>>()?;
        let sources = std::mem::take(&mut self.sources);
        let options = |format, folders| {
            let ignore = ignore.clone();
            Arc::new(ReadOptions { format, separator, ignore, folders, ..self.reading.clone() })
        };
        let mut given = Vec::new();
        for (table, source) in sources {
            let (rows, shown) = source.into_parts(table);
            let path = match rows {
                SourceRows::Path(path) => path,
                SourceRows::Produced(format, producer) => {
                    if table == Table::Insights && format != Some(FileFormat::Ndjson) {
                        return Err(InputFault::NotDocuments.of(&shown));
                    }
                    let options = options(Some(format.map_or(InputFormat::Arrow, InputFormat::from)), Vec::new());
                    let input = Input { options, ..Input::given(&shown) };
                    given.push(GivenInput { table, input, producer: Some(producer), is_path: false });
                    continue;
                }
            };
            let is_named = is_known_name(&unpacked_name(&path));
            // The format of the events is given; a file of another table may say its own.
            let format = self.format.filter(|_| table == Table::Events || !is_named).map(InputFormat::from);
            for file in expand(&path, format.is_some())? {
                let input = Input { options: options(format, FolderColumn::all(&file)), ..Input::given(&file) };
                let producer = is_stream(&input).then(|| Producer::Reader(Box::new(StreamReader::new(file))));
                given.push(GivenInput { table, input, producer, is_path: true });
            }
        }
        if given.is_empty() {
            return Err(ErrorKind::NothingToIngest.into());
        }
        input::check(given.iter().filter(|given| given.is_path).map(|given| &given.input), &self.dir)?;
        Ok(given)
    }

    /// Writes the new data files. Returns the manifest that names them. Accounts come first, because events need their
    /// time zones.
    fn write(
        &self,
        plan: BatchPlan,
        mapped: &MappedInputs,
        latest: Option<Manifest>,
        version: &mut VersionBuilder,
        reader: &mut TableReader<'_>,
        summary: &mut IngestSummary,
    ) -> Result<Manifest, IngestError> {
        let dir = self.dir.as_path();
        let mut all_accounts = accounts::stored(latest.as_ref(), dir)?;
        let mut account_files = None;
        let mut zone_changes = ZoneChanges::default();
        if let Some(inputs) = plan.inputs(Table::Accounts) {
            let (new, counts) = accounts::read(&inputs, reader)?;
            zone_changes = accounts::zone_changes(&all_accounts, &new, latest.as_ref(), dir)?;
            summary.accounts = counts;
            summary.accounts.replaced =
                new.iter().filter(|account| all_accounts.get(&account.key).is_some()).map(|_| 1).sum();
            all_accounts.merge(new);
            accounts::check_size(&all_accounts, reader.limits.table_bytes())?;
            account_files = Some(accounts::write(&all_accounts, version)?);
        }
        let mut manifest = latest.unwrap_or_else(|| Manifest {
            schema_version: SCHEMA_VERSION,
            version: 0,
            created_by: String::new(),
            events: Vec::new(),
            spend: Vec::new(),
            accounts: Vec::new(),
            insights: Vec::new(),
            batches: Vec::new(),
        });
        manifest.accounts = account_files.unwrap_or(manifest.accounts);
        let event_inputs = plan.inputs(Table::Events);
        if event_inputs.is_some() || !zone_changes.is_empty() {
            if event_inputs.is_some() {
                mapped.set_accounts(&all_accounts);
                mapped.find_first_conversions(reader)?;
            }
            let inputs = event_inputs.unwrap_or_default();
            // What a mapping holds may be most of a small memory; the events still have half of it.
            let memory = self.memory.saturating_sub(mapped.held_bytes()).max(self.memory / 2);
            let budget = Budget { memory, customer_events: self.max_customer_events };
            let (group_rows, file_rows) = (self.group_rows, self.file_rows);
            let (accounts, zone_changes, clock_zone) = (&all_accounts, &zone_changes, self.clock_zone);
            let settings = events::Settings { accounts, zone_changes, clock_zone, budget, group_rows, file_rows };
            (manifest.events, summary.events) =
                events::ingest(&inputs, &manifest.events, dir, &settings, version, reader)?;
            summary.warnings.extend(zone_changes.warning());
        }
        if let Some(inputs) = plan.inputs(Table::Spend) {
            (manifest.spend, summary.spend) =
                spend::ingest(&inputs, &manifest.spend, dir, self.group_rows, version, reader)?;
        }
        if let Some(inputs) = plan.inputs(Table::Insights) {
            (manifest.insights, summary.insights) =
                insights::ingest(&inputs, &manifest.insights, dir, version, reader)?;
        }
        if !reader.is_refusing() {
            self.check_rejects(summary)?;
        }
        manifest.version = version.number();
        CREATED_BY.clone_into(&mut manifest.created_by);
        manifest.batches.push(plan.batch(version.number(), summary)?);
        Ok(manifest)
    }
}
