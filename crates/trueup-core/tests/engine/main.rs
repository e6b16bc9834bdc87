//! The engine against slower ways to the same numbers, and against itself.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod ask;
mod columns;
mod crowds;
mod disk;
mod ends;
mod laws;
mod oracle;
mod pruned;
