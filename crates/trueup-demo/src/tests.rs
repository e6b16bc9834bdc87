#![expect(clippy::unwrap_used, reason = "tests")]

mod bands;
mod figures;
mod sameness;
mod shape;
