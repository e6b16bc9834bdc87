//! What may be given to a mapping: everything that a canonical ingest reads.

use crate::case::{Case, foreign};
use crate::values::events_with;
use arrow_array::types::{Int8Type, Int32Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, DictionaryArray, LargeStringArray, RecordBatch, StringArray, UInt32Array,
};
use std::fs::File;
use std::sync::Arc;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::{FileFormat, Ingest, Source};

/// Reads files of `testdata/foreign`, whose column `city` becomes the dimension `town`.
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

/// The name of a reader is no file name, whatever its ending.
#[test]
fn a_mapping_reads_a_reader_in_its_format() {
    let reader = || Source::reader(FileFormat::NDJSON, File::open(foreign("events.ndjson.gz")).unwrap());
    check_reads(MAPPING, |ingest| ingest.events(reader()));
    check_reads(MAPPING, |ingest| ingest.events(reader().named("events.csv")));
    check_reads(&MAPPING.replace("\"*\"", "\"*.parquet\""), |ingest| ingest.events(reader().named("log.parquet")));
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

/// Ingests record batches through a mapping with the given columns of events. Returns the amounts of the events in
/// millionths, by id.
fn totals_of<const N: usize>(mapped: &str, columns: [(&str, ArrayRef); N]) -> Vec<i128> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mapping = events_with(mapped).replace("a.csv", "crm").replace("lead-originated", "sold");
    let case = Case::new(&mapping);
    case.ingest().events(Source::batches([batch]).named("crm")).run().unwrap();
    let (first, last) = ("2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap());
    let query = EventsQuery::new(["opportunityId", "total"], first, last);
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query.allow_long_total()).unwrap();
    let total = |row| match table.value(row, "total") {
        Some(Value::Money(total)) => total,
        other => panic!("{other:?}"),
    };
    (0..table.len()).map(total).collect()
}

/// The codes of texts are texts, whatever their types.
#[test]
fn coded_texts_of_record_batches_are_changed_like_other_texts() {
    let plain = vec!["1.234", "0,5"];
    let large = Arc::new(LargeStringArray::from(plain.clone()));
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from(plain.clone())),
        large.clone(),
        Arc::new(plain.iter().copied().collect::<DictionaryArray<Int32Type>>()),
        Arc::new(plain.iter().copied().collect::<DictionaryArray<Int8Type>>()),
        Arc::new(DictionaryArray::<UInt32Type>::new(UInt32Array::from(vec![0, 1]), large)),
    ];
    let mapped = "date = { value = \"2025-01-01\" }\ntotal = { column = \"t\", remove = \".\", decimal_mark = \",\" }";
    for texts in columns {
        let (ids, shown): (ArrayRef, _) = (Arc::new(StringArray::from(vec!["1", "2"])), texts.data_type().clone());
        assert_eq!(totals_of(mapped, [("id", ids), ("t", texts)]), [1_234_000_000, 500_000], "{shown}");
    }
}

/// The text of a date has no time of day, whatever the type of the date.
#[test]
fn dates_of_record_batches_are_compared_as_days() {
    const DAY: i64 = 86_400_000;
    let columns: [ArrayRef; 2] = [
        Arc::new(Date32Array::from(vec![20_119, 20_120])),
        Arc::new(Date64Array::from(vec![20_119 * DAY, 20_120 * DAY])),
    ];
    let mapped = "date = { value = \"2025-01-01\" }\n\
                  total = { column = \"day\", map = { \"2025-01-31\" = 5, \"2025-02-01\" = 7 } }";
    for days in columns {
        let (ids, shown): (ArrayRef, _) = (Arc::new(StringArray::from(vec!["1", "2"])), days.data_type().clone());
        assert_eq!(totals_of(mapped, [("id", ids), ("day", days)]), [5_000_000, 7_000_000], "{shown}");
    }
}

/// A pipe gives its content once: the checksum of the inputs would be one of nothing, or wait forever.
#[test]
#[cfg(unix)]
fn a_mapping_that_is_a_pipe_is_refused() {
    use std::os::fd::AsRawFd as _;

    let case = Case::new(MAPPING);
    let named = case.path("named.toml");
    assert!(std::process::Command::new("mkfifo").arg(&named).status().unwrap().success());
    // As a shell gives the output of a command.
    let (output, _input) = std::io::pipe().unwrap();
    let unnamed = std::path::PathBuf::from(format!("/dev/fd/{}", output.as_raw_fd()));
    for pipe in [named, unnamed] {
        let error = case.ingest().events(foreign("other-files/events.csv")).mapping(&pipe).run().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "`{}`: a mapping is read more than once, which a pipe does not allow; write its content to a file first",
                pipe.display()
            )
        );
    }
}
