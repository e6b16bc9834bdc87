//! The built program, run as a user runs it.
#![expect(clippy::unwrap_used, reason = "tests")]

mod batch;
mod bench;
mod datasets;
mod demo;
mod directory;
mod documented;
mod get;
mod ingest;
mod memory;
mod place;
mod query;
mod refusals;
mod serve;
