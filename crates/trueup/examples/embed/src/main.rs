//! A program that embeds trueup: makes a dataset from a CSV file in memory, asks one question, and prints the rows.
//!
//! `cargo run` in this folder runs it.

use std::error::Error;
use trueup::Dataset;
use trueup::ingest::{FileFormat, Ingest, Source};
use trueup::query::EventsQuery;

const EVENTS: &[u8] = b"account,opportunityId,type,date,attributionChannel,total
acme,1,lead-originated,2026-01-05,Paid Search,
acme,1,closed,2026-01-30,Paid Search,1840.50
acme,2,lead-originated,2026-01-07,Referral,
acme,3,lead-originated,2026-01-09,Paid Search,
";

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("trueup-embed-{}", std::process::id()));
    Ingest::into(&path).events(Source::reader(FileFormat::CSV, EVENTS).named("crm")).run()?;

    let fields = ["attributionChannel", "leads", "closedRevenue"];
    let query = EventsQuery::new(fields, "2026-01-01".parse()?, "2026-01-31".parse()?);
    for row in Dataset::open(&path)?.query(&query)?.rows() {
        println!("{:?} {:?} {:?}", row.get(fields[0]), row.get(fields[1]), row.get(fields[2]));
    }
    std::fs::remove_dir_all(&path)?;
    Ok(())
}
