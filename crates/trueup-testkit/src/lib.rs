//! Tools for the tests of the other crates. No program links this crate.
//!
//! - [`cases`] generates random tables and requests;
//! - [`oracle`] answers a request in the slow, obvious way;
//! - [`damage`] damages files.

pub mod cases;
pub mod damage;
pub mod oracle;
