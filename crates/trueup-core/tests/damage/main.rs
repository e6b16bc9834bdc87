//! Datasets whose files differ from what their manifest or the layout says. A request that may need the damaged part is
//! refused; no request is answered from damaged bytes, and none panics.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod insights;
mod layout;
mod lists;
mod mutated;
#[cfg(unix)]
mod plain;
mod test_dataset;
mod vectors;
