//! The engine against what a user of polars would write: the same metrics as window expressions and groups over data
//! frames.
//!
//! Nothing here is shared with the engine or the naive oracle but the tables that all of them read.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
mod demo;
mod exports;
mod frame;
mod funnel;
mod metrics;
mod question;
mod random;
mod rows;
mod spend;
