use super::*;
use arrow_array::cast::AsArray;
use proptest::prelude::*;

fn block(text: &str) -> TextBlock {
    TextBlock { bytes: text.as_bytes().to_vec(), line: 1 }
}

fn read(text: &str) -> Result<Vec<(u64, Vec<String>)>, String> {
    let mut records = CsvRecords::new(text, 1);
    let (mut cells, mut rows) = (Vec::new(), Vec::new());
    while let Some(line) = records.read(&mut cells).map_err(|fault| fault.to_string())? {
        rows.push((line, cells.iter().map(|cell| cell.to_string()).collect()));
    }
    Ok(rows)
}

#[test]
fn records_are_numbered_by_physical_line() {
    let rows = read("a,b\r\n\n\"x\n\"\"y\",2\r\n,\"\"\n5,6").unwrap();
    let shown: Vec<(u64, Vec<&str>)> =
        rows.iter().map(|(line, cells)| (*line, cells.iter().map(String::as_str).collect())).collect();
    assert_eq!(shown, [(1, vec!["a", "b"]), (3, vec!["x\n\"y", "2"]), (5, vec!["", ""]), (6, vec!["5", "6"])]);
}

#[test]
fn broken_quoting_names_its_line() {
    assert_eq!(read("a\n\"b\nc"), Err("line 2: a quote is opened and never closed".to_owned()));
    assert!(read("a\nb\n\"c\"d\n").unwrap_err().starts_with("line 3: text after a closing quote"));
    assert!(read("a\nb\"c\n").unwrap_err().starts_with("line 2: a quote inside a cell"));
}

#[test]
fn a_header_names_each_column_once() {
    assert!(matches!(read_header(&block("\n\n")), Err(InputFault::NoHeader)));
    assert!(matches!(read_header(&block("a,b,a\n")), Err(InputFault::RepeatedColumn { .. })));
    assert!(matches!(read_header(&block("a,,b\n")), Err(InputFault::NamelessColumn { at: 2, .. })));
}

#[test]
fn records_with_too_few_cells_are_malformed() {
    let (schema, rest) = read_header(&block("a,b\n1,2\n3\n4,\n")).unwrap();
    let decoded = CsvDecoder::new(rest, schema, ReadLimits::ANY).unwrap().next().unwrap().unwrap();
    let column = |at: usize| decoded.batch.column(at).as_string::<i32>().iter().collect::<Vec<_>>();
    assert_eq!((column(0), column(1)), (vec![Some("1"), Some("4")], vec![Some("2"), None]));
    assert_eq!(decoded.locations.of(1), InputLocation::Line(4));
    assert_eq!(decoded.malformed[0].location, InputLocation::Line(3));
    assert_eq!(decoded.malformed[0].reason, "expected 2 cells as in the header, but found 1");
}

proptest! {
    /// Reads what the csv crate writes.
    #[test]
    fn csv_of_the_csv_crate_is_read_back(rows in prop::collection::vec(prop::collection::vec("[a-c,\"\n\r é]{0,4}", 2), 1..6), crlf: bool) {
        let terminator = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let read: Vec<Vec<String>> = read(&text).unwrap().into_iter().map(|(_, cells)| cells).collect();
        prop_assert_eq!(read, rows);
    }
}
