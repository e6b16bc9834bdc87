//! Makes a dataset in memory from Arrow record batches, and queries it. Nothing is written to disk.
//!
//! Run it with `cargo run -p trueup --features arrow --example in_memory_tables`.

use std::error::Error;
use std::sync::Arc;
use trueup::arrow::array::{ArrayRef, RecordBatch, StringArray};
use trueup::query::{EventsQuery, Filter};
use trueup::{Dataset, Tables, Value};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let texts = |values: [&str; 3]| -> ArrayRef { Arc::new(StringArray::from_iter_values(values)) };
    let events = RecordBatch::try_from_iter([
        ("account", texts(["acme", "acme", "acme"])),
        ("opportunityId", texts(["1", "2", "3"])),
        ("type", texts(["lead-originated", "lead-originated", "lead-originated"])),
        ("date", texts(["2025-01-03", "2025-01-09", "2025-01-20"])),
        ("attributionChannel", texts(["Paid Search", "Referral", "Paid Search"])),
    ])?;
    let dataset = Dataset::from_tables(&Tables { events: vec![events], ..Tables::default() })?;

    let query = EventsQuery::new(["leads"], "2025-01-01".parse()?, "2025-01-31".parse()?)
        .filter(Filter::equals("attributionChannel", "Paid Search"));
    assert_eq!(dataset.query(&query)?.value(0, "leads"), Some(Value::Count(2)));
    Ok(())
}
