//! Answers as data frames of polars. polars takes minutes to build, so that `.ci/full` alone runs these tests.

#[path = "../examples/answer_to_polars.rs"]
mod answer_to_polars;

use trueup::{Column, Ratios, ResultTable, StringColumn, Values};

#[test]
fn the_example_runs() {
    answer_to_polars::main().unwrap();
}

fn table(columns: impl IntoIterator<Item = (&'static str, Values)>) -> ResultTable {
    let column = |(name, values): (&str, Values)| Column { name: name.to_owned(), values };
    ResultTable::from_columns(columns.into_iter().map(column).collect())
}

/// The largest amount in millionths that has 38 digits.
const LARGEST: i128 = 10_i128.pow(38) - 1;

#[test]
fn a_data_frame_has_the_values_of_its_table() {
    let days = ["1970-01-02", "2149-06-06"].map(|day| day.parse().unwrap());
    let texts = StringColumn::new(vec![1, 0], ["", "Bø"].into_iter().collect()).unwrap();
    let ratios: Ratios = [Some(0.1), None].into_iter().collect();
    let frame = table([
        ("start", Values::Days(days.to_vec())),
        ("campaign", Values::Strings(texts)),
        ("leads", Values::Counts(vec![0, u64::MAX])),
        ("spend", Values::Money(vec![-1, LARGEST])),
        ("bookRate", Values::Ratios(ratios)),
        ("leads.change", Values::Integers(vec![i64::MIN, 7])),
        ("leads.ratio", Values::Numbers(vec![None, Some(-0.5)])),
    ]);
    let frame = frame.data_frame().unwrap();
    assert_eq!(frame.shape(), (2, 7));
    let types: Vec<String> = frame.columns().iter().map(|column| column.dtype().to_string()).collect();
    assert_eq!(types, ["date", "str", "u64", "decimal[38,6]", "f64", "i64", "f64"]);
    let column = |name: &str| frame.column(name).unwrap();
    assert_eq!(column("start").date().unwrap().physical().iter().collect::<Vec<_>>(), [Some(1), Some(65_535)]);
    assert_eq!(column("campaign").str().unwrap().iter().collect::<Vec<_>>(), [Some("Bø"), Some("")]);
    assert_eq!(column("leads").u64().unwrap().iter().collect::<Vec<_>>(), [Some(0), Some(u64::MAX)]);
    assert_eq!(column("spend").decimal().unwrap().physical().iter().collect::<Vec<_>>(), [Some(-1), Some(LARGEST)]);
    assert_eq!(column("bookRate").f64().unwrap().iter().collect::<Vec<_>>(), [Some(0.1), Some(0.0)]);
    assert_eq!(column("leads.change").i64().unwrap().iter().collect::<Vec<_>>(), [Some(i64::MIN), Some(7)]);
    assert_eq!(column("leads.ratio").f64().unwrap().iter().collect::<Vec<_>>(), [None, Some(-0.5)]);
}

#[test]
fn an_amount_of_more_digits_has_no_data_frame() {
    for amount in [LARGEST + 1, i128::MIN] {
        assert!(table([("spend", Values::Money(vec![amount]))]).data_frame().is_err(), "{amount}");
    }
}
