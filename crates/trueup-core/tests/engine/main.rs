//! Compares the engine with a naive oracle and with itself.
//!
//! | file | what it checks |
//! |---|---|
//! | `run` | nothing: it runs requests of the testkit on the engine |
//! | `oracle` | random queries: answers and faults are those of the naive oracle |
//! | `sorted` | the same for sorted and limited answers, and for totals |
//! | `cohort` | laws of cohorts |
//! | `many_customers` | the same for many customers, long histories and much spend, with fast paths and without |
//! | `splits` | merged partial results give the same answers; what does not cover a query is refused |
//! | `events` | events with their computed fields add up to the answers |
//! | `laws` | laws that hold between the answers of the engine |
//! | `disk` | ingest, files and cached columns change no answer; most row groups are left unread |
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cohort;
mod disk;
mod events;
mod laws;
mod many_customers;
mod oracle;
mod run;
mod sorted;
mod splits;
