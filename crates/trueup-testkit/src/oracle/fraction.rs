//! Exact fractions, and their one conversion to floating point (section 14).

use std::ops::{Add, Div, Mul, Sub};

use num_bigint::{BigInt, Sign};

use super::values::{ExactAmount, nearest_double};

/// A fraction of integers of any size. The denominator is positive, and the fraction need not be in lowest terms.
#[derive(Clone, Debug)]
pub(super) struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

/// Returns the double nearest to a quotient, given a denominator that is not 0.
#[must_use]
pub fn nearest_quotient(numerator: i128, denominator: i128) -> f64 {
    Fraction::new(numerator.into(), denominator.into()).double()
}

impl Fraction {
    /// Returns a fraction, given a denominator that is not 0.
    pub(super) fn new(numerator: BigInt, denominator: BigInt) -> Self {
        match denominator.sign() {
            Sign::Minus => Self { numerator: -numerator, denominator: -denominator },
            _ => Self { numerator, denominator },
        }
    }

    /// Returns an amount as a count, or in currency units.
    pub(super) fn of(amount: ExactAmount) -> Self {
        match amount {
            ExactAmount::Count(count) => Self::new(count.into(), 1.into()),
            ExactAmount::Money(micros) => Self::new(micros.into(), 1_000_000.into()),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.numerator.sign() == Sign::NoSign
    }

    /// Returns the nearest double. The text has more digits than any number halfway between two doubles has, and its
    /// last digit says whether more follow, so the standard parser rounds it correctly.
    pub(super) fn double(&self) -> f64 {
        const DIGITS: u32 = 1_200;
        let scaled = self.numerator.magnitude() * BigInt::from(10).pow(DIGITS).magnitude();
        let (quotient, rest) = (&scaled / self.denominator.magnitude(), &scaled % self.denominator.magnitude());
        let more = if rest.bits() > 0 { "1" } else { "0" };
        let sign = if self.numerator.sign() == Sign::Minus { "-" } else { "" };
        nearest_double(&format!("{sign}{quotient}{more}e-{}", DIGITS + 1))
    }
}

impl Add for &Fraction {
    type Output = Fraction;

    fn add(self, other: Self) -> Fraction {
        let numerator = &self.numerator * &other.denominator + &other.numerator * &self.denominator;
        Fraction::new(numerator, &self.denominator * &other.denominator)
    }
}

impl Sub for &Fraction {
    type Output = Fraction;

    fn sub(self, other: Self) -> Fraction {
        let numerator = &self.numerator * &other.denominator - &other.numerator * &self.denominator;
        Fraction::new(numerator, &self.denominator * &other.denominator)
    }
}

impl Mul for &Fraction {
    type Output = Fraction;

    fn mul(self, other: Self) -> Fraction {
        Fraction::new(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
    }
}

/// The divisor must not be 0.
impl Div for &Fraction {
    type Output = Fraction;

    fn div(self, other: Self) -> Fraction {
        Fraction::new(&self.numerator * &other.denominator, &self.denominator * &other.numerator)
    }
}
