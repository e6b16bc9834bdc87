//! Ingests through the public interface.

#![expect(clippy::unwrap_used, reason = "tests")]

mod batch_histories;
mod batches;
mod control_totals;
mod dataset;
mod faults;
mod formats;
mod inputs;
mod layout;
mod limits;
mod patch;
mod rejects;
mod replace;
mod restore;
mod round_trip;
mod shared_ids;
mod sources;
mod spend;
mod spend_sources;
mod targets;
mod time_zones;
mod wait;
mod warnings;
