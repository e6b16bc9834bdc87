//! Random cases and slow, obvious oracles for trueup's tests.

pub mod cases;
pub mod damage;
pub mod oracle;
