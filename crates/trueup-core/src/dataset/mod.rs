//! Files, their manifest and statistics; pruning, and the splits that a query reads.

pub mod manifest;
pub mod store;
