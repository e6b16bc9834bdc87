//! The data of the benchmarks: those of the demo with its default seed, so that every run measures the same rows.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use trueup_core::dataset::Tables;
use trueup_core::{Dataset, Day};
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;

/// Returns a dataset in memory of about `events` events in `accounts` accounts over 24 months.
///
/// # Errors
/// The generator does not support the numbers.
pub fn dataset(events: u64, accounts: u32) -> Result<Dataset, Box<dyn Error>> {
    let generator = Generator::new(Settings::scale(events, accounts))?;
    Ok(Dataset::from_tables(&Tables {
        events: generator.events().collect::<Result<_, _>>()?,
        spend: generator.spend().collect::<Result<_, _>>()?,
        accounts: vec![generator.accounts()?],
        ..Tables::default()
    })?)
}

/// Writes a dataset of about `events` events in `accounts` accounts over 24 months below `folder`, and returns its
/// path.
///
/// # Errors
/// The generator does not support the numbers, or the folder cannot be written.
pub fn stored(folder: &Path, events: u64, accounts: u32) -> Result<PathBuf, Box<dyn Error>> {
    let generator = Generator::new(Settings::scale(events, accounts))?;
    let write = |name: &str, batches: &mut dyn Iterator<Item = Result<RecordBatch, _>>| {
        let path = folder.join(name);
        let mut writer = None;
        for batch in batches {
            let batch = batch?;
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(ArrowWriter::try_new(File::create(&path)?, batch.schema(), None)?),
            };
            writer.write(&batch)?;
        }
        writer.map(ArrowWriter::close).transpose()?;
        Ok::<_, Box<dyn Error>>(path)
    };
    let into = folder.join("dataset");
    Ingest::into(&into)
        .events(write("events.parquet", &mut generator.events())?)
        .spend(write("spend.parquet", &mut generator.spend())?)
        .accounts(write("accounts.parquet", &mut std::iter::once(generator.accounts()))?)
        .run()?;
    Ok(into)
}

/// Returns the first and the last day of the 90 days that end with the last day of the data; `None` without data.
#[must_use]
pub fn last_90_days(dataset: &Dataset) -> Option<(Day, Day)> {
    let end = dataset.date_range()?.end;
    Some((Day::from_number(end.number().saturating_sub(89)), end))
}
