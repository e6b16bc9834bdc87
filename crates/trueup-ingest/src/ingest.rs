//! One ingest, from its inputs to the next version of the dataset.

use crate::batch::Plan;
use crate::draft::Draft;
use crate::error::{Doing, Kind};
use crate::events::Budget;
use crate::input::{self, Input};
use crate::read::Reading;
use crate::rejects::{self, Rejects, Wanted};
use crate::source::Chunking;
use crate::table::Table;
use crate::{CREATED_BY, IngestError, Outputs, Progress, Summary, accounts, events, insights, spend};
use std::path::{Path, PathBuf};
use trueup_core::dataset::manifest::{Manifest, SCHEMA_VERSION};
use trueup_core::files::Files;

/// Bytes of memory for each row that is read at once: several batches are, and each is held more than once on its way.
const BATCH_SHARE: usize = 4_096;

/// An ingest of files into a dataset: it takes place as a whole or not at all.
///
/// Files are Parquet (`.parquet`), CSV (`.csv`) or NDJSON (`.ndjson`, `.jsonl`), by their name or else by their first bytes, with the
/// columns of the table that they are given as; their order matters only where rows replace one another. A batch that the dataset holds
/// already changes nothing.
///
/// ```
/// use trueup_ingest::Ingest;
///
/// # let dir = tempfile::tempdir()?;
/// let events = dir.path().join("events.csv");
/// std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-31\n")?;
/// let summary = Ingest::into(dir.path().join("dataset")).events(events).run(&())?;
/// assert_eq!((summary.version, summary.events.taken), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ingest {
    dir: PathBuf,
    pub(crate) events: Vec<PathBuf>,
    spend: Vec<PathBuf>,
    accounts: Vec<PathBuf>,
    insights: Vec<PathBuf>,
    mapping: Option<PathBuf>,
    rejects: Option<Wanted>,
    memory: usize,
    group_rows: usize,
    file_rows: usize,
    batch_rows: usize,
    max_columns: usize,
    max_text_bytes: usize,
    max_customer_events: usize,
    threads: Option<usize>,
    files: Files,
}

impl Ingest {
    /// An ingest into the dataset in that folder, which is made if it is not there.
    pub fn into(dataset: impl AsRef<Path>) -> Self {
        Self {
            dir: dataset.as_ref().to_owned(),
            events: Vec::new(),
            spend: Vec::new(),
            accounts: Vec::new(),
            insights: Vec::new(),
            mapping: None,
            rejects: None,
            memory: 1 << 30,
            group_rows: 65_536,
            file_rows: 1 << 20,
            batch_rows: 65_536,
            max_columns: 2_000,
            max_text_bytes: 1 << 20,
            max_customer_events: 1_000_000,
            threads: None,
            files: Files::default(),
        }
    }

    /// Adds a file of events; with a mapping, a file of whatever the mapping reads.
    #[must_use]
    pub fn events(mut self, path: impl AsRef<Path>) -> Self {
        self.events.push(path.as_ref().to_owned());
        self
    }

    /// Adds a file of spend.
    #[must_use]
    pub fn spend(mut self, path: impl AsRef<Path>) -> Self {
        self.spend.push(path.as_ref().to_owned());
        self
    }

    /// Adds a file of accounts.
    #[must_use]
    pub fn accounts(mut self, path: impl AsRef<Path>) -> Self {
        self.accounts.push(path.as_ref().to_owned());
        self
    }

    /// Adds a file of insight documents, one `{"account", "date", "insight"}` per line.
    #[must_use]
    pub fn insights(mut self, path: impl AsRef<Path>) -> Self {
        self.insights.push(path.as_ref().to_owned());
        self
    }

    /// Reads the event files through a mapping. It needs the feature `mapping`.
    #[must_use]
    pub fn mapping(mut self, path: impl AsRef<Path>) -> Self {
        self.mapping = Some(path.as_ref().to_owned());
        self
    }

    /// Sets rows that break a rule aside in this file, one JSON object each, instead of stopping at the first. The file may not be
    /// there yet.
    #[must_use]
    pub fn rejects(mut self, path: impl AsRef<Path>) -> Self {
        self.rejects = Some(Wanted { path: path.as_ref().to_owned(), replaces: false });
        self
    }

    /// As [`Ingest::rejects`], and a file that is there is replaced; an input or a file of a dataset never is.
    #[must_use]
    pub fn rejects_replacing(mut self, path: impl AsRef<Path>) -> Self {
        self.rejects = Some(Wanted { path: path.as_ref().to_owned(), replaces: true });
        self
    }

    /// Bytes of memory that the ingest may take, 1 GiB if not set. It takes at most a fifth more, and a fixed part of 200 MiB. Events
    /// and spend that do not fit are spilled to disk. What is held as a whole is refused if it does not fit: a customer's history that
    /// takes more than an eighth, and the spend of a calendar quarter, the accounts, or the keys of insights, if they take more than a
    /// quarter (16 MiB always fit).
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes.max(1);
        self
    }

    /// The rows that a row group should have. A customer's rows are never split.
    #[must_use]
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.group_rows = rows.max(1);
        self
    }

    /// The rows after which an event file ends where the account does.
    #[must_use]
    pub fn file_rows(mut self, rows: usize) -> Self {
        self.file_rows = rows.max(1);
        self
    }

    /// The rows that are read at once, about.
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// The most columns of an input, and the most dimensions of the dataset's events; 2,000 if not set. More are an error.
    #[must_use]
    pub fn max_columns(mut self, columns: usize) -> Self {
        self.max_columns = columns.max(1);
        self
    }

    /// The most bytes of a text, 1 MiB if not set. A row with a longer one breaks a rule.
    #[must_use]
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes.max(1);
        self
    }

    /// The most events of a customer, 1,000,000 if not set; a customer's history lies in memory as a whole. More are an error, and so
    /// are histories that take more than an eighth of the memory.
    #[must_use]
    pub fn max_customer_events(mut self, events: usize) -> Self {
        self.max_customer_events = events.max(1);
        self
    }

    /// The number of threads; as many as there are processors if not set.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The file operations that write the dataset; a test makes them fail.
    #[must_use]
    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// Takes the ingest: reads and checks all inputs, writes the new files, and makes them visible with the next manifest.
    ///
    /// # Errors
    /// An input cannot be read or breaks a rule, another ingest is writing to the dataset, or the file system refuses. The dataset is
    /// then as it was, unless the error [may be published](IngestError::may_be_published).
    pub fn run(&self, progress: &dyn Progress) -> Result<Summary, IngestError> {
        let Some(threads) = self.threads else { return self.run_here(progress) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().doing("start threads")?;
        pool.install(|| self.run_here(progress))
    }

    fn run_here(&self, progress: &dyn Progress) -> Result<Summary, IngestError> {
        let given = self.given()?;
        let rejects = self.checked_rejects(&given)?;
        let (mut draft, latest) = Draft::begin(&self.files, &self.dir)?;
        let mapped = crate::mapped::Mapped::make(self.mapping.as_deref(), &given, &mut draft)?;
        let plan = Plan::new(&given, &mapped, latest.as_ref(), &self.files, progress)?;
        let warnings = plan.warnings();
        let mut summary = Summary { version: draft.version() - 1, warnings, ..Summary::default() };
        if plan.is_empty() {
            return Ok(summary);
        }
        let mut reading = Reading {
            files: &self.files,
            chunking: Chunking {
                rows: self.batch_rows.min((self.memory / BATCH_SHARE).max(1)),
                group_bytes: self.memory / 8,
                max_columns: self.max_columns,
                max_text_bytes: self.max_text_bytes,
            },
            progress,
            rejects: rejects.map(|(path, outputs)| Rejects::create(path, &outputs)).transpose()?,
            warnings: Vec::new(),
        };
        let written = self.write(plan, latest, &mut draft, &mut reading, &mut summary);
        let (manifest, rejects) = rejects::settle(written, reading.rejects)?;
        draft.publish(&manifest).map_err(|error| rejects.take_back(error))?;
        summary.warnings.extend(reading.warnings);
        summary.version = manifest.version;
        summary.changed = true;
        Ok(summary)
    }

    /// The file of rejects, which may be written.
    fn checked_rejects(&self, given: &[(Table, Input)]) -> Result<Option<(&Path, Outputs)>, IngestError> {
        let Some(wanted) = &self.rejects else { return Ok(None) };
        let given: Vec<&Input> = given.iter().map(|(_, input)| input).collect();
        let outputs = wanted.outputs(&self.dir, &given, self.mapping.as_deref());
        outputs.check(&wanted.path).map_err(Kind::Output)?;
        Ok(Some((&wanted.path, outputs)))
    }

    /// The files given, by table, each of them once.
    fn given(&self) -> Result<Vec<(Table, Input)>, IngestError> {
        let tables = [
            (Table::Events, &self.events),
            (Table::Spend, &self.spend),
            (Table::Accounts, &self.accounts),
            (Table::Insights, &self.insights),
        ];
        let given: Vec<(Table, Input)> = tables
            .into_iter()
            .flat_map(|(table, paths)| paths.iter().map(move |path| (table, Input::given(path))))
            .collect();
        if given.is_empty() {
            return Err(Kind::NothingToIngest.into());
        }
        input::check(&given.iter().map(|(_, input)| input).collect::<Vec<_>>(), &self.dir)?;
        Ok(given)
    }

    /// Writes the new files and gives back the manifest that is to name them.
    fn write(
        &self,
        plan: Plan,
        latest: Option<Manifest>,
        draft: &mut Draft,
        reading: &mut Reading<'_>,
        summary: &mut Summary,
    ) -> Result<Manifest, IngestError> {
        let dir = self.dir.as_path();
        let mut directory = accounts::held(latest.as_ref(), dir)?;
        let mut accounts_files = None;
        if let Some(inputs) = plan.inputs(Table::Accounts) {
            let (new, counts) = accounts::read(&inputs, reading)?;
            accounts::check_zones(&directory, &new, latest.as_ref(), dir)?;
            summary.accounts = counts;
            summary.accounts.replaced =
                new.iter().filter(|account| directory.get(&account.key).is_some()).map(|_| 1).sum();
            directory.merge(new);
            accounts::check_size(&directory, reading.chunking.table_bytes())?;
            accounts_files = Some(accounts::write(&directory, draft)?);
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
        manifest.accounts = accounts_files.unwrap_or(manifest.accounts);
        if let Some(inputs) = plan.inputs(Table::Events) {
            let budget = Budget { memory: self.memory, customer_events: self.max_customer_events };
            let (group_rows, file_rows) = (self.group_rows, self.file_rows);
            let settings = events::Settings { accounts: &directory, budget, group_rows, file_rows };
            (manifest.events, summary.events) =
                events::ingest(&inputs, &manifest.events, dir, &settings, draft, reading)?;
        }
        if let Some(inputs) = plan.inputs(Table::Spend) {
            (manifest.spend, summary.spend) =
                spend::ingest(&inputs, &manifest.spend, dir, self.group_rows, draft, reading)?;
        }
        if let Some(inputs) = plan.inputs(Table::Insights) {
            (manifest.insights, summary.insights) = insights::ingest(&inputs, &manifest.insights, dir, draft, reading)?;
        }
        manifest.version = draft.version();
        CREATED_BY.clone_into(&mut manifest.created_by);
        manifest.batches.push(plan.batch(draft.version(), summary)?);
        Ok(manifest)
    }
}
