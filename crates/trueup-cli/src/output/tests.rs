#![expect(clippy::unwrap_used, reason = "tests")]

use super::table::{self, Heading};
use super::{Format, arrow, csv, parquet};
use std::path::Path;
use std::sync::Arc;
use trueup_core::{Column, ResultTable, Texts, Values};

fn answer() -> ResultTable {
    let column = |name: &str, values| Column { name: name.to_owned(), values };
    let channels = Texts {
        codes: vec![0, 1, 2],
        dictionary: vec![Arc::from(""), Arc::from("Paid, \"Search\""), Arc::from("a\u{1b}[2J")],
    };
    ResultTable::from_columns(vec![
        column("start", Values::Days(vec!["2025-01-01".parse().unwrap(); 3])),
        column("attributionChannel", Values::Texts(channels)),
        column("leads", Values::Counts(vec![1_234_567, 0, 12])),
        column("spend", Values::Money(vec![1_234_500_000, 0, -10_000])),
        column("bookRate", Values::Ratios(vec![0.321, 0.0, 1.0])),
    ])
}

fn text(heading: Heading, rows: &[usize]) -> String {
    let mut out = Vec::new();
    table::write_rows(&answer(), rows, heading, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn tables_align_numbers_right_and_defuse_texts() {
    assert_eq!(
        text(Heading::Name, &[0, 1, 2]),
        "\
start       attributionChannel      leads     spend  bookRate
──────────────────────────────────────────────────────────────
2025-01-01  (none)              1,234,567  1,234.50     32.1%
2025-01-01  Paid, \"Search\"              0      0.00      0.0%
2025-01-01  a\u{fffd}[2J                      12     -0.01    100.0%
"
    );
    assert!(text(Heading::DisplayName, &[]).contains("Book Rate"));
}

#[test]
fn csv_has_numbers_in_full() {
    let mut out = Vec::new();
    csv::write(&answer(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "start,attributionChannel,leads,spend,bookRate\n\
         2025-01-01,,1234567,1234.5,0.321\n\
         2025-01-01,\"Paid, \"\"Search\"\"\",0,0,0\n\
         2025-01-01,a\u{1b}[2J,12,-0.01,1\n"
    );
}

#[test]
fn parquet_and_arrow_read_back() {
    let expected = answer().record_batch().unwrap();
    let mut out = Vec::new();
    arrow::write(&answer(), &mut out).unwrap();
    let mut reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(out), None).unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), expected);

    let file = tempfile::tempfile().unwrap();
    parquet::write(&answer(), file.try_clone().unwrap()).unwrap();
    let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 1_024);
    assert_eq!(reader.unwrap().next().unwrap().unwrap(), expected);
}

#[test]
fn endings_stand_for_formats() {
    assert_eq!(Format::of(Path::new("a/b.parquet")), Some(Format::Parquet));
    assert_eq!(Format::of(Path::new("b.jsonl")), Some(Format::Ndjson));
    assert_eq!(Format::of(Path::new("b")), None);
}
