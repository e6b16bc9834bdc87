//! The exact values of metrics, before they are rounded.

use super::Values;
use super::exact::nearest_quotient;
use crate::money;
use num_bigint::BigInt;

/// The exact value of a metric for one group: a sum over 1, or the two sums of a ratio. Money is in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExactValue {
    pub(crate) numerator: i128,
    /// 0 for a ratio over nothing.
    pub(crate) denominator: i128,
}

/// The exact values of a metric for some groups.
#[derive(Clone, Debug)]
pub(crate) struct ExactValues {
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

    /// Appends the values of the same metric for other groups.
    pub(super) fn append(&mut self, others: Self) {
        self.numerators.extend(others.numerators);
        if let (Some(denominators), Some(others)) = (&mut self.denominators, others.denominators) {
            denominators.extend(others);
        }
    }

    /// Returns what a quotient of exact values is multiplied and divided by, so that money in it is in currency units.
    pub(super) const fn scale(&self) -> [i64; 2] {
        scale([self.numerator_is_money, self.denominator_is_money])
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

/// Returns what a quotient is multiplied and divided by, so that money in it is in currency units. `is_money` says
/// whether the numerator and the denominator are.
pub(super) const fn scale(is_money: [bool; 2]) -> [i64; 2] {
    const fn unit(is_money: bool) -> i64 {
        if is_money { money::MICROS_PER_UNIT } else { 1 }
    }
    match is_money {
        [true, true] => [1, 1],
        [numerator, denominator] => [unit(denominator), unit(numerator)],
    }
}

/// Returns the exact value of a row as a numerator and a denominator, money in currency units; `None` if it is over
/// nothing, or was rounded.
pub(crate) fn exact_fraction(values: &Values, row: usize) -> Option<[BigInt; 2]> {
    let whole = |number: i128, unit: i64| Some([BigInt::from(number), BigInt::from(unit)]);
    match values {
        Values::Counts(counts) => whole(i128::from(*counts.get(row)?), 1),
        Values::Integers(integers) => whole(i128::from(*integers.get(row)?), 1),
        Values::Money(amounts) => whole(*amounts.get(row)?, money::MICROS_PER_UNIT),
        Values::Ratios(ratios) => {
            let exact = ratios.exact()?;
            let ([multiplier, divisor], value) = (exact.scale(), exact.at(Some(row)));
            (value.denominator != 0).then(|| [value.wide_numerator() * multiplier, value.wide_denominator() * divisor])
        }
        Values::Numbers(_) | Values::Days(_) | Values::Strings(_) => None,
    }
}

/// Returns the later one of two fractions minus the earlier one, in another unit: multiplied and divided by two
/// numbers. The result is rounded once.
pub(crate) fn change([[n0, d0], [n1, d1]]: &[[BigInt; 2]; 2], [multiplier, divisor]: [i64; 2]) -> f64 {
    nearest_quotient(&((n1 * d0 - n0 * d1) * multiplier), &(d0 * d1 * divisor))
}

/// Returns the later one of two fractions minus the earlier one, divided by the earlier one and rounded once; `None` if
/// that is 0.
pub(crate) fn relative_change([[n0, d0], [n1, d1]]: &[[BigInt; 2]; 2]) -> Option<f64> {
    (*n0 != BigInt::ZERO).then(|| nearest_quotient(&(n1 * d0 - n0 * d1), &(n0 * d1)))
}

/// Returns values as fractions. A ratio over nothing is 0.
pub(super) fn fractions(values: [ExactValue; 2]) -> [[BigInt; 2]; 2] {
    values.map(|value| match value.denominator {
        0 => [BigInt::ZERO, BigInt::from(1)],
        _ => [value.wide_numerator(), value.wide_denominator()],
    })
}
