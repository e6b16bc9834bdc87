use super::{ENDINGS, Format, write_arrow, write_parquet};
use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use clap::ValueEnum;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::path::Path;
use trueup::{Column, ResultTable, StringColumn, Values};
use trueup_ingest::{FORMATS, FileFormat};

fn names() -> [&'static str; 3] {
    ["", "Paid, \"Search\"", "a\u{1b}[2J"]
}

fn answer() -> ResultTable {
    let column = |name: &str, values| Column { name: name.to_owned(), values };
    let channels = StringColumn::new(vec![0, 1, 2], names().iter().collect()).unwrap();
    ResultTable::from_columns(vec![
        column("start", Values::Days(vec!["2025-01-01".parse().unwrap(); 3])),
        column("attributionChannel", Values::Strings(channels)),
        column("leads", Values::Counts(vec![1_234_567, 0, 12])),
        column("spend", Values::Money(vec![1_234_500_000, 0, -10_000])),
        column("bookRate", Values::Ratios([Some(0.321), None, Some(1.0)].into_iter().collect())),
    ])
}

#[test]
fn csv_writes_numbers_in_full() {
    let mut out = Vec::new();
    trueup::csv::write_rows(&answer(), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "start,attributionChannel,leads,spend,bookRate\n\
         2025-01-01,,1234567,1234.5,0.321\n\
         2025-01-01,\"Paid, \"\"Search\"\"\",0,0,\n\
         2025-01-01,a\u{1b}[2J,12,-0.01,1\n"
    );
}

#[test]
fn parquet_and_arrow_files_read_back() {
    let expected = answer().record_batch().unwrap();
    let mut out = Vec::new();
    write_arrow(&answer(), &mut out).unwrap();
    let mut reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(out), None).unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), expected);

    // All Parquet readers find plain strings, because the file contains no Arrow schema.
    let file = tempfile::tempfile().unwrap();
    write_parquet(&answer(), file.try_clone().unwrap()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let kept = reader.metadata().file_metadata().key_value_metadata();
    assert!(kept.is_none_or(|kept| kept.iter().all(|entry| entry.key != "ARROW:schema")), "{kept:?}");
    let read = reader.build().unwrap().next().unwrap().unwrap();
    assert_eq!(read.column(1).as_string::<i32>(), &StringArray::from(names().to_vec()));
    for (read, expected) in
        read.columns().iter().zip(expected.columns()).filter(|(read, _)| !read.data_type().is_string())
    {
        assert_eq!(read, expected);
    }
}

/// The Parquet writer checks the size of a page only after a number of rows, so very long texts could create a page
/// that readers refuse.
#[test]
fn long_texts_do_not_create_huge_pages() {
    let long = |index: usize| "x".repeat((1 << 20) + index);
    let texts = StringColumn::new((0..40).collect(), (0..40).map(long).collect()).unwrap();
    let column = Column { name: "conversionTranscript".to_owned(), values: Values::Strings(texts) };
    let file = tempfile::tempfile().unwrap();
    write_parquet(&ResultTable::from_columns(vec![column]), file.try_clone().unwrap()).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let pages = reader.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
    for page in pages {
        assert!(page.unwrap().buffer().len() < 4 << 20);
    }
}

#[test]
fn every_documented_ending_selects_its_format() {
    let of_file = |name: &str| Format::of_file(Path::new(name)).unwrap();
    assert_eq!(of_file("a/b.parquet"), Format::Parquet);
    assert_eq!(of_file("b.jsonl"), Format::Ndjson);
    assert_eq!(of_file("b.CSV"), Format::Csv);
    assert_eq!(of_file("b"), Format::Table);
    for other in ["b.ods", "b.tsv", "b.csv.gz", "b.html"] {
        let failure = Format::of_file(Path::new(other)).unwrap_err().to_string();
        assert!(
            failure.contains(".csv, .json, .ndjson, .jsonl, .parquet, .pq, .arrow, .xlsx or .txt, but found"),
            "{failure}"
        );
    }
    for format in Format::value_variants() {
        assert_eq!(of_file(&format!("b.{}", format.ending())), *format);
    }
    // A table for people is written as `.txt`, which an ingest reads as CSV.
    for (ending, format) in ENDINGS.iter().filter(|(_, format)| *format != Format::Table) {
        if let Some(read) = FORMATS.iter().find(|read| read.endings.contains(ending)) {
            assert_eq!(format.to_possible_value().unwrap().get_name().parse::<FileFormat>().unwrap(), *read);
        }
    }
}
