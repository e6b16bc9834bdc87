//! The files of a mapping: which input they belong to, and their formats.

use crate::case::{Case, column};
use crate::values::events_with;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

const DATED: &str = "date = { value = \"2025-01-01\" }";

fn from_file(pattern: &str, more: &str) -> String {
    events_with(DATED).replace("file = \"a.csv\"", &format!("file = \"{pattern}\"\n{more}"))
}

#[test]
fn files_of_an_input_are_read_in_the_given_order() {
    let case = Case::new(&from_file("a-*.csv", "")).file("a-2.csv", "id,k\n1,\n2,\n").file("a-1.csv", "k,id\n,3\n");
    assert_eq!(column(&case.events(), "opportunityId"), ["1", "2", "3"]);
    let case = Case::new(&from_file("a-*.csv", "")).file("a-2.csv", "id,k\n1,\n").file("a-1.csv", "id\n3\n");
    assert_eq!(case.refusal(), "`a-1.csv`: it has no column `k`, but the first file of its input has one");
    // The line is that of its own file.
    let case = Case::new(&from_file("a-*.csv", "")).file("a-2.csv", "id\n1\n").file("a-1.csv", "id\n2\n\"\"\n");
    let expected = "`a-1.csv`, line 3, column `id`: expected a value, but found nothing";
    assert!(case.refusal().starts_with(expected), "{}", case.refusal());
}

#[test]
fn every_file_has_one_input_and_every_input_a_file() {
    let case = Case::new(&from_file("a.csv", "")).file("b.csv", "id\n");
    assert_eq!(case.refusal(), "`b.csv`: no input of the mapping `mapping.toml` names this file".to_owned());
    let case = Case::new(&from_file("a.csv", ""));
    assert_eq!(
        case.refusal(),
        "mapping `mapping.toml`, key `input.a.file`, value `a.csv`: no file that was given has this name; with \
         `optional = true` it may be missing"
    );
    let two = format!("{}\n[input.b]\nfile = \"*.csv\"", events_with(DATED));
    let case = Case::new(&two).file("a.csv", "id\n");
    assert_eq!(
        case.refusal(),
        "`a.csv`: the inputs `a` and `b` both name this file; only inputs that have the key `sheet`, each another one, can share a \
         workbook"
    );
    let case = Case::new(&from_file("a.csv", "")).file("a.csv", "id\n");
    let again = case.path("a.csv");
    assert_eq!(case.file_at(again).refusal(), "`a.csv`: the file is given twice");
}

#[test]
fn csv_is_read_as_the_mapping_says() {
    for (more, text, expected) in [
        ("", "id\n1\n", vec!["1"]),
        ("separator = \";\"", "id;x\n1;2\n", vec!["1"]),
        ("separator = \"\\t\"", "id\tx\n1\t2\n", vec!["1"]),
        ("header = [\"id\", \"x\"]", "1,2\n3,4\n", vec!["1", "3"]),
        ("rename = { Number = \"id\" }", "Number\n1\n", vec!["1"]),
        ("rename = { id = \"x\", x = \"id\" }", "id,x\n1,2\n", vec!["2"]),
        ("", "\nid,x\n1,2\n", vec!["1"]),
        ("", "id,x\r\n\r\n1,2\r\n\r\n", vec!["1"]),
        ("", "id\n\n1\n\n2\n", vec!["1", "2"]),
        ("header = [\"id\"]", "\n1\n\n2", vec!["1", "2"]),
        ("", "id,x\n", vec![]),
    ] {
        let case = Case::new(&from_file("a.csv", more)).file("a.csv", text);
        assert_eq!(column(&case.events(), "opportunityId"), expected, "{more} {text:?}");
    }
}

#[test]
fn a_separator_that_cannot_separate_is_refused() {
    for separator in ["\\\"", "\\n", "é"] {
        let mapping = from_file("a.csv", &format!("separator = \"{separator}\""));
        let refusal = Case::new(&mapping).file("a.csv", "id\n1\n").refusal();
        let expected = "key `input.a.separator`: expected an ASCII character that is neither a quote nor a line end";
        assert!(refusal.ends_with(expected), "{refusal}");
    }
}

#[test]
fn listed_cells_mean_no_value() {
    let mapping = events_with("date = { value = \"2025-01-01\" }\ntotal = \"t\"")
        .replace("file = \"a.csv\"", "file = \"a.csv\"\nempty = [\"NA\", \"-\"]");
    let case = Case::new(&mapping).file("a.csv", "id,t\n1,NA\n2,-\n3,-1\n");
    assert_eq!(column(&case.events(), "total"), ["", "", "-1"]);
}

#[test]
fn parquet_keeps_its_types_where_they_fit() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(8)]));
    let prices: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.1), None]));
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_751_364_000_123_456_789, -1]));
    let notes: ArrayRef = Arc::new(StringArray::from(vec![Some(""), Some("n")]));
    let columns = [("id", ids), ("price", prices), ("time", times), ("note", notes)];
    let bytes = parquet(columns);
    let columns = "date = { column = \"time\" }\ndateTime = { column = \"time\", time_zone = \"America/New_York\" }\n\
                   total = \"price\"\nrate = { column = \"price\", default = \"none\" }\nnote = \"note\"\nprice = \"price\"";
    let mapping = events_with(columns).replace("a.csv", "a.parquet");
    let case = Case::new(&mapping).file("a.parquet", bytes);
    let rows = case.events();
    assert_eq!(column(&rows, "opportunityId"), ["7", "8"]);
    assert_eq!(column(&rows, "total"), ["0.1", ""]);
    assert_eq!(column(&rows, "rate"), ["0.1", "none"]);
    assert_eq!(column(&rows, "note"), ["", "n"]);
    assert_eq!(column(&rows, "date"), ["2025-07-01", "1969-12-31"]);
    assert_eq!(column(&rows, "dateTime"), ["2025-07-01T14:00:00.123456Z", "1970-01-01T04:59:59.999999Z"]);
    let case = Case::new(&mapping).file("a.parquet", "no Parquet");
    assert!(case.refusal().starts_with("`a.parquet`: "), "{}", case.refusal());
}

#[test]
fn parquet_of_other_programs_is_read() {
    let ids: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let zoned = TimestampMicrosecondArray::from(vec![1_751_364_000_000_000; 3]).with_timezone("America/New_York");
    let money = Decimal128Array::from(vec![Some(1_250), None, Some(-1)]).with_precision_and_scale(12, 2).unwrap();
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
    let columns: [(&str, ArrayRef); 4] =
        [("id", Arc::new(ids)), ("time", Arc::new(zoned)), ("money", Arc::new(money)), ("flag", flags)];
    let mapped =
        "dateTime = \"time\"\ntotal = \"money\"\nnote = { column = \"money\", default = \"-\" }\nflag = \"flag\"";
    let case = Case::new(&events_with(mapped).replace("a.csv", "a.parquet")).file("a.parquet", parquet(columns));
    let rows = case.events();
    assert_eq!(column(&rows, "opportunityId"), ["a", "b", "a"]);
    assert_eq!(column(&rows, "dateTime"), ["2025-07-01T10:00:00Z"; 3]);
    assert_eq!(column(&rows, "total"), ["12.50", "", "-0.01"]);
    assert_eq!(column(&rows, "note"), ["12.50", "-", "-0.01"]);
    assert_eq!(column(&rows, "flag"), ["true", "", "false"]);
}

pub(crate) fn parquet<const N: usize>(columns: [(&str, ArrayRef); N]) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}
