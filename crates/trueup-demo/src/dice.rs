use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A draw's stream in the data: each stream has its own stream of numbers, so that no draw depends on how many came before it
/// elsewhere, nor on the order in which places are visited.
#[derive(Debug, Clone, Copy)]
pub(super) enum DrawStream {
    Names,
    Account(usize),
    Customers { account: usize, month: usize },
    Rehearsal { account: usize, month: usize },
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

/// Seeded draws of whole numbers. No floating point takes part: its last digit may differ between machines.
#[derive(Debug)]
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64, stream: DrawStream) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream.stream());
        Self(rng)
    }

    /// 0 to `bound` - 1, by multiplication: the bias is below `bound` in 2^32.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True `permille` times in a thousand.
    pub(super) fn chance(&mut self, permille: u32) -> bool {
        self.below(1_000) < permille
    }

    /// An index into a list of `len`; 0 for an empty one.
    pub(super) fn index(&mut self, len: usize) -> usize {
        let bound = u32::try_from(len).unwrap_or(u32::MAX);
        usize::try_from(self.below(bound)).unwrap_or(0)
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// The index of a weight, drawn in proportion. `ends` are the running sums of the weights.
    pub(super) fn weighted(&mut self, ends: &[u32]) -> usize {
        let point = self.below(ends.last().copied().unwrap_or(1));
        ends.partition_point(|end| *end <= point)
    }

    /// A value out of a short table of (weight, value), whose weights add up to 1,000.
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

    /// Reorders a list.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }
}
