//! Seeded random draws.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a draw is for. Each purpose has its own stream of random numbers, so a draw depends neither on the number of
/// draws for other purposes nor on their order.
#[derive(Debug, Clone, Copy)]
pub(super) enum DrawStream {
    /// The order of company names.
    Names,
    /// An account with its campaigns, by the index of the account.
    Account(usize),
    /// The histories of the customers that begin in one month of one account, both by index.
    Customers { account: usize, month: usize },
    /// The same for the customers that are drawn only to count their events.
    Rehearsal { account: usize, month: usize },
    /// The spend of one month of one account, both by index.
    Spend { account: usize, month: usize },
}

impl DrawStream {
    fn stream(self) -> u64 {
        let (kind, account, month) = match self {
            Self::Names => (0, 0, 0),
            Self::Account(account) => (1, account, 0),
            Self::Customers { account, month } => (2, account, month),
            Self::Rehearsal { account, month } => (3, account, month),
            Self::Spend { account, month } => (4, account, month),
        };
        (kind << 32) | ((account as u64) << 16) | month as u64
    }
}

/// A source of random whole numbers. It uses no floating point, whose last digit may differ between machines.
#[derive(Debug)]
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64, stream: DrawStream) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream.stream());
        Self(rng)
    }

    /// Draws a number from 0 to `bound` - 1. Multiplying instead of retrying takes one random number per draw; the
    /// probabilities of two results differ by at most 1 in 2^32.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Draws a number from `low` to `high`, both inclusive.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// Draws true with a probability of `permille` in 1,000.
    pub(super) fn chance(&mut self, permille: u32) -> bool {
        self.below(1_000) < permille
    }

    /// Draws an index into a list of `len` items; 0 if the list is empty.
    pub(super) fn index(&mut self, len: usize) -> usize {
        let bound = u32::try_from(len).unwrap_or(u32::MAX);
        usize::try_from(self.below(bound)).unwrap_or(0)
    }

    /// Draws an item of a list.
    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// Draws the index of a weight, in proportion to the weights. `ends` are their running sums.
    pub(super) fn weighted(&mut self, ends: &[u32]) -> usize {
        let point = self.below(ends.last().copied().unwrap_or(1));
        ends.partition_point(|end| *end <= point)
    }

    /// Draws a value from a table of (weight, value). The weights must add up to 1,000.
    pub(super) fn table<T: Copy>(&mut self, table: &[(u32, T)]) -> T {
        let mut point = self.below(1_000);
        for (weight, value) in table {
            if point < *weight {
                return *value;
            }
            point -= weight;
        }
        table[table.len() - 1].1
    }

    /// Shuffles a list.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }
}
