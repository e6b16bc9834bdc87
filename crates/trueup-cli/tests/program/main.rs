//! The built program, run as a user runs it. `workspace` has what all tests use; every other file tests one or more
//! commands, or a promise that all commands keep.
#![expect(clippy::unwrap_used, reason = "tests")]

mod batch;
mod bench;
mod cohort;
mod datasets;
mod demo;
mod directory;
mod directory_faults;
mod documented;
mod fields;
mod memory;
mod object_store;
mod outputs;
mod query;
mod ranges;
mod service;
mod sorted;
mod terminal;
mod tutorial;
mod workspace;
