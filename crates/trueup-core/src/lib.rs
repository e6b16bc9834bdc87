//! The metric dictionary, the event model, and queries over a dataset of lead-funnel events.
//!
//! Folders are the stages of a query, in the order in which data flows: [`dictionary`], [`query`], `plan`, [`dataset`],
//! `scan`, `aggregate`, `finish`; `execute` leads from one to the next. [`model`] holds what the four tables may contain
//! and how a customer's events are ordered.

mod aggregate;
pub mod benchmarks;
pub mod dataset;
pub mod day;
pub mod dictionary;
mod error;
mod execute;
pub mod files;
mod finish;
mod interrupt;
mod memory;
pub mod model;
pub mod money;
mod plan;
pub mod query;
mod scan;
mod text;

pub use dataset::{Dataset, DatasetError};
pub use day::Day;
pub use error::{Error, QueryError};
pub use execute::{Execution, Explanation, RunStatistics};
pub use finish::{Column, ExtraMemory, ResultTable, Row, Texts, Value, Values};
pub use interrupt::{Interrupt, Interruption};
pub use memory::{MemoryBudget, NoRoom, Reservation};
pub use plan::ATTRIBUTION_WINDOW_DAYS;
pub use text::{Shown, TextList};
