//! What may be given to a mapping: everything that a canonical ingest reads.

use crate::case::{Case, foreign};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::sync::Arc;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::{Ingest, Source};

/// Reads the files of `testdata/foreign`, whose columns are renamed.
const MAPPING: &str = r#"
[input.log]
file = "*"
[[events]]
from = "log"
[events.columns]
account = "account"
opportunityId = "opportunityId"
eventId = "eventId"
type = "type"
date = "date"
total = "total"
town = "city"
"#;

/// The events of these files: account, stage, day and town, with the sum of the amounts in millionths.
const EVENTS: [(&str, i128); 3] = [
    ("acme lead-originated 2025-01-30 Zürich", 0),
    ("acme sold 2025-02-03 Zürich", 1_250_500_000),
    ("bolt booked 2025-02-04 Austin, TX", 0),
];

/// Runs an ingest with the mapping, and checks that the dataset has [`EVENTS`].
#[track_caller]
fn check_reads(mapping: &str, give: impl FnOnce(Ingest) -> Ingest) {
    let case = Case::new(mapping);
    give(case.ingest()).run().unwrap();
    let names = ["account", "type", "date", "town"];
    let query = EventsQuery::new(
        names.into_iter().chain(["total"]),
        "2025-01-01".parse().unwrap(),
        "2025-03-31".parse().unwrap(),
    );
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    let found: Vec<(String, i128)> = (0..table.len())
        .map(|row| {
            let texts = names.map(|name| match table.value(row, name) {
                Some(Value::Text(text)) => text.to_owned(),
                other => panic!("{other:?}"),
            });
            let Some(Value::Money(total)) = table.value(row, "total") else { panic!("{row}") };
            (texts.join(" "), total)
        })
        .collect();
    let found: Vec<(&str, i128)> = found.iter().map(|(texts, total)| (texts.as_str(), *total)).collect();
    assert_eq!(found, EVENTS);
}

#[test]
fn compressed_files_are_mapped() {
    for name in ["events.csv.gz", "events.csv.zst", "events.csv.bz2", "events.ndjson.gz", "two-members.csv.gz"] {
        check_reads(MAPPING, |ingest| ingest.events(foreign(name)));
        // A pattern may also have the ending of the compression.
        let named = MAPPING.replace("\"*\"", &format!("\"{name}\""));
        check_reads(&named, |ingest| ingest.events(foreign(name)));
    }
}

#[test]
fn columns_that_folders_give_are_mapped() {
    check_reads(MAPPING, |ingest| ingest.events(foreign("hive")));
}

#[test]
fn ignored_columns_are_hidden_from_a_mapping() {
    // The column is in the file and in the name of its folder.
    let case = Case::new(MAPPING);
    let twice = case.ingest().events(foreign("hive-twice")).run().unwrap_err().to_string();
    assert!(twice.contains("account"), "{twice}");
    case.ingest().events(foreign("hive-twice")).ignore("account=*").run().unwrap();
    // A mapping cannot read what is ignored.
    let case = Case::new(MAPPING);
    let error = case.ingest().events(foreign("events.csv.gz")).ignore("ci*").run().unwrap_err().to_string();
    assert!(error.contains("value `city`: no input has this column"), "{error}");
}

#[test]
fn record_batches_are_mapped_under_the_name_of_their_source() {
    let texts = |values: [&str; 3]| -> ArrayRef {
        Arc::new(StringArray::from_iter(values.map(|text| Some(text).filter(|text| !text.is_empty()))))
    };
    let columns = [
        ("account", texts(["acme", "acme", "bolt"])),
        ("opportunityId", texts(["1", "1", "7"])),
        ("type", texts(["lead-originated", "sold", "booked"])),
        ("date", texts(["2025-01-30", "2025-02-03", "2025-02-04"])),
        ("eventId", texts(["e1", "e2", "e3"])),
        ("total", texts(["", "1250.50", ""])),
        ("city", texts(["Zürich", "Zürich", "Austin, TX"])),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let halves = [batch.slice(0, 2), batch.slice(2, 1)];
    let mapping = MAPPING.replace("\"*\"", "\"crm\"");
    check_reads(&mapping, |ingest| ingest.events(Source::batches(halves).named("crm")));
}
