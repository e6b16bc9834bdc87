//! The metric dictionary, the event model, and queries over a dataset of lead-funnel events.
//!
//! | module, in the order in which a query passes through them | what it does |
//! |---|---|
//! | [`dictionary`] | defines the metrics, their measures, and the dimensions |
//! | [`definitions`] | holds the metrics and dimensions that users define |
//! | [`query`] | says what is wanted: fields, range, interval, accounts; `filter` holds its conditions |
//! | `execute` | answers a query: calls the next five modules |
//! | `plan` | resolves the query against the dictionary and the columns of the dataset |
//! | [`dataset`] | opens and checks files, skips row groups, caches columns |
//! | `scan` | decodes columns |
//! | `aggregate` | counts and sums per group |
//! | `finish` | computes metrics, sorts, and builds the result table |
//! | [`benchmarks`] | computes anonymous figures of many accounts, with queries |
//! | [`targets`] | adds targets to an answer |
//!
//! [`model`] holds what the tables of events, spend and accounts may contain, and how a customer's events are ordered.
//! `memory` and `interrupt` limit the memory and the time of a query. [`files`] of `trueup-store` has the file
//! operations that write a dataset. [`day`], [`money`], `named`, `stage`, `text`, `similar` and `error` hold small
//! types and functions that all modules share.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod aggregate;
mod attribution;
pub mod benchmarks;
pub mod dataset;
pub mod day;
pub mod definitions;
pub mod dictionary;
mod error;
mod execute;
mod filter;
mod finish;
mod interrupt;
mod memory;
pub mod model;
pub mod money;
mod named;
mod plan;
pub mod query;
mod scan;
mod similar;
mod stage;
pub mod targets;
mod text;

pub use dataset::{Dataset, DatasetError};
pub use day::Day;
pub use error::{Error, QueryError, UnknownField, message_with_causes};
pub use execute::{
    ChangeClass, EmptyRange, EventReader, Execution, ExplainedDimension, ExplainedMeasure, ExplainedMetric,
    ExplainedRange, Explanation, MeasureChange, MeasureClass, MetricChange, MixedCurrencies, Partial, PartialError,
    QueryProgress, RatioClass, RowGroupCounts, RunStatistics, Split, UnseenValue, ValueSearch, Why,
};
pub use finish::{
    Column, ExtraMemory, NotComparable, ParquetProgress, Ratios, ResultTable, Row, StringColumn, Value, Values,
};
pub use memory::{Evict, MemoryBudget, NoRoom, Reservation};
pub use plan::ATTRIBUTION_WINDOW_DAYS;
pub use similar::{most_similar, words};
pub use text::{Shown, StringList};
pub use trueup_store::{Interrupt, Interruption, files};

pub(crate) use text::Code;
