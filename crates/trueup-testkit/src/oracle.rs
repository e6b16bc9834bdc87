//! The naive oracle: every rule of the semantics page computed the slow, obvious way, row by row, from plain tables.
//!
//! It shares no code with the engine. Each function names the section of the semantics page ("What every number means")
//! that it follows, so that a reader can hold the two side by side.

mod answer;
mod conditions;
mod customer;
mod enrich;
mod expression;
mod field;
mod filter;
mod interval;
mod json;
mod metric;
mod number;
mod render;
mod request;
mod spend;
mod tables;
#[cfg(test)]
mod tests;

pub use answer::answer;
pub use field::{COMPUTED_FIELDS, GRADING_FIELDS};
pub use metric::METRICS;
pub use render::text_of;
pub use request::{Refusal, Request};
pub use tables::{AccountRow, Cell, EventRow, SpendRow, Tables, local_date};
