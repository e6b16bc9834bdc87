//! Compares the engine with a naive oracle and with itself.
//!
//! | file | what it checks |
//! |---|---|
//! | `run` | nothing: it runs requests of the testkit on the engine |
//! | `oracle` | random queries: answers and faults are those of the naive oracle |
//! | `many_customers` | the same for many customers and much spend, with fast paths and without |
//! | `laws` | laws that hold between the answers of the engine |
//! | `disk` | ingest and files change no answer |
//! | `columns` | neither do cached columns or long histories |
//! | `pruning` | most row groups are left unread |
//! | `interrupts` | a limit, a deadline and a cancellation end a query |
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod columns;
mod disk;
mod interrupts;
mod laws;
mod many_customers;
mod oracle;
mod pruning;
mod run;
