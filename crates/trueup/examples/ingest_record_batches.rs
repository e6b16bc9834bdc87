//! Ingests Arrow record batches and a reader, shows the progress, can be stopped, and acts on a row that breaks a rule.
//!
//! Run it with `cargo run -p trueup --features ingest --example ingest_record_batches`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use trueup::arrow::array::{ArrayRef, RecordBatch, StringArray};
use trueup::ingest::{ErrorKind, FileFormat, Ingest, InputLocation, Reason, Rule, Source};
use trueup::query::EventsQuery;
use trueup::{Dataset, Interrupt, Interruption, Value};

/// Makes events of one stage, one for each customer.
fn events(stage: &str, customers: &[&str]) -> Result<RecordBatch, Box<dyn Error>> {
    let texts = |values: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let column = |value| texts(vec![value; customers.len()]);
    Ok(RecordBatch::try_from_iter([
        ("account", column("acme")),
        ("opportunityId", texts(customers.to_vec())),
        ("type", column(stage)),
        ("date", column("2025-01-03")),
    ])?)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("dataset");

    // The batches may come from a query of another engine; the reader may be a socket or a pipe.
    let batches = [events("lead-originated", &["1", "2", "3"])?, events("booked", &["1"])?];
    let spend: &[u8] = b"account,date,adSpend\nacme,2025-01-03,90\n";
    let summary = Ingest::into(&path)
        .events(Source::batches(batches))
        .spend(Source::reader(FileFormat::CSV, spend).named("ads"))
        .progress(|now| eprintln!("{}: {} rows, {} bytes", now.phase, now.rows, now.bytes))
        .run()?;
    assert_eq!((summary.version, summary.events.taken, summary.spend.taken), (1, 4, 1));
    let query = EventsQuery::new(["leads", "spend"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    assert_eq!(Dataset::open(&path)?.query(&query)?.value(0, "leads"), Some(Value::Count(3)));

    // Without a file for rejected rows, a row that breaks a rule fails the ingest. The error says where, and why.
    let batches = [events("sold", &["1"])?, events("bought", &["2"])?];
    let Err(error) = Ingest::into(&path).events(Source::batches(batches).named("crm")).run() else {
        return Err("`bought` is no stage".into());
    };
    let (file, row) = error.row().ok_or("no row is at fault")?;
    assert_eq!((file, row.location()), (Path::new("crm"), InputLocation::Batch { batch: 1, row: 0 }));
    assert_eq!((row.column(), row.value(), row.rule()), (Some("type"), Some("bought"), &Rule::Value(Reason::Stage)));

    // An interrupt stops the ingest in any phase, from any thread. Nothing of it is left.
    let interrupt = Interrupt::default();
    let stop = interrupt.clone();
    let endless = std::iter::repeat_with(move || {
        stop.cancel();
        RecordBatch::new_empty(Arc::new(trueup::arrow::schema::Schema::empty()))
    });
    let stopped = Ingest::into(&path).events(Source::batches(endless)).interrupt(interrupt).run();
    let kind = stopped.as_ref().map_err(|error| error.kind());
    assert!(matches!(kind, Err(ErrorKind::Interrupted(Interruption::Canceled))));
    assert_eq!(Dataset::open(&path)?.manifest().map(|manifest| manifest.version), Some(1));
    Ok(())
}
