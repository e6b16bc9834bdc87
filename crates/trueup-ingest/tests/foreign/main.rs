//! The files in `testdata/foreign`, which other programs write: each becomes the same events, or is refused with a
//! message that says what to do.

#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod case;
mod columns;
mod given;
mod text;
