//! A second oracle: the metrics as a user of polars would write them, with window expressions and groups over data
//! frames.
//!
//! It shares nothing with the engine or the naive oracle except the tables that all of them read.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
#[path = "../../../trueup/examples/answer_to_polars.rs"]
mod answer_to_polars;
mod demo;
mod exports;
mod frame;
mod funnel;
mod metrics;
mod question;
mod random;
mod spend;

#[test]
fn the_example_of_an_answer_as_a_data_frame_runs() {
    answer_to_polars::main().unwrap();
}
