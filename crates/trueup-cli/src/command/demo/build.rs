//! The demo dataset, from generated rows through the same ingest as any other data, and its directory.

use super::{access, place};
use crate::exit::Failure;
use crate::progress::{self, IngestProgress};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use trueup_core::Dataset;
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;

/// Makes the dataset `dir`, which is empty or not there. Everything is made beside it and moved there at the end, so that an
/// interrupted demo leaves no half a dataset. Holds a batch of rows at a time.
pub(super) fn build(dir: &Path, settings: Settings) -> Result<(), Failure> {
    let events_file = place::events_file(&settings);
    let aimed = settings.events;
    let generator = Generator::new(settings).map_err(Failure::usage)?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let at_parent = |error: io::Error| Failure::path(parent, &error);
    fs::create_dir_all(parent).map_err(at_parent)?;
    let scratch = tempfile::Builder::new().prefix(".trueup-demo-").tempdir_in(parent).map_err(at_parent)?;
    let path = |name: &str| scratch.path().join(name);
    let (events, spend, accounts) = (path(&events_file), path("demo-spend.parquet"), path("demo-accounts.parquet"));

    let bar = progress::counting("making events", aimed);
    write(&events, &generator.event_schema(), generator.events(), |rows| bar.inc(rows))?;
    bar.finish_and_clear();
    write(&spend, &generator.spend_schema(), generator.spend(), |_| ())?;
    let batch = generator.accounts().map_err(Failure::fault)?;
    write(&accounts, &batch.schema(), [Ok(batch.clone())], |_| ())?;

    let made = path("dataset");
    let stages = IngestProgress::default();
    let ingested = Ingest::into(&made).events(&events).spend(&spend).accounts(&accounts).run(&stages);
    stages.finish();
    // A row that the ingest refuses is this program's own fault here, whatever the error says.
    ingested.map_err(Failure::fault)?;
    access::make(&made, &Dataset::open(&made)?)?;
    match fs::remove_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Failure::path(dir, &error)),
        _ => {}
    }
    fs::rename(&made, dir).map_err(|error| Failure::path(dir, &error))
}

fn write(
    path: &Path,
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    wrote: impl Fn(u64),
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| Failure::path(path, &error))?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), None).map_err(Failure::fault)?;
    for batch in batches {
        let batch = batch.map_err(Failure::fault)?;
        writer.write(&batch).map_err(Failure::fault)?;
        writer.flush().map_err(Failure::fault)?;
        wrote(batch.num_rows() as u64);
    }
    writer.close().map_err(Failure::fault)?;
    Ok(())
}
