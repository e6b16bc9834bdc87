//! Files into datasets, from the outside.

#![expect(clippy::unwrap_used, reason = "tests")]

mod columns;
mod dataset;
mod faults;
mod insights;
mod layout;
mod limits;
mod order;
mod outputs;
mod rejects;
mod replace;
mod round_trip;
mod spend;
mod spill;
mod writers;
