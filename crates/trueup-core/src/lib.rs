//! The metric dictionary, the event model, and queries over a dataset of lead-funnel events.
//!
//! Folders are the stages of a query, in the order in which data flows: [`dictionary`], [`query`], `plan`, [`dataset`], `scan`,
//! `aggregate`, `finish`. `model` holds what the four tables may contain and how a customer's events are ordered.

pub mod dataset;
pub mod day;
pub mod dictionary;
mod finish;
pub mod money;
pub mod query;

pub use day::Day;
pub use finish::{Column, ResultTable, Row, Texts, Value, Values};
