//! Distributed ingests into a folder: whatever the parts, the dataset answers as one that was ingested at once, and
//! nothing is published that is not whole.

#![expect(clippy::unwrap_used, reason = "tests")]

mod case;
mod equality;
mod faults;
mod leftovers;
