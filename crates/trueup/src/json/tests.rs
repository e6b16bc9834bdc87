use super::{write_ndjson, write_rows};
use proptest::prelude::*;
use trueup_core::{Column, Day, ResultTable, StringColumn, Values};

fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

fn texts(codes: &[u32], dictionary: &[&str]) -> Values {
    Values::Strings(StringColumn::new(codes.to_vec(), dictionary.iter().collect()).unwrap())
}

fn rows(columns: Vec<Column>) -> String {
    let mut out = Vec::new();
    write_rows(&ResultTable::from_columns(columns), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_written_as_ecmascript_does() {
    let counts = vec![0, 7, 1 << 53, (1 << 53) + 1, u64::MAX];
    let money = vec![0, 12_000_000, 1_234_500_000, 100_000, -1_000_000];
    let ratios = [Some(0.1), None, Some(-0.0), Some(1.0 / 3.0), Some(1e-7)].into_iter().collect();
    assert_eq!(
        rows(vec![
            column("count", Values::Counts(counts)),
            column("money", Values::Money(money)),
            column("ratio", Values::Ratios(ratios)),
        ]),
        "[{\"count\":0,\"money\":0,\"ratio\":0.1},{\"count\":7,\"money\":12,\"ratio\":0},\
         {\"count\":9007199254740992,\"money\":1234.5,\"ratio\":0},\
         {\"count\":9007199254740992,\"money\":0.1,\"ratio\":0.3333333333333333},\
         {\"count\":18446744073709552000,\"money\":-1,\"ratio\":1e-7}]"
    );
    assert_eq!(
        rows(vec![column("money", Values::Money(vec![-1, -500_000, i128::from(u64::MAX) * 1_000_000, 1]))]),
        "[{\"money\":-0.000001},{\"money\":-0.5},{\"money\":18446744073709552000},{\"money\":0.000001}]"
    );
}

#[test]
fn days_texts_and_keys_are_escaped() {
    let day = |text: &str| text.parse::<Day>().unwrap();
    let days = Values::Days(vec![day("2025-01-01"), day("2025-01-01"), day("2149-06-06")]);
    assert_eq!(
        rows(vec![column("start", days), column("a\"b\\", texts(&[1, 0, 1], &["", "x\n\u{1}\u{7f}é\u{2028}"]))]),
        "[{\"start\":\"2025-01-01\",\"a\\\"b\\\\\":\"x\\n\\u0001\u{7f}é\u{2028}\"},\
         {\"start\":\"2025-01-01\",\"a\\\"b\\\\\":\"\"},\
         {\"start\":\"2149-06-06\",\"a\\\"b\\\\\":\"x\\n\\u0001\u{7f}é\u{2028}\"}]"
    );
}

#[test]
fn an_empty_table_has_an_empty_array_and_no_lines() {
    let none = ResultTable::from_columns(vec![column("leads", Values::Counts(Vec::new()))]);
    let mut out = Vec::new();
    write_rows(&none, &mut out).unwrap();
    assert_eq!(out, b"[]");
    out.clear();
    write_ndjson(&none, &mut out).unwrap();
    assert!(out.is_empty());
}

#[test]
fn ndjson_has_one_row_per_line() {
    let table = ResultTable::from_columns(vec![column("leads", Values::Counts(vec![1, 2]))]);
    let mut out = Vec::new();
    write_ndjson(&table, &mut out).unwrap();
    assert_eq!(out, b"{\"leads\":1}\n{\"leads\":2}\n");
}

proptest! {
    #[test]
    fn any_table_can_be_read_back(
        dictionary in proptest::collection::vec(any::<String>(), 1..4),
        rows in proptest::collection::vec((0_u32..3, 0_u64..1 << 53, -(1_i64 << 52)..1 << 52, 0.0_f64..1e300), 0..30),
    ) {
        let size = u32::try_from(dictionary.len()).unwrap();
        let dictionary: Vec<&str> = dictionary.iter().map(String::as_str).collect();
        let codes: Vec<u32> = rows.iter().map(|row| row.0 % size).collect();
        let table = ResultTable::from_columns(vec![
            column("text", texts(&codes, &dictionary)),
            column("count", Values::Counts(rows.iter().map(|row| row.1).collect())),
            column("money", Values::Money(rows.iter().map(|row| i128::from(row.2)).collect())),
            column("ratio", Values::Ratios(rows.iter().map(|row| Some(row.3)).collect())),
        ]);
        let mut out = Vec::new();
        write_rows(&table, &mut out).unwrap();
        let read: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(read.len(), table.len());
        for (read, row) in read.iter().zip(table.rows()) {
            for (name, value) in row.values() {
                match value.as_f64() {
                    Some(number) => prop_assert_eq!(read[name].as_f64(), Some(number)),
                    None => prop_assert_eq!(read[name].as_str(), Some(table_text(value))),
                }
            }
        }
    }
}

fn table_text(value: trueup_core::Value<'_>) -> &str {
    match value {
        trueup_core::Value::Text(text) => text,
        _ => "",
    }
}

#[test]
fn chunks_join_to_the_whole_text() {
    let counts: Vec<u64> = (0..40_000).collect();
    let table = ResultTable::from_columns(vec![column("count", Values::Counts(counts))]);
    let (mut rows, mut chunk, mut chunks) = (super::JsonRows::array(&table), Vec::new(), Vec::new());
    while rows.next_chunk(&mut chunk) {
        chunks.push(chunk.clone());
    }
    assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.len() < 70_000), "{}", chunks.len());
    let mut whole = Vec::new();
    write_rows(&table, &mut whole).unwrap();
    assert_eq!(chunks.concat(), whole);
    assert_eq!(whole.iter().filter(|byte| **byte == b'{').count(), 40_000);
    assert!(whole.ends_with(b"{\"count\":39999}]"));
}
