//! Datasets whose files differ from what their manifest or the layout says. Each is rejected; none answers or panics.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod insights;
mod layout;
mod mutated;
#[cfg(unix)]
mod plain;
mod test_dataset;
