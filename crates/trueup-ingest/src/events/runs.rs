//! Rows of an account that follow each other.

use super::coded::Coded;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use hashbrown::HashSet;
use std::ops::Range;

/// Rows of one of several batches that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) batch: u32,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Run {
    pub(super) fn rows(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }

    /// The run in halves of halves, none of which has more than `most` bytes unless it is a single row.
    pub(super) fn split(self, most: usize, bytes_of: impl Fn(Self) -> usize) -> Vec<Self> {
        let (mut split, mut left) = (Vec::new(), vec![self]);
        while let Some(run) = left.pop() {
            if run.len <= 1 || bytes_of(run) <= most {
                split.push(run);
            } else {
                let half = run.len / 2;
                left.push(Self { start: run.start + half, len: run.len - half, ..run });
                left.push(Self { len: half, ..run });
            }
        }
        split
    }
}

/// The rows of some runs.
pub(super) fn rows(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.len as usize).sum()
}

impl Coded {
    /// The accounts of the rows, each with how many rows of it follow.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (u32, u32)> {
        let runs = self.accounts.values().chunk_by(|one, other| one == other);
        runs.map(|run| (run[0], u32::try_from(run.len()).unwrap_or(u32::MAX)))
    }

    /// The rows account by account, those of an account in the order given. What is done with them later is done account by account,
    /// and then finds them side by side.
    pub(super) fn by_account(&self) -> Result<RecordBatch, ArrowError> {
        let batch = self.to_batch()?;
        let mut met = HashSet::new();
        if self.accounts().all(|(account, _)| met.insert(account)) {
            return Ok(batch);
        }
        let accounts = self.accounts.values();
        let largest = accounts.iter().max().map_or(0, |account| *account as usize);
        let mut next = vec![0_u32; largest + 2];
        for account in accounts {
            next[*account as usize + 1] += 1;
        }
        for account in 1..next.len() {
            next[account] += next[account - 1];
        }
        let mut rows = vec![0_u32; accounts.len()];
        for (row, account) in (0..).zip(accounts) {
            let place = &mut next[*account as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        take_record_batch(&batch, &UInt32Array::from(rows))
    }
}

/// The rows of some batches in the order of their accounts' ranks, which are given by code; those of an account in the order given.
pub(super) fn by_account(batches: &[Coded], ranks: &[u32]) -> Vec<(u32, Run)> {
    let mut runs = Vec::new();
    for (batch, rows) in (0..).zip(batches) {
        let mut start = 0;
        for (account, len) in rows.accounts() {
            runs.push((ranks[account as usize], Run { batch, start, len }));
            start += len;
        }
    }
    runs.sort_by_key(|(rank, _)| *rank);
    runs
}
