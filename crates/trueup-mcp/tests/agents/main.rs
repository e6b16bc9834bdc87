//! The tools for agents over a demo, and over a small dataset with hostile texts: the protocol, answers that are those
//! of the library, errors, limits, and what one tenant learns of another.

#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

mod answers;
mod data;
mod evaluation;
mod protocol;
mod refusals;
mod tenants;
