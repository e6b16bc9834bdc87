//! The folder of the demo: where it is, whether it already holds the demo, and how to build it.

use super::access;
use crate::exit::Failure;
use crate::progress::{IngestProgress, Step};
use crate::signals::StopSignals;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use trueup::versions;
use trueup::{Dataset, Day};
use trueup_demo::{Generator, Settings};
use trueup_ingest::{Ingest, IngestError};

/// Returns the folder of the demo if the command line names none: in cargo's target folder if the program was built
/// there, which keeps the source tree clean, or else in the current folder. If the settings are not those of the
/// default demo, the name of the folder contains the numbers of events and accounts, the seed, and the day that is
/// given.
pub(super) fn default_folder(settings: &Settings, until: Option<Day>) -> PathBuf {
    let counts = |settings: &Settings| format!("-{}-{}-{}", settings.events, settings.accounts, settings.seed);
    let mut name = "trueup-demo".to_owned();
    if until.is_some() || counts(settings) != counts(&Settings::demo()) {
        name.push_str(&counts(settings));
    }
    name.extend(until.map(|day| format!("-{day}")));
    match target_folder() {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    }
}

/// Returns the target folder that the program was built in, relative to the current folder if it is below.
fn target_folder() -> Option<PathBuf> {
    // In a process of Python, the executable is not the program.
    let program = std::env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|stem| stem == "trueup"))?;
    let folder = program.parent()?.parent()?;
    // Cargo puts this file into its target folders.
    if !folder.join("CACHEDIR.TAG").is_file() {
        return None;
    }
    let current = std::env::current_dir().ok();
    let below = current.as_deref().and_then(|current| folder.strip_prefix(current).ok());
    Some(below.unwrap_or(folder).to_owned())
}

/// What the name of the file of spend has after the last day.
const SPEND_ENDING: &str = ".parquet";

/// The most events of one part of a demo. A larger demo is built in several parts, one after the other, because the
/// rows of a part are spilled to disk before they are sorted, and spilled rows take some five times the space that they
/// take in the dataset.
const PART_EVENTS: u64 = 50_000_000;

/// Returns the name of the file that the spend is ingested from, up to the last day. The manifest records the name,
/// which identifies the demo.
fn spend_file(settings: &Settings) -> String {
    let Settings { seed, accounts, events, .. } = settings;
    format!("demo-spend-{}-{events}-{accounts}-{seed}-until-", env!("CARGO_PKG_VERSION"))
}

/// Returns the last day of the demo of these settings that the folder holds, if that is the day which is given; `None`
/// if the folder is empty or does not exist.
///
/// # Errors
/// If it holds anything else, or cannot be read.
pub(super) fn last_day_of_demo(dir: &Path, settings: &Settings, until: Option<Day>) -> Result<Option<Day>, Failure> {
    let is_empty = match dir.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Failure::path(dir, &error)),
    };
    if is_empty {
        return Ok(None);
    }
    let manifest = versions::read_latest(dir).map_err(Failure::request)?;
    let batches = manifest.map(|manifest| manifest.read_batches(dir)).transpose().map_err(Failure::request)?;
    let spend = batches.iter().flatten().next().and_then(|batch| batch.protocol.get("spend"));
    let held = spend.and_then(|table| {
        let day = table.names().first()?.strip_prefix(&spend_file(settings))?.strip_suffix(SPEND_ENDING)?;
        day.parse::<Day>().ok()
    });
    let path = dir.display();
    match held {
        Some(end) if until.is_none_or(|until| until == end) => Ok(Some(end)),
        _ => Err(Failure::request(format!(
            "`{path}` is not empty, and does not hold this demo; name another folder, or delete this one"
        ))),
    }
}

/// Builds the demo in the folder `dir`, which is empty or does not exist: generates rows, ingests them like any other
/// data, drafts insights, and creates the directory.
///
/// Everything is built in a temporary folder next to `dir` and moved at the end, so that no partial dataset is left. A
/// signal stops the command, which then removes what it has made. Rows are generated one batch at a time.
///
/// If `dir` is a link to an empty folder, the demo takes the place of that folder, and the link stays.
pub(super) fn build(dir: &Path, settings: Settings) -> Result<(), Failure> {
    let target = dir.is_symlink().then(|| fs::canonicalize(dir)).transpose();
    let target = target.map_err(|error| Failure::path(dir, &error))?;
    let dir = target.as_deref().unwrap_or(dir);
    if dir.file_name().is_none() {
        return Err(Failure::usage(format!("`{}`: expected the name of a folder to create", dir.display())));
    }
    let signals = StopSignals::hear()?;
    let expected_events = settings.events;
    let end = Day::from_date(settings.end().map_err(Failure::usage)?).map_err(Failure::fault)?;
    let spend_file = format!("{}{end}{SPEND_ENDING}", spend_file(&settings));
    // More parts than accounts would be empty.
    let parts =
        u32::try_from(expected_events.div_ceil(PART_EVENTS)).unwrap_or(u32::MAX).clamp(1, settings.accounts.max(1));
    let generator = Generator::new(settings).map_err(Failure::usage)?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let at_parent = |error: io::Error| Failure::path(parent, &error);
    let _folders = NewFolders::create(parent).map_err(at_parent)?;
    let scratch = tempfile::Builder::new().prefix(".trueup-demo-").tempdir_in(parent).map_err(at_parent)?;
    let path = |name: &str| scratch.path().join(name);
    let (events, spend) = (path("demo-events.parquet"), path(&spend_file));
    let (accounts, targets) = (path("demo-accounts.parquet"), path("demo-targets.parquet"));

    let step = Step::new("generating spend");
    write_parquet(&spend, &generator.spend_schema(), generator.spend(), &signals, |_| ())?;
    drop(step);
    for (path, batch) in [(&accounts, generator.accounts()), (&targets, generator.targets())] {
        let batch = batch.map_err(Failure::fault)?;
        write_parquet(path, &batch.schema(), [Ok(batch.clone())], &signals, |_| ())?;
    }

    let dataset = path("dataset");
    let into_dataset = || {
        let mut progress = IngestProgress::default();
        Ingest::into(&dataset).progress(move |now| progress.show(now)).interrupt(signals.interrupt())
    };
    let failed = |error: IngestError| match error.interruption() {
        Some(_) => canceled(&signals),
        // A row that the ingest refuses is a bug of this program, whatever the error says.
        None => Failure::fault(error),
    };
    let ingest = into_dataset().spend(&spend).accounts(&accounts).targets(&targets);
    let ingest = ingest.begin_staged(parts, None).map_err(failed)?;
    let mut staged = Vec::new();
    for part in 0..parts {
        let step = Step::counted("generating events", expected_events / u64::from(parts));
        let rows = generator.events_of(|account| ingest.plan().part_of(account) == part);
        write_parquet(&events, &generator.event_schema(), rows, &signals, |rows| step.add(rows))?;
        drop(step);
        staged.push(into_dataset().events(&events).stage(ingest.plan(), part).map_err(failed)?);
    }
    ingest.commit(staged).map_err(failed)?;
    let step = Step::new("drafting insights");
    let opened = Dataset::open(&dataset)?;
    access::create(&dataset, &opened)?;
    let (lines, insights) = (super::insights::draft(&opened, end)?, path("demo-insights.ndjson"));
    drop((step, opened));
    if !lines.is_empty() {
        fs::write(&insights, lines).map_err(|error| Failure::path(&insights, &error))?;
        into_dataset().insights(&insights).run().map_err(failed)?;
    }
    if signals.has_stopped() {
        return Err(canceled(&signals));
    }
    match fs::remove_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Failure::path(dir, &error)),
        _ => {}
    }
    fs::rename(&dataset, dir).map_err(|error| Failure::path(dir, &error))
}

fn canceled(signals: &StopSignals) -> Failure {
    Failure::stopped("the demo was canceled, and nothing was created", signals.exit())
}

/// The folders above the demo that this command creates. Dropping the list removes the empty ones.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Creates a folder and all missing folders above it.
    fn create(folder: &Path) -> io::Result<Self> {
        let missing = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let folders = Self(missing.map(Path::to_owned).collect());
        fs::create_dir_all(folder)?;
        Ok(folders)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        // Folders that hold the demo are not empty, and stay.
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// Writes batches of rows to a new Parquet file. Calls `on_rows` with the number of rows of each batch.
///
/// # Errors
/// If the file cannot be written, or a signal stops the command.
fn write_parquet(
    path: &Path,
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    signals: &StopSignals,
    on_rows: impl Fn(u64),
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), None).map_err(Failure::fault)?;
    for batch in batches {
        if signals.has_stopped() {
            return Err(canceled(signals));
        }
        let batch = batch.map_err(Failure::fault)?;
        writer.write(&batch).map_err(Failure::fault)?;
        writer.flush().map_err(Failure::fault)?;
        on_rows(batch.num_rows() as u64);
    }
    writer.close().map_err(Failure::fault)?;
    Ok(())
}
