//! Datasets whose files differ from what their manifest or the layout says. Each is rejected; none answers or panics.

#![expect(clippy::unwrap_used, reason = "tests")]

mod events;
mod files;
mod insights;
mod manifest;
mod mutated;
#[cfg(unix)]
mod plain;
mod running;
mod test_dataset;
mod verify;
