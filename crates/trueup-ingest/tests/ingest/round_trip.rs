//! Event columns, encoded by an ingest and decoded by a query. The encoder of dictionary pages is in this crate, and
//! the decoder in `trueup-core`.

use arrow_array::{ArrayRef, Decimal128Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::Ingest;

/// The text columns that a case fills.
const COLUMNS: [&str; 3] = ["campaign", "zip", "attributionChannel"];

/// The cells of a column; `None` is null.
type Column<T> = Vec<Option<T>>;

/// Generates runs of equal codes below a random cardinality, so that codes have between 0 and 12 bits.
fn codes(rows: usize) -> impl Strategy<Value = Column<u32>> {
    (0_u32..=12, prop_oneof![Just(0_u32), 1_u32..4, Just(100)]).prop_flat_map(move |(bits, null_percent)| {
        let code = (0..1_u32 << bits, 0_u32..100).prop_map(move |(code, die)| (die >= null_percent).then_some(code));
        let run = (code, prop_oneof![4 => 1_usize..3, 2 => 6_usize..20, 1 => 50_usize..200]);
        prop::collection::vec(run, rows).prop_map(move |runs| {
            let codes = runs.into_iter().flat_map(|(code, times)| std::iter::repeat_n(code, times));
            codes.take(rows).collect()
        })
    })
}

/// Generates amounts in millionths: small and large ones, with and without cents.
fn amounts(rows: usize) -> impl Strategy<Value = Column<i64>> {
    let amount = prop_oneof![
        1 => Just(None),
        3 => (-100_000_i64..100_000).prop_map(|cents| Some(cents * 10_000)),
        1 => (-(1_i64 << 50)..1 << 50).prop_map(Some),
    ];
    prop::collection::vec(amount, rows)
}

fn case() -> impl Strategy<Value = ([Column<u32>; 3], Column<i64>, usize)> {
    let rows = prop_oneof![1_usize..40, 40_usize..3_000];
    rows.prop_flat_map(|rows| {
        let row_group_rows = prop_oneof![Just(7_usize), Just(100), Just(65_536)];
        (std::array::from_fn(|_| codes(rows)), amounts(rows), row_group_rows)
    })
}

fn text(code: Option<u32>) -> Option<String> {
    code.map(|code| format!("text {code}"))
}

/// Writes events of one customer each; the customers are in the order of the rows.
fn write(path: &Path, columns: &[Column<u32>; 3], totals: &Column<i64>) {
    let texts = |text: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new((0..totals.len()).map(text).collect::<StringArray>())
    };
    let amounts: Decimal128Array = totals.iter().map(|total| total.map(i128::from)).collect();
    let mut table: Vec<(&str, ArrayRef, bool)> = vec![
        ("account", texts(&|_| Some("a".to_owned())), false),
        ("opportunityId", texts(&|row| Some(format!("{row:06}"))), false),
        ("type", texts(&|_| Some("lead-originated".to_owned())), false),
        ("date", texts(&|_| Some("2025-01-31".to_owned())), false),
        ("eventId", texts(&|row| Some(row.to_string())), false),
        ("total", Arc::new(amounts.with_precision_and_scale(38, 6).unwrap()), true),
    ];
    for (name, column) in COLUMNS.into_iter().zip(columns) {
        table.push((name, texts(&|row| text(column[row])), true));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(table).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn event_columns_are_read_as_they_were_written((columns, totals, row_group_rows) in case()) {
        let dir = TempDir::new().unwrap();
        let (input, folder) = (dir.path().join("events.parquet"), dir.path().join("dataset"));
        write(&input, &columns, &totals);
        Ingest::into(&folder).row_group_rows(row_group_rows).threads(1).events(&input).run().unwrap();
        let day = || "2025-01-31".parse().unwrap();
        let fields = [&["eventId"][..], &COLUMNS, &["total"]].concat();
        let table = Dataset::open(&folder).unwrap().query(&EventsQuery::new(fields, day(), day())).unwrap();
        prop_assert_eq!(table.len(), totals.len());
        let mut found = BTreeMap::new();
        for row in table.rows() {
            let Some(Value::Text(id)) = row.get("eventId") else { return Err(TestCaseError::fail("no event id")) };
            found.insert(id.parse::<usize>().unwrap(), row);
        }
        for (number, row) in found {
            for (name, column) in COLUMNS.into_iter().zip(&columns) {
                let expected = text(column[number]).unwrap_or_default();
                prop_assert_eq!(row.get(name), Some(Value::Text(&expected)), "{} of row {}", name, number);
            }
            let total = i128::from(totals[number].unwrap_or_default());
            prop_assert_eq!(row.get("total"), Some(Value::Money(total)), "total of row {}", number);
        }
    }
}
