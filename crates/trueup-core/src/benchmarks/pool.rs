//! The accounts of one segment to its figures, unless they tell of a single one.

use super::cohort::CohortAccount;
use super::fraction::Fraction;
use super::metric::{AccountAmounts, BenchmarkMetric};
use super::privacy::Privacy;
use std::collections::BTreeMap;
use std::fmt;

/// What a row shows of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// The pooled ratio: the sum of numerators over the sum of denominators.
    Benchmark,
    /// The 10th percentile of the accounts' own values.
    P10,
    /// The 25th.
    P25,
    /// The 50th.
    P50,
    /// The 75th.
    P75,
    /// The 90th.
    P90,
}

impl Series {
    /// Every series, in the order of rows.
    pub const ALL: [Self; 6] = [Self::Benchmark, Self::P10, Self::P25, Self::P50, Self::P75, Self::P90];

    /// As rows spell it.
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

    /// The percentile, if it is one.
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

/// An account with customers in the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) account: CohortAccount,
    pub(super) amounts: AccountAmounts,
}

/// The members in industries that have enough of those members of others that `counts` says count.
pub(super) fn taking_part(members: &[Member], privacy: Privacy, counts: impl Fn(&Member) -> bool) -> Vec<&Member> {
    let mut others: BTreeMap<usize, usize> = BTreeMap::new();
    for member in members.iter().filter(|member| member.account.out_of_reach && counts(member)) {
        *others.entry(member.account.industry).or_default() += 1;
    }
    let is_enough =
        |member: &&Member| others.get(&member.account.industry).is_some_and(|accounts| privacy.is_enough(*accounts));
    members.iter().filter(is_enough).collect()
}

/// Whether one account of others holds too much of what they hold together, of the numerator or of the denominator.
///
/// The caller's own accounts protect nobody: the caller knows what they hold and can subtract it. An account without a value is
/// pooled too, so that the rule holds twice: among the accounts with a value, and among all accounts of others.
fn is_dominated(members: &[&Member], metric: BenchmarkMetric, privacy: Privacy) -> bool {
    let ratio = metric.ratio();
    let others = || members.iter().filter(|member| member.account.out_of_reach).map(|member| &member.amounts);
    let with_value = || others().filter(|amounts| ratio.denominator(amounts) != 0);
    let is_held_by_one = |parts: Vec<i128>| {
        let together: i128 = parts.iter().sum();
        parts.into_iter().any(|part| privacy.dominates(part, together))
    };
    [
        others().map(|amounts| ratio.numerator(amounts)).collect(),
        with_value().map(|amounts| ratio.numerator(amounts)).collect(),
        with_value().map(|amounts| ratio.denominator(amounts)).collect(),
    ]
    .into_iter()
    .any(is_held_by_one)
}

/// A metric's figures by series; `None` if they are to be withheld.
///
/// An industry takes part if enough accounts of others in it have a value of this metric. So what two cohorts differ by is never
/// less than that: an industry cannot be told from the difference if it could not be asked for alone.
pub(super) fn figures(
    members: &[Member],
    metric: BenchmarkMetric,
    privacy: Privacy,
) -> Option<[f64; Series::ALL.len()]> {
    let ratio = metric.ratio();
    let members = taking_part(members, privacy, |member| ratio.denominator(&member.amounts) != 0);
    if members.is_empty() || is_dominated(&members, metric, privacy) {
        return None;
    }
    let numerator: i128 = members.iter().map(|member| ratio.numerator(&member.amounts)).sum();
    let denominator: i128 = members.iter().map(|member| ratio.denominator(&member.amounts)).sum();
    let value = |member: &&Member| {
        Fraction::new(ratio.numerator(&member.amounts), ratio.denominator(&member.amounts), ratio.unit())
    };
    let mut sorted: Vec<Fraction> = members.iter().filter_map(value).collect();
    sorted.sort_unstable();
    let mut figures = [0.0; Series::ALL.len()];
    for (figure, series) in figures.iter_mut().zip(Series::ALL) {
        *figure = match series.percent() {
            None => Fraction::new(numerator, denominator, ratio.unit())?,
            Some(percent) => Fraction::percentile(&sorted, percent)?,
        }
        .rounded();
    }
    Some(figures)
}
