use super::*;
use arrow_array::cast::AsArray;

fn read_ndjson(text: &str) -> DecodedBatch {
    let format = NdjsonFormat { options: Arc::default(), is_array: false };
    let mut block = BlockText { text: text.to_owned(), at: 0, line: 1 };
    format.decode(&mut block, Table::Events, ReadLimits::default()).unwrap()
}

fn column(decoded: &DecodedBatch, name: &str) -> Vec<Option<String>> {
    let column = decoded.batch.column_by_name(name).unwrap();
    column.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect()
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
fn ndjson_lines_that_are_not_rows_are_malformed() {
    let decoded = read_ndjson("{\"a\": 1}\n[1]\n{\"a\": {\"b\": 1}}\n{\"a\": 1, \"a\": 2}\n{\"a\"\n{\"a\": 2}\n");
    let shown: Vec<String> = decoded.malformed.iter().map(ToString::to_string).collect();
    assert!(shown[0].starts_with("line 2: expected a JSON object"), "{shown:?}");
    assert_eq!(shown[1], "line 3, column `a`: expected a single value, but found an object: `{\"b\": 1}`");
    assert_eq!(shown[2], "line 4: expected each member once, but found `a` twice");
    assert!(shown[3].starts_with("line 5: expected a JSON object"), "{shown:?}");
    assert_eq!(column(&decoded, "a"), [Some("1".to_owned()), Some("2".to_owned())]);
}
