//! Turns an answer into a polars data frame.
//!
//! Run it with `cargo run -p trueup --features polars --example answer_to_polars`.

use std::error::Error;
use trueup::Dataset;
use trueup::query::{EventsQuery, Interval};
use trueup_ingest::Ingest;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
    std::fs::write(
        &events,
        "account,opportunityId,type,date\n\
         acme,1,lead-originated,2025-01-03\n\
         acme,2,lead-originated,2025-02-04\n",
    )?;
    Ingest::into(&path).events(&events).run()?;

    let query = EventsQuery::new(["account", "leads"], "2025-01-01".parse()?, "2025-02-28".parse()?);
    let frame = Dataset::open(&path)?.query(&query.interval(Interval::Month))?.data_frame()?;
    assert_eq!(frame.shape(), (2, 4));
    assert_eq!(frame.get_column_names(), ["start", "end", "account", "leads"]);
    assert_eq!(frame.column("leads")?.u64()?.iter().flatten().sum::<u64>(), 2);
    Ok(())
}
