//! Ingests through the public interface.

#![expect(clippy::unwrap_used, reason = "tests")]

mod columns;
mod dataset;
mod faults;
mod layout;
mod limits;
mod order;
mod rejects;
mod replace;
mod round_trip;
mod spend_and_insights;
mod spill;
