//! The folder of the demo: where it is, whether it already holds the demo, and how to build it.

use super::access;
use crate::exit::Failure;
use crate::notice::{self, IngestProgress};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use trueup::Dataset;
use trueup_core::dataset::store;
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;

/// Returns the folder of the demo if the command line names none: in cargo's target folder if the program was built
/// there, which keeps the source tree clean, or else in the current folder. If the settings are not those of the
/// default demo, the name of the folder contains them.
pub(super) fn default_folder(settings: &Settings) -> PathBuf {
    let name = if *settings == Settings::demo() {
        "trueup-demo".to_owned()
    } else {
        format!("trueup-demo-{}-{}-{}", settings.events, settings.accounts, settings.seed)
    };
    match target_folder() {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    }
}

/// Returns the target folder that the program was built in, relative to the current folder if it is below.
fn target_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?.parent()?;
    // Cargo puts this file into its target folders.
    if !folder.join("CACHEDIR.TAG").is_file() {
        return None;
    }
    let current = std::env::current_dir().ok();
    let below = current.as_deref().and_then(|current| folder.strip_prefix(current).ok());
    Some(below.unwrap_or(folder).to_owned())
}

/// Returns the name of the file that the events are ingested from. The manifest records it, which identifies the demo.
fn events_file(settings: &Settings) -> String {
    let Settings { seed, accounts, events, .. } = settings;
    format!("demo-{}-{events}-{accounts}-{seed}.parquet", env!("CARGO_PKG_VERSION"))
}

/// Returns whether the folder holds the demo of these settings.
///
/// # Errors
/// If it holds anything else.
pub(super) fn holds_demo(dir: &Path, settings: &Settings) -> Result<bool, Failure> {
    let is_empty = match dir.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Failure::path(dir, &error)),
    };
    if is_empty {
        return Ok(false);
    }
    let manifest = store::read_latest(dir).map_err(Failure::request)?;
    let first = manifest.as_ref().and_then(|manifest| manifest.batches.first());
    let events = first.and_then(|batch| batch.tables.get("events"));
    if events.is_some_and(|table| table.inputs == [events_file(settings)]) {
        return Ok(true);
    }
    let path = dir.display();
    Err(Failure::request(format!(
        "`{path}` is not empty, and does not hold this demo; name another folder or delete it"
    )))
}

/// Builds the demo in the folder `dir`, which is empty or does not exist: generates rows, ingests them like any other
/// data, and creates the directory.
///
/// Everything is built in a temporary folder next to `dir` and moved at the end, so that an interrupted run leaves no
/// partial dataset. Only one batch of rows is in memory at a time.
pub(super) fn build(dir: &Path, settings: Settings) -> Result<(), Failure> {
    let events_file = events_file(&settings);
    let expected_events = settings.events;
    let generator = Generator::new(settings).map_err(Failure::usage)?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let at_parent = |error: io::Error| Failure::path(parent, &error);
    fs::create_dir_all(parent).map_err(at_parent)?;
    let scratch = tempfile::Builder::new().prefix(".trueup-demo-").tempdir_in(parent).map_err(at_parent)?;
    let path = |name: &str| scratch.path().join(name);
    let (events, spend, accounts) = (path(&events_file), path("demo-spend.parquet"), path("demo-accounts.parquet"));

    let bar = notice::progress_bar("generating events", expected_events);
    write_parquet(&events, &generator.event_schema(), generator.events(), |rows| bar.inc(rows))?;
    bar.finish_and_clear();
    write_parquet(&spend, &generator.spend_schema(), generator.spend(), |_| ())?;
    let batch = generator.accounts().map_err(Failure::fault)?;
    write_parquet(&accounts, &batch.schema(), [Ok(batch.clone())], |_| ())?;

    let dataset = path("dataset");
    let mut progress = IngestProgress::default();
    let ingest = Ingest::into(&dataset).events(&events).spend(&spend).accounts(&accounts);
    // A row that the ingest refuses is a bug of this program, whatever the error says.
    ingest.progress(move |now| progress.show(now)).run().map_err(Failure::fault)?;
    access::create(&dataset, &Dataset::open(&dataset)?)?;
    match fs::remove_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Failure::path(dir, &error)),
        _ => {}
    }
    fs::rename(&dataset, dir).map_err(|error| Failure::path(dir, &error))
}

/// Writes batches of rows to a new Parquet file. Calls `on_rows` with the number of rows of each batch.
fn write_parquet(
    path: &Path,
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    on_rows: impl Fn(u64),
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), None).map_err(Failure::fault)?;
    for batch in batches {
        let batch = batch.map_err(Failure::fault)?;
        writer.write(&batch).map_err(Failure::fault)?;
        writer.flush().map_err(Failure::fault)?;
        on_rows(batch.num_rows() as u64);
    }
    writer.close().map_err(Failure::fault)?;
    Ok(())
}
