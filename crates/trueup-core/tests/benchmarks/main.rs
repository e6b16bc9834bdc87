//! Benchmarks, and comparisons with them, checked against an independent oracle, against values computed on paper, and
//! against callers who try to learn too much.

#![expect(clippy::unwrap_used, reason = "tests")]

mod audit;
mod by_hand;
mod compared;
mod currencies;
mod oracle;
mod platform;
mod privacy;
