use super::*;
use arrow_array::cast::AsArray;
use proptest::prelude::*;

fn block(text: &str) -> TextBlock {
    TextBlock { bytes: text.as_bytes().to_vec(), line: 1, offset: 0 }
}

/// Returns the rows after the header.
fn read_csv(text: &str) -> Result<DecodedBatch, FileFault> {
    let (schema, rows) = read_header(&block(text), b',', true)?;
    let format = CsvFormat {
        schema,
        separator: b',',
        options: Arc::default(),
        left_out: LeftOutCount::new(&ReadOptions::default(), 0),
    };
    let mut rest = BlockText { line: rows.line, at: 0, text: rows.into_text(InputLocation::Line)? };
    let mut decoded = format.decode(&mut rest, Table::Events, ReadLimits::default())?;
    decoded.fatal.take().map_or(Ok(decoded), Err)
}

fn csv_fault(text: &str) -> String {
    read_csv(text).map(|_| ()).unwrap_err().to_string()
}

fn column(decoded: &DecodedBatch, name: &str) -> Vec<Option<String>> {
    let column = decoded.batch.column_by_name(name).unwrap();
    column.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect()
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
    assert!(matches!(read_csv("\n\n"), Err(FileFault::NoHeader)));
    assert!(matches!(read_csv("a,b,a\n"), Err(FileFault::RepeatedColumn { .. })));
    assert!(matches!(read_csv("a,,b\n"), Err(FileFault::NamelessColumn { at: 2, .. })));
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
