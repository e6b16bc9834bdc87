//! The built program, run as a user runs it. `workspace` has what all tests use; every other file tests one or more
//! commands, or a promise that all commands keep.
#![expect(clippy::unwrap_used, reason = "tests")]

mod attribution;
mod batch;
mod bench;
mod cohort;
mod compact;
mod compare;
mod currencies;
mod datasets;
mod define;
mod demo;
mod directory;
mod directory_faults;
mod documented;
mod durations;
mod fields;
mod forget;
mod google_ads;
mod insights;
mod mcp;
mod memory;
mod micro_batches;
mod object_store;
mod operators;
mod outputs;
mod progress;
mod query;
mod ranges;
mod report;
mod served_reports;
mod service;
mod service_memory;
mod sorted;
mod targets;
mod terminal;
mod tutorial;
mod versions;
mod wait;
mod why;
mod workspace;
