use super::dictionary;
use crate::TextList;
use crate::finish::{Column, ResultTable, Texts, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StringArray};
use arrow_schema::ArrowError;

fn texts(codes: Vec<u32>, dictionary: &[&str]) -> Texts {
    Texts::new(codes, dictionary.iter().collect()).unwrap()
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

/// The texts of all rows together exceed 32-bit offsets.
#[test]
fn a_long_text_may_repeat_in_any_number_of_rows() {
    let long = "x".repeat(1 << 20);
    let batch = table(texts(vec![0; 2_100], &[&long])).record_batch().unwrap();
    assert_eq!(batch.num_rows(), 2_100);
    assert_eq!(batch.column(0).as_dictionary::<Int32Type>().values().len(), 1);
}

#[test]
fn distinct_texts_that_exceed_the_offsets_are_refused() {
    // The texts that occur have eight bytes.
    let texts = texts(vec![1, 2, 1], &["unused", "campaign", ""]);
    assert!(dictionary(&texts, 8).is_ok());
    assert!(matches!(dictionary(&texts, 7), Err(ArrowError::OffsetOverflowError(8))));
}

#[test]
fn a_code_beyond_the_dictionary_is_refused() {
    assert_eq!(Texts::new(vec![7; 4], ["a"].iter().collect()), None);
    assert_eq!(Texts::new(vec![0], TextList::default()), None);
}
