//! The conditions under which the figures of one segment do not reveal a single account, and these figures: exact
//! ratios, which are ordered, interpolated, and rounded once at the end.

use super::cells::Cell;
use super::fields::{AccountAmounts, BenchmarkMetric};
use crate::named::named;
use arrow_array::types::{ArrowPrimitiveType, Decimal256Type};
use std::cmp::Ordering;

/// The conditions under which a value describes an industry and not an account.
///
/// There are two conditions: enough accounts of others have the value, and none of these has too large a share of their
/// sum. The accounts of others are the ones that the caller may not see. The caller's own accounts protect nobody,
/// because the caller can subtract them. What is left of a published figure when others are subtracted from it must
/// satisfy the same conditions.
///
/// ```
/// use trueup_core::benchmarks::Privacy;
///
/// assert_eq!(Privacy::default(), Privacy::of_accounts(10));
/// // No setting goes below the minimum.
/// assert_eq!(Privacy::of_accounts(1), Privacy::of_accounts(Privacy::FEWEST_ACCOUNTS));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privacy {
    /// The fewest accounts of others per value and industry. An industry with fewer is left out of the value.
    accounts: usize,
    /// The largest percentage of the sum over all accounts of others that one of them may have.
    share: u8,
}

impl Privacy {
    /// The smallest number of accounts of others per value and industry that any setting allows.
    pub const FEWEST_ACCOUNTS: usize = 5;
    /// The percentage of the sum over all accounts of others that one of these accounts may have at most; a setting can
    /// only lower it.
    pub const LARGEST_SHARE: u8 = 25;

    /// Requires at least `accounts` accounts of others per value and industry, and never fewer than
    /// [`Privacy::FEWEST_ACCOUNTS`]. An industry with fewer is left out of the value.
    #[must_use]
    pub const fn of_accounts(accounts: usize) -> Self {
        let accounts = if accounts < Self::FEWEST_ACCOUNTS { Self::FEWEST_ACCOUNTS } else { accounts };
        Self { accounts, share: Self::LARGEST_SHARE }
    }

    /// Allows one account of others at most `percent` of the sum over all accounts of others, and never more than
    /// [`Privacy::LARGEST_SHARE`].
    #[must_use]
    pub const fn of_share(mut self, percent: u8) -> Self {
        self.share = if percent > Self::LARGEST_SHARE { Self::LARGEST_SHARE } else { percent };
        self
    }

    /// Returns whether that number of accounts of others is enough.
    pub(super) const fn is_enough(self, accounts: usize) -> bool {
        accounts >= self.accounts
    }

    /// Returns whether one account holds too large a part of the sum. Signs are ignored. Where debits and credits
    /// cancel out, a part can be larger than the sum.
    pub(super) const fn is_dominated(self, holdings: &Holdings) -> bool {
        // A sum is below 2^105, and so its product with a percentage fits.
        holdings.largest * 100 > holdings.sum.unsigned_abs() * self.share as u128
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self::of_accounts(10)
    }
}

named! {
    /// The statistic that a row shows of its segment. Rows show the names, and are in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Series {
        /// The pooled ratio: the sum of numerators over the sum of denominators.
        Benchmark = "benchmark",
        /// The 10th percentile of the accounts' own values.
        P10 = "p10",
        /// The 25th percentile.
        P25 = "p25",
        /// The 50th percentile.
        P50 = "p50",
        /// The 75th percentile.
        P75 = "p75",
        /// The 90th percentile.
        P90 = "p90",
    }
}

impl Series {
    /// Returns the percentile, if the series is one.
    const fn percent(self) -> Option<usize> {
        match self {
            Self::Benchmark => None,
            Self::P10 => Some(10),
            Self::P25 => Some(25),
            Self::P50 => Some(50),
            Self::P75 => Some(75),
            Self::P90 => Some(90),
        }
    }
}

/// What some accounts hold together of one amount.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holdings {
    holders: usize,
    sum: i128,
    /// The largest magnitude of an account's part.
    largest: u128,
}

impl Holdings {
    /// Adds the part of one account.
    pub(super) fn add(&mut self, part: i128) {
        self.holders += usize::from(part != 0);
        self.sum += part;
        self.largest = self.largest.max(part.unsigned_abs());
    }

    /// Returns the number of accounts whose part is not 0.
    pub(super) const fn holders(&self) -> usize {
        self.holders
    }
}

/// Returns the value per series of a metric that is published in a segment, from the cells of the segment; `None` if
/// the pooled denominator is 0.
pub(super) fn series_values(cells: &[Cell], metric: BenchmarkMetric) -> Option<[f64; Series::ALL.len()]> {
    let ratio = metric.ratio();
    let pooled = || cells.iter().filter(|cell| cell.pooled.contains(metric)).map(|cell| &cell.amounts);
    let numerator: i128 = pooled().map(|amounts| ratio.numerator_of(amounts)).sum();
    let denominator: i128 = pooled().map(|amounts| ratio.denominator_of(amounts)).sum();
    let value = |amounts: &AccountAmounts| {
        Fraction::new(ratio.numerator_of(amounts), ratio.denominator_of(amounts), ratio.unit())
    };
    let mut sorted: Vec<Fraction> = pooled().filter_map(value).collect();
    sorted.sort_unstable();
    let mut values = [0.0; Series::ALL.len()];
    for (value, series) in values.iter_mut().zip(Series::ALL) {
        *value = match series.percent() {
            None => Fraction::new(numerator, denominator, ratio.unit())?,
            Some(percent) => Fraction::percentile(&sorted, percent)?,
        }
        .rounded();
    }
    Some(values)
}

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
