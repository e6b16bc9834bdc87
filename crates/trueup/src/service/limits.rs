//! How much one request may ask for.

use std::time::Duration;

/// How much one request may ask for. How many requests a user may send in an hour, and what keys begin with, is the directory's:
/// see [`DirectorySettings`](crate::access::DirectorySettings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Accounts times sub-ranges of one events request.
    pub account_intervals: usize,
    /// Rows of one events answer, before conditions on metrics.
    pub rows: usize,
    /// Rows times columns of one events answer, before conditions on metrics: the more columns it has, the fewer rows it may have.
    pub cells: usize,
    /// Documents of one insights answer.
    pub documents: usize,
    /// How long one query may work.
    pub deadline: Duration,
    /// How long a request for benchmarks may wait for figures that are being gathered.
    pub benchmarks_wait: Duration,
    /// How long a request may wait for memory that others hold.
    pub memory_wait: Duration,
    /// How many requests may wait for it at once; others are refused without a wait.
    pub memory_queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            account_intervals: 20_000,
            rows: 1_000_000,
            cells: 150_000_000,
            documents: 200,
            deadline: Duration::from_secs(30),
            benchmarks_wait: Duration::from_secs(2),
            memory_wait: Duration::from_secs(2),
            memory_queue: 8,
        }
    }
}
