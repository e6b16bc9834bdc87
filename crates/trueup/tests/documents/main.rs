//! Checks that the documents of the service say what the service does.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod callers;
mod compat;
mod examples;
mod goldens;
mod listed;
mod openapi;
#[path = "../service/platform.rs"]
#[expect(dead_code, reason = "the tests of the service use the rest")]
mod platform;
mod runnable_examples;
mod schema;

use std::path::PathBuf;

/// A path below the root of the repository.
fn at(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", path].iter().collect()
}
