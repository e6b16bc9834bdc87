//! Benchmarks against a slow and obvious way to them, against figures on paper, and against callers who want to know too much.

#![expect(clippy::unwrap_used, reason = "tests")]

mod agreement;
mod by_hand;
mod oracle;
mod platform;
mod privacy;
mod questions;
