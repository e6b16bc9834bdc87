//! Compares the engine with a naive oracle and with itself.
//!
//! | file | what it checks |
//! |---|---|
//! | `run` | nothing: it runs requests of the testkit on the engine |
//! | `oracle` | random queries: answers and faults are those of the naive oracle |
//! | `sorted` | the same for sorted and limited answers, and for totals |
//! | `cohort` | laws of cohorts |
//! | `definitions` | as `oracle` and `sorted`, for metrics and dimensions that users define; laws of them |
//! | `many_customers` | as `oracle`, for many customers, long histories and much spend, with fast paths and without |
//! | `comparison` | as `oracle`, for comparisons with and without definitions; effects add up; what is refused |
//! | `splits` | merged partial results give the same answers; what does not cover a query is refused |
//! | `events` | events with their computed fields add up to the answers |
//! | `targets` | targets of rows against an oracle, by hand, and what has none |
//! | `empty_ranges` | what is said about ranges in which a query counts nothing |
//! | `why` | the lines behind a number add up to it, and say by which rule each counts |
//! | `laws` | laws that hold between the answers of the engine |
//! | `disk` | ingest, files, cached columns and superseded rows change no answer; most row groups are left unread |
//! | `kept_results` | results of earlier queries change no answer, whatever happens in between |
//! | `reopened` | a reopened dataset answers as one that was opened, from what it shares with the version before |
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cohort;
mod comparison;
mod currencies;
mod definitions;
mod disk;
mod empty_ranges;
mod events;
mod kept_results;
mod laws;
mod many_customers;
mod oracle;
mod reopened;
mod run;
mod sorted;
mod splits;
mod targets;
mod why;
mod why_changes;
