#![expect(clippy::unwrap_used, reason = "tests")]

use super::dictionary;
use crate::finish::{Column, ResultTable, Texts, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StringArray};
use arrow_schema::ArrowError;
use std::sync::Arc;

fn texts(codes: Vec<u32>, dictionary: &[&str]) -> Texts {
    Texts::new(codes, dictionary.iter().copied().map(Arc::from).collect()).unwrap()
}

fn table(texts: Texts) -> ResultTable {
    ResultTable::from_columns(vec![Column { name: "campaign".to_owned(), values: Values::Texts(texts) }])
}

#[test]
fn dimensions_are_dictionaries_of_the_texts_that_occur() {
    let batch = table(texts(vec![3, 1, 3], &["", "a", "b", "c"])).record_batch().unwrap();
    let column = batch.column(0).as_dictionary::<Int32Type>();
    assert_eq!(column.keys().values(), &[1, 0, 1]);
    assert_eq!(column.values().as_string::<i32>(), &StringArray::from(vec!["a", "c"]));
    assert_eq!(table(texts(Vec::new(), &[])).record_batch().unwrap().num_rows(), 0);
}

/// Together far more text than 32-bit offsets reach.
#[test]
fn a_long_text_may_repeat_in_any_number_of_rows() {
    let long = "x".repeat(1 << 20);
    let batch = table(texts(vec![0; 2_100], &[&long])).record_batch().unwrap();
    assert_eq!(batch.num_rows(), 2_100);
    assert_eq!(batch.column(0).as_dictionary::<Int32Type>().values().len(), 1);
}

#[test]
fn distinct_texts_beyond_32_bits_are_refused() {
    // One text under many codes takes no more memory than one, but would as an array.
    let long: Arc<str> = Arc::from("x".repeat(1 << 20));
    let many = Texts::new((0..2_048).collect(), vec![long; 2_048]).unwrap();
    assert!(matches!(dictionary(&many), Err(ArrowError::OffsetOverflowError(bytes)) if bytes == 1 << 31));
}

#[test]
fn a_code_without_a_text_makes_no_texts() {
    assert_eq!(Texts::new(vec![7; 4], vec![Arc::from("a")]), None);
    assert_eq!(Texts::new(vec![0], Vec::new()), None);
}
