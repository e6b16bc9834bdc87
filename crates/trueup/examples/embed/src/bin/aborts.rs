//! A program whose panics end it (`panic = "abort"`): faults of data are errors as in any other program. At its end it
//! panics in the middle of an ingest. `.ci/features` runs it twice on one folder; the second run finds the dataset as
//! it was before the panic.

use std::error::Error;
use std::fs;
use std::path::Path;
use trueup::arrow::array::RecordBatch;
use trueup::ingest::{FileFormat, Ingest, IngestError, Source};
use trueup::query::EventsQuery;
use trueup::{Dataset, Value};

const EVENTS: &[u8] = b"account,opportunityId,type,date,eventId\nacme,1,lead-originated,2026-01-05,1\n";
const FAULTY: &[u8] = b"account,opportunityId,type,date\nacme,2,bought,2026-01-05\n";

/// Returns the number of the new version.
fn ingest(path: &Path, format: FileFormat, bytes: &'static [u8]) -> Result<u64, IngestError> {
    Ingest::into(path).events(Source::reader(format, bytes)).run().map(|summary| summary.version)
}

/// Returns whether the dataset answers that it has one lead.
fn has_one_lead(path: &Path) -> Result<bool, Box<dyn Error>> {
    let query = EventsQuery::new(["leads"], "2026-01-01".parse()?, "2026-01-31".parse()?);
    Ok(Dataset::open(path)?.query(&query)?.value(0, "leads") == Some(Value::Count(1)))
}

/// Changes each byte of the files of events.
fn damage(path: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(path.join("events"))? {
        let file = entry?.path();
        let changed: Vec<u8> = fs::read(&file)?.iter().map(|byte| !byte).collect();
        fs::write(file, changed)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("expected a folder")?;
    let (path, damaged) = (Path::new(&folder).join("dataset"), Path::new(&folder).join("damaged"));
    let is_second_run = path.exists();
    assert!(!is_second_run || has_one_lead(&path)?);
    assert_eq!(ingest(&path, FileFormat::CSV, EVENTS)?, if is_second_run { 2 } else { 1 });
    let names: Vec<_> = fs::read_dir(&path)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<_>>()?;
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".trueup-pending")), "{names:?}");

    let refused = ingest(&path, FileFormat::CSV, FAULTY).err().ok_or("`bought` is no stage")?;
    assert_eq!(refused.row().and_then(|(_, row)| row.value()), Some("bought"));
    assert!(ingest(&path, FileFormat::PARQUET, b"PAR1, and no footer").is_err());
    if !is_second_run {
        ingest(&damaged, FileFormat::CSV, EVENTS)?;
        damage(&damaged)?;
    }
    assert!(has_one_lead(&damaged).is_err());
    assert!(has_one_lead(&path)?);

    println!("faults are errors");
    let batches = std::iter::repeat_with(|| -> RecordBatch { panic!("a fault of this program, in an ingest") });
    Ingest::into(&path).events(Source::batches(batches)).run()?;
    Ok(())
}
