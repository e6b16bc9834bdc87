//! Tools for the tests of the other crates. Only tests depend on this crate.
//!
//! - [`cases`] generates random tables and requests;
//! - [`oracle`] answers a request in the slow, obvious way;
//! - [`damage`] damages and copies files;
//! - [`random`] generates pseudo-random numbers;
//! - [`object_server`] serves files as an object store does, with faults;
//! - [`search`] searches files for texts;
//! - [`exhaustive`] selects between a sample and everything, and says what is skipped;
//! - [`signals`] starts programs that a hangup ends.

pub mod cases;
pub mod damage;
pub mod exhaustive;
pub mod object_server;
pub mod oracle;
pub mod random;
pub mod search;
pub mod signals;
