//! Compares the engine with a naive oracle and with itself.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod columns;
mod disk;
mod interrupts;
mod laws;
mod many_customers;
mod oracle;
mod pruning;
mod run;
