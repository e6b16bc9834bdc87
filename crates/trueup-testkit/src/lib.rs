//! Seeded data and slow, obvious oracles for trueup's tests.

pub mod cases;
pub mod demo;
pub mod oracle;
