//! A second oracle: the metrics as a user of polars would write them, with window expressions and groups over data
//! frames.
//!
//! It shares nothing with the engine or the naive oracle except the tables that all of them read. [`agreement`] asks
//! each [`question`]: events become [`enriched`] events, then groups with [`metrics`], and [`frame`] turns rows into
//! texts. [`exports`] compares the forms of a result.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
#[path = "../../../trueup/examples/answer_to_polars.rs"]
mod answer_to_polars;
mod enriched;
mod exports;
mod frame;
mod metrics;
mod question;

#[test]
fn the_example_of_an_answer_as_a_data_frame_runs() {
    answer_to_polars::main().unwrap();
}
