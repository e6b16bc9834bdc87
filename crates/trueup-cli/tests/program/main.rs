//! The built program, run as a user runs it.
#![expect(clippy::unwrap_used, reason = "tests")]

mod batch;
mod bench;
mod datasets;
mod demo;
mod directory;
mod directory_faults;
mod documented;
mod get;
mod ingest;
mod memory;
mod outputs;
mod query;
mod refusals;
mod serve;
mod terminal;
mod workspace;
