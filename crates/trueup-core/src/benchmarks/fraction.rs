//! Exact quotients: in order, between ranks, and rounded once.

use arrow_array::types::{ArrowPrimitiveType, Decimal256Type};
use std::cmp::Ordering;

/// 256 bits. They hold whatever is computed here: a sum of amounts stays below 2^105 (amounts are below 2^63, rows below 2^42), a
/// sum below a line that is scaled by the millionths of a unit is a count, and no product has more than two sums in it.
type I256 = <Decimal256Type as ArrowPrimitiveType>::Native;

/// The digits of a figure that are shown.
const SIGNIFICANT_DIGITS: u32 = 3;

/// A quotient of whole numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fraction {
    numerator: I256,
    /// More than 0.
    denominator: I256,
}

impl Fraction {
    /// `above / (below * unit)`; `None` if `below` is 0.
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

    /// The percentile of values in order: linear between the closest ranks, of which the first is 0 percent and the last 100
    /// (type 7 of Hyndman and Fan). `None` without values.
    pub(super) fn percentile(sorted: &[Self], percent: usize) -> Option<Self> {
        let rank = sorted.len().checked_sub(1)? * percent;
        let (whole, part) = (rank / 100, rank % 100);
        let lower = *sorted.get(whole)?;
        match sorted.get(whole + 1).filter(|_| part > 0) {
            None => Some(lower),
            Some(upper) => Some(lower.towards(*upper, i128::try_from(part).ok()?)),
        }
    }

    /// So many percent of the way to another quotient.
    fn towards(self, other: Self, percent: i128) -> Self {
        let (near, far) = (I256::from_i128(100 - percent), I256::from_i128(percent));
        Self {
            numerator: self.numerator * other.denominator * near + other.numerator * self.denominator * far,
            denominator: self.denominator * other.denominator * I256::from_i128(100),
        }
    }

    /// The value rounded to the digits that are shown: as a decimal number, half away from zero; the double closest to that.
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
        // Digits with an exponent always parse.
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
