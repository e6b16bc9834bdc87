//! The exact values of metrics, before they are rounded.

use num_bigint::BigInt;

/// The exact value of a metric for one group: a sum over 1, or the two sums of a ratio. Money is in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExactValue {
    pub(super) numerator: i128,
    /// 0 for a ratio over nothing.
    pub(super) denominator: i128,
}

/// The exact values of a metric for some groups.
pub(super) struct ExactValues {
    pub(super) numerators: Vec<i128>,
    /// The denominators of a ratio or percentile; `None` for a sum.
    pub(super) denominators: Option<Vec<i128>>,
    pub(super) numerator_is_money: bool,
    pub(super) denominator_is_money: bool,
}

impl ExactValue {
    pub(super) fn wide_numerator(self) -> BigInt {
        self.numerator.into()
    }

    pub(super) fn wide_denominator(self) -> BigInt {
        self.denominator.into()
    }
}

impl ExactValues {
    /// Returns the value of a group. `None` is a group without rows and spend.
    pub(super) fn at(&self, group: Option<usize>) -> ExactValue {
        let sum = |sums: &Vec<i128>| group.map_or(0, |group| sums[group]);
        ExactValue { numerator: sum(&self.numerators), denominator: self.denominators.as_ref().map_or(1, sum) }
    }

    /// Returns the sum of the numerators over that of the denominators.
    pub(super) fn pooled(&self) -> ExactValue {
        let denominator = self.denominators.as_ref().map_or(1, |sums| sums.iter().sum());
        ExactValue { numerator: self.numerators.iter().sum(), denominator }
    }

    /// Returns the number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        let sums = self.numerators.capacity() + self.denominators.as_ref().map_or(0, Vec::capacity);
        sums * size_of::<i128>()
    }
}
