//! Parts of all events that are sorted one by one.

use super::sorted::Known;

/// Rows that a part has unless a single account has more.
const PART_ROWS: usize = 1 << 17;

/// The rows of an account and the bytes that they take in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) bytes: usize,
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

/// All accounts, whose sizes are given by code, in the order of their keys.
pub(super) fn in_parts(sizes: &[Size], known: &Known) -> Vec<Part> {
    let mut accounts: Vec<(u32, Size)> =
        (0..).zip(sizes).filter(|(_, size)| size.rows > 0).map(|(code, size)| (known.rank(code), *size)).collect();
    accounts.sort_unstable_by_key(|(rank, _)| *rank);
    let mut parts: Vec<Part> = Vec::new();
    for (rank, size) in accounts {
        match parts.last_mut() {
            Some(part) if part.size.rows + size.rows <= PART_ROWS => {
                part.last = rank;
                part.size.rows += size.rows;
                part.size.bytes += size.bytes;
            }
            _ => parts.push(Part { first: rank, last: rank, size }),
        }
    }
    parts
}
