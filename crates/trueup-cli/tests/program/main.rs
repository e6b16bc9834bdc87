//! The built program, run as a user runs it. `workspace` is the folder that a test runs it in; every other file tests
//! one or more commands, or a promise that all commands keep.
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
