//! Merged state to the answer: ratios, conditions on metrics, order.

mod table;

pub use table::{Column, ResultTable, Row, Texts, Value, Values};
