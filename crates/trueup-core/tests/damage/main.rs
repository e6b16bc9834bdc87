//! Datasets whose files are not what their manifest or the layout says: each is refused, and none answers or panics.

#![expect(clippy::unwrap_used, reason = "tests")]

mod events;
mod files;
mod insights;
mod manifest;
mod mutated;
mod place;
#[cfg(unix)]
mod plain;
mod running;
mod verify;
