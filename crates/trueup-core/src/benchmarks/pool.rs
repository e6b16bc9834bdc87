//! The statistics of one segment's accounts, unless they could reveal a single account.

use super::fields::{AccountAmounts, BenchmarkMetric};
use super::fraction::Fraction;
use std::collections::BTreeMap;
use std::fmt;

/// The conditions under which a value describes an industry and not an account.
///
/// Both conditions concern the accounts of others, which the caller may not see. The caller's own accounts
/// protect nobody, because the caller can subtract them.
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
    accounts: usize,
    /// A percentage.
    share: u8,
}

impl Privacy {
    /// The smallest number of accounts of others per value that any setting allows.
    pub const FEWEST_ACCOUNTS: usize = 5;
    /// The largest percentage of the sum over all accounts of others that any setting allows one of them to have.
    pub const LARGEST_SHARE: u8 = 25;

    /// Requires at least `accounts` accounts of others per value, and never fewer than [`Privacy::FEWEST_ACCOUNTS`].
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
    const fn is_enough(self, accounts: usize) -> bool {
        accounts >= self.accounts
    }

    /// Returns whether an account's part of a sum is too large. Signs are ignored. Where debits and credits cancel
    /// out, a part can be larger than the sum.
    const fn dominates(self, part: i128, sum: i128) -> bool {
        part.unsigned_abs() * 100 > sum.unsigned_abs() * self.share as u128
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self::of_accounts(10)
    }
}

/// The statistic that a row shows of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// The pooled ratio: the sum of numerators over the sum of denominators.
    Benchmark,
    /// The 10th percentile of the accounts' own values.
    P10,
    /// The 25th percentile.
    P25,
    /// The 50th percentile.
    P50,
    /// The 75th percentile.
    P75,
    /// The 90th percentile.
    P90,
}

impl Series {
    /// All series, in the order of rows.
    pub const ALL: [Self; 6] = [Self::Benchmark, Self::P10, Self::P25, Self::P50, Self::P75, Self::P90];

    /// Returns the name that rows show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Benchmark => "benchmark",
            Self::P10 => "p10",
            Self::P25 => "p25",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
        }
    }

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

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An account of the cohort.
#[derive(Clone, Copy, Debug)]
pub(super) struct CohortAccount {
    /// The number of its industry. The accounts without an industry share one number.
    pub(super) industry: usize,
    /// Whether it is an account of others: out of the caller's reach.
    pub(super) is_other: bool,
}

/// An account of the cohort with customers in the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentMember {
    pub(super) account: CohortAccount,
    pub(super) amounts: AccountAmounts,
}

/// Returns the members of every industry with enough accounts of others. An account of others counts if `is_counted`
/// returns true for it.
pub(super) fn participants(
    members: &[SegmentMember],
    privacy: Privacy,
    is_counted: impl Fn(&SegmentMember) -> bool,
) -> Vec<&SegmentMember> {
    let mut others: BTreeMap<usize, usize> = BTreeMap::new();
    for member in members.iter().filter(|member| member.account.is_other && is_counted(member)) {
        *others.entry(member.account.industry).or_default() += 1;
    }
    let is_enough = |member: &&SegmentMember| {
        others.get(&member.account.industry).is_some_and(|accounts| privacy.is_enough(*accounts))
    };
    members.iter().filter(is_enough).collect()
}

/// Returns whether one account of others has too large a part of a numerator or of a denominator.
///
/// Numerators are checked twice, among all accounts of others and among those with a value, because an account without
/// a value is part of the pooled numerator too. Its denominator is 0, so that one check of denominators is enough.
fn is_dominated(members: &[&SegmentMember], metric: BenchmarkMetric, privacy: Privacy) -> bool {
    let ratio = metric.ratio();
    let others = || members.iter().filter(|member| member.account.is_other).map(|member| &member.amounts);
    let with_value = || others().filter(|amounts| ratio.denominator_of(amounts) != 0);
    let has_dominant_part = |parts: Vec<i128>| {
        let sum: i128 = parts.iter().sum();
        parts.into_iter().any(|part| privacy.dominates(part, sum))
    };
    [
        others().map(|amounts| ratio.numerator_of(amounts)).collect(),
        with_value().map(|amounts| ratio.numerator_of(amounts)).collect(),
        with_value().map(|amounts| ratio.denominator_of(amounts)).collect(),
    ]
    .into_iter()
    .any(has_dominant_part)
}

/// Returns a metric's value per series; `None` if the values are to be withheld.
///
/// An industry participates if enough accounts of others in it have a value of this metric. Two cohorts can therefore
/// differ only by industries that could be requested alone, and their difference reveals no smaller one.
pub(super) fn series_values(
    members: &[SegmentMember],
    metric: BenchmarkMetric,
    privacy: Privacy,
) -> Option<[f64; Series::ALL.len()]> {
    let ratio = metric.ratio();
    let members = participants(members, privacy, |member| ratio.denominator_of(&member.amounts) != 0);
    if members.is_empty() || is_dominated(&members, metric, privacy) {
        return None;
    }
    let numerator: i128 = members.iter().map(|member| ratio.numerator_of(&member.amounts)).sum();
    let denominator: i128 = members.iter().map(|member| ratio.denominator_of(&member.amounts)).sum();
    let value = |member: &&SegmentMember| {
        Fraction::new(ratio.numerator_of(&member.amounts), ratio.denominator_of(&member.amounts), ratio.unit())
    };
    let mut sorted: Vec<Fraction> = members.iter().filter_map(value).collect();
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
