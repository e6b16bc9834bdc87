//! Exact ratios: ordering, interpolation, and one rounding at the end.

use arrow_array::types::{ArrowPrimitiveType, Decimal256Type};
use std::cmp::Ordering;

/// A signed integer of 256 bits, which holds every result of this file.
///
/// A sum of amounts is below 2^105, because amounts are below 2^63 and rows below 2^42. A denominator that is scaled
/// by the millionths of a unit is a count. No product has more than two sums as factors.
type I256 = <Decimal256Type as ArrowPrimitiveType>::Native;

/// The number of significant digits of a value in a row.
const SIGNIFICANT_DIGITS: u32 = 3;

/// A ratio of integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fraction {
    numerator: I256,
    /// Greater than 0.
    denominator: I256,
}

impl Fraction {
    /// Returns `numerator / (denominator * unit)`; `None` if `denominator` is 0.
    pub(super) fn new(numerator: i128, denominator: i128, unit: i128) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let sign = I256::from_i128(denominator.signum());
        Some(Self {
            numerator: I256::from_i128(numerator) * sign,
            denominator: I256::from_i128(denominator) * sign * I256::from_i128(unit),
        })
    }

    /// Returns a percentile of sorted values by linear interpolation between the closest ranks (Hyndman and Fan, type
    /// 7): the first value is at 0 percent, the last one at 100. `None` without values.
    pub(super) fn percentile(sorted: &[Self], percent: usize) -> Option<Self> {
        let rank = sorted.len().checked_sub(1)? * percent;
        let (whole, part) = (rank / 100, rank % 100);
        let lower = *sorted.get(whole)?;
        match sorted.get(whole + 1).filter(|_| part > 0) {
            None => Some(lower),
            Some(upper) => Some(lower.towards(*upper, i128::try_from(part).ok()?)),
        }
    }

    /// Returns the ratio at `percent` of the way to `other`.
    fn towards(self, other: Self, percent: i128) -> Self {
        let (near, far) = (I256::from_i128(100 - percent), I256::from_i128(percent));
        Self {
            numerator: self.numerator * other.denominator * near + other.numerator * self.denominator * far,
            denominator: self.denominator * other.denominator * I256::from_i128(100),
        }
    }

    /// Returns the double closest to the value, after decimal rounding to [`SIGNIFICANT_DIGITS`], half away from zero.
    pub(super) fn rounded(self) -> f64 {
        let (ten, least) = (I256::from_i128(10), I256::from_i128(10_i128.pow(SIGNIFICANT_DIGITS - 1)));
        let (mut above, mut below) = (self.numerator.wrapping_abs(), self.denominator);
        if above == I256::ZERO {
            return 0.0;
        }
        let mut exponent = 0_i32;
        while above < below * least {
            above *= ten;
            exponent -= 1;
        }
        while above >= below * least * ten {
            below *= ten;
            exponent += 1;
        }
        let cut = above / below;
        let is_up = (above - cut * below) * I256::from_i128(2) >= below;
        let digits = if is_up { cut + I256::ONE } else { cut };
        let sign = if self.numerator.is_negative() { "-" } else { "" };
        // A text of digits with an exponent always parses.
        format!("{sign}{digits}e{exponent}").parse().unwrap_or(f64::NAN)
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

#[cfg(test)]
mod tests;
