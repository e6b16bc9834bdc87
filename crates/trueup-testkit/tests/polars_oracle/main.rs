//! A second oracle: the metrics as a user of polars would write them, with window expressions and groups over data
//! frames.
//!
//! It shares nothing with the engine or the naive oracle except the tables that all of them read.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
mod demo;
mod exports;
mod frame;
mod funnel;
mod metrics;
mod question;
mod random;
mod spend;
