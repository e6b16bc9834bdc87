//! Parts of all events that are sorted one by one.

use super::budget::Size;
use super::sorted::Known;

/// Rows that a part has unless a single account has more.
const PART_ROWS: usize = 1 << 17;

/// Bytes that a part has unless a single account has more.
const PART_BYTES: usize = 64 << 20;

/// The rows of an account and the bytes of their texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: usize,
    pub(super) texts: usize,
}

impl Rows {
    /// Their size, where each takes `row_bytes` apart from its texts.
    pub(super) fn size(self, row_bytes: usize) -> Size {
        Size { rows: self.rows, bytes: self.rows * row_bytes + self.texts }
    }
}

/// Whole accounts that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The ranks of its first and its last account.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) size: Size,
}

impl Part {
    /// Of things that lie in the order of accounts, those whose accounts overlap the part's.
    pub(super) fn find<T>(
        &self,
        things: &[T],
        first: impl Fn(&T) -> u32,
        last: impl Fn(&T) -> u32,
    ) -> std::ops::Range<usize> {
        let start = things.partition_point(|thing| last(thing) < self.first);
        let end = things.partition_point(|thing| first(thing) <= self.last);
        start..end.max(start)
    }
}

/// All accounts, whose rows are given by code, in the order of their keys.
pub(super) fn in_parts(accounts: &[Rows], row_bytes: usize, known: &Known) -> Vec<Part> {
    let mut accounts: Vec<(u32, Rows)> =
        (0..).zip(accounts).filter(|(_, rows)| rows.rows > 0).map(|(code, rows)| (known.rank(code), *rows)).collect();
    accounts.sort_unstable_by_key(|(rank, _)| *rank);
    let mut parts: Vec<Part> = Vec::new();
    for (rank, rows) in accounts {
        let size = rows.size(row_bytes);
        match parts.last_mut() {
            Some(part) if part.size.rows + size.rows <= PART_ROWS && part.size.bytes + size.bytes <= PART_BYTES => {
                part.last = rank;
                part.size.rows += size.rows;
                part.size.bytes += size.bytes;
            }
            _ => parts.push(Part { first: rank, last: rank, size }),
        }
    }
    parts
}
