//! Ingests CSV files, runs a query, and prints its table.
//!
//! Run it with `cargo run -p trueup --example query_files`.

use std::error::Error;
use std::path::Path;
use trueup::query::EventsQuery;
use trueup::{Dataset, Value};
use trueup_ingest::Ingest;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/worked-example");
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("dataset");
    Ingest::into(&path)
        .events(inputs.join("events.csv"))
        .spend(inputs.join("spend.csv"))
        .accounts(inputs.join("accounts.csv"))
        .run()?;

    let dataset = Dataset::open(&path)?;
    let query = EventsQuery::new(["opportunityAgent", "eventCount"], "2025-01-01".parse()?, "2025-03-31".parse()?);
    let table = dataset.query(&query)?;

    println!("{:<16} {:>10}", "opportunityAgent", "eventCount");
    for row in table.rows() {
        if let (Some(Value::Text(agent)), Some(Value::Count(events))) =
            (row.get("opportunityAgent"), row.get("eventCount"))
        {
            println!("{agent:<16} {events:>10}");
        }
    }
    assert_eq!(table.value(1, "opportunityAgent"), Some(Value::Text("Ann")));
    assert_eq!(table.value(1, "eventCount"), Some(Value::Count(14)));
    Ok(())
}
