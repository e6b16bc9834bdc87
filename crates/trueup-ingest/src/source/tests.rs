use super::csv::CsvDecoder;
use super::ndjson::{NdjsonColumns, NdjsonDecoder};
use super::*;
use crate::table::Table;
use arrow_array::cast::AsArray;
use proptest::prelude::*;

fn block(text: &str) -> TextBlock {
    TextBlock { bytes: text.as_bytes().to_vec(), line: 1, offset: 0 }
}

/// Returns the line and the text of each block.
fn blocks(text: &str, size: usize) -> Vec<(u64, String)> {
    let mut blocks = TextBlocks::new(text.as_bytes(), size, 1 << 10, true);
    std::iter::from_fn(|| blocks.next().ok().flatten())
        .map(|block| (block.line, String::from_utf8_lossy(&block.bytes).into_owned()))
        .collect()
}

/// Returns the rows after the header.
fn read_csv(text: &str) -> Result<DecodedBatch, InputFault> {
    let (schema, rows) = csv::read_header(&block(text), b',', true)?;
    let format = CsvFormat { schema, separator: b',', options: Arc::default() };
    let mut decoded = CsvDecoder::new(rows, format, ReadLimits::default())?.next()?.unwrap();
    decoded.fatal.take().map_or(Ok(decoded), Err)
}

fn csv_fault(text: &str) -> String {
    read_csv(text).map(|_| ()).unwrap_err().to_string()
}

fn read_ndjson(text: &str) -> DecodedBatch {
    let columns = NdjsonColumns { table: Table::Events, options: Arc::default(), is_array: false };
    NdjsonDecoder::new(block(text), columns, ReadLimits::default()).unwrap().next().unwrap().unwrap()
}

fn column(decoded: &DecodedBatch, name: &str) -> Vec<Option<String>> {
    let column = decoded.batch.column_by_name(name).unwrap();
    column.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect()
}

#[test]
fn blocks_never_split_a_record() {
    let text = "a,b\n\"x\ny\",2\n3,4\n5";
    for size in 1..text.len() + 2 {
        let blocks = blocks(text, size);
        assert_eq!(blocks.iter().map(|(_, text)| text.as_str()).collect::<String>(), text);
        assert!(blocks.iter().all(|(_, text)| !text.starts_with('y')), "{size}");
        let line_of_three = blocks.iter().find_map(|(line, text)| {
            text.find("3,4").map(|at| line + text_blocks::count_lines(&text.as_bytes()[..at]))
        });
        assert_eq!(line_of_three, Some(4));
    }
}

#[test]
fn csv_records_are_numbered_by_physical_line() {
    let decoded = read_csv("a,b\r\n\n\"x\n\"\"y\",2\r\n,\"\"\n5,6").unwrap();
    assert_eq!(column(&decoded, "a"), [Some("x\n\"y".to_owned()), None, Some("5".to_owned())]);
    assert_eq!(column(&decoded, "b"), [Some("2".to_owned()), None, Some("6".to_owned())]);
    assert_eq!([0, 1, 2].map(|row| decoded.locations.of(row)), [3, 5, 6].map(InputLocation::Line));
}

#[test]
fn broken_quoting_of_csv_names_its_line() {
    assert_eq!(csv_fault("a\n\"b\nc"), "line 2: a quote is opened and never closed");
    assert!(csv_fault("a\nb\n\"c\"d\n").starts_with("line 3: text after a closing quote"));
    assert!(csv_fault("a\nb\"c\n").starts_with("line 2: a quote inside a cell"));
}

#[test]
fn a_csv_header_names_each_column_once() {
    assert!(matches!(read_csv("\n\n"), Err(InputFault::NoHeader)));
    assert!(matches!(read_csv("a,b,a\n"), Err(InputFault::RepeatedColumn { .. })));
    assert!(matches!(read_csv("a,,b\n"), Err(InputFault::NamelessColumn { at: 2, .. })));
}

#[test]
fn csv_records_with_too_few_cells_are_malformed() {
    let decoded = read_csv("a,b\n1,2\n3\n4,\n").unwrap();
    assert_eq!(column(&decoded, "a"), [Some("1".to_owned()), Some("4".to_owned())]);
    assert_eq!(column(&decoded, "b"), [Some("2".to_owned()), None]);
    assert_eq!(decoded.locations.of(1), InputLocation::Line(4));
    assert_eq!(decoded.malformed[0].location, InputLocation::Line(3));
    assert_eq!(decoded.malformed[0].reason(), "expected 2 cells as in the header, but found 1");
}

proptest! {
    #[test]
    fn csv_of_the_csv_crate_is_read_back(rows in prop::collection::vec(prop::collection::vec("[a-c,\"\n\r é]{0,4}", 2), 1..6), crlf: bool) {
        let terminator = if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
        let mut writer = ::csv::WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
        writer.write_record(["first", "second"]).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let decoded = read_csv(&String::from_utf8(writer.into_inner().unwrap()).unwrap()).unwrap();
        for (at, name) in ["first", "second"].iter().enumerate() {
            let written = rows.iter().map(|row| Some(row[at].clone()).filter(|cell| !cell.is_empty()));
            prop_assert_eq!(column(&decoded, name), written.collect::<Vec<_>>());
        }
    }
}

#[test]
fn every_ndjson_value_becomes_text() {
    let decoded = read_ndjson(concat!(
        "{\"v\": 1.50, \"total\": 12.340000000000000001}\n",
        "\n",
        "{\"total\": 1e3, \"v\": \"a\\u00e9\\n\"}\r\n",
        "{\"v\": true}\n{\"v\": null}\n{\"v\": -0}\n{\"v\": 12345678901234567890123}\n{\"v\": \"\"}",
    ));
    let expected =
        [Some("1.5"), Some("a\u{e9}\n"), Some("true"), None, Some("0"), Some("12345678901234567890123"), None];
    assert_eq!(column(&decoded, "v"), expected.map(|value| value.map(str::to_owned)));
    assert_eq!(column(&decoded, "total")[..2], [Some("12.340000000000000001".to_owned()), Some("1000".to_owned())]);
    assert_eq!(column(&decoded, "account"), [const { None }; 7]);
    assert_eq!(decoded.locations.of(1), InputLocation::Line(3));
}

#[test]
fn members_of_all_ndjson_blocks_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ndjson");
    let names: Vec<String> = (0..ReadLimits::chunks() * 8).map(|line| format!("m{line:06}")).collect();
    // Each line is longer than a block.
    let value = " ".repeat(1 << 10);
    std::fs::write(&path, names.iter().map(|name| format!("{{\"{name}\":\"{value}\"}}\n")).collect::<String>())
        .unwrap();
    let limits = ReadLimits { rows: 1, max_columns: names.len(), ..ReadLimits::default() };
    let input = Input::given(&path);
    let columns = InputReader::open(&Files::default(), &input, limits).unwrap().all_columns(limits).unwrap();
    assert_eq!(columns.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>(), names);
}

#[test]
fn ndjson_lines_that_are_not_rows_are_malformed() {
    let decoded = read_ndjson("{\"a\": 1}\n[1]\n{\"a\": {\"b\": 1}}\n{\"a\": 1, \"a\": 2}\n{\"a\"\n{\"a\": 2}\n");
    let shown: Vec<String> = decoded.malformed.iter().map(ToString::to_string).collect();
    assert!(shown[0].starts_with("line 2: expected a JSON object"), "{shown:?}");
    assert_eq!(shown[1], "line 3, column `a`: expected a single value, but found an object: `{\"b\": 1}`");
    assert_eq!(shown[2], "line 4: expected each member once, but found `a` twice");
    assert!(shown[3].starts_with("line 5: expected a JSON object"), "{shown:?}");
    assert_eq!(column(&decoded, "a"), [Some("1".to_owned()), Some("2".to_owned())]);
}
