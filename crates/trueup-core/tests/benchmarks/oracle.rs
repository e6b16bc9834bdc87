//! An independent oracle: queries each account alone, then follows line by line the specification of benchmarks, which
//! the docs of functions quote. The engine must agree with the oracle on random requests.

use crate::platform::{Platform, RandomRequest, month, platform, request};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::Value;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkRow, Series};
use trueup_core::dataset::Dataset;
use trueup_core::query::{EventsQuery, Filter};

/// The amounts of one account by segment and metric: counts, or money in millionths.
pub(crate) type Segments = BTreeMap<Vec<String>, BTreeMap<String, i128>>;

const AMOUNTS: [&str; 10] = [
    "customers",
    "bookedCustomers",
    "matchedCustomers",
    "payingCustomers",
    "canceledCustomers",
    "leads",
    "revenuePotential",
    "soldRevenue",
    "closedRevenue",
    "spend",
];

/// An account with customers in a segment.
#[derive(Clone)]
pub(crate) struct Member {
    industry: Option<String>,
    pub(crate) is_other: bool,
    amounts: BTreeMap<String, i128>,
}

/// Returns the numerator and the denominator in the same unit (for money per count, in millionths).
pub(crate) fn ratio(metric: BenchmarkMetric, amounts: &BTreeMap<String, i128>) -> (i128, i128) {
    let of = |name: &str| amounts[name];
    match metric {
        BenchmarkMetric::BookRate => (of("bookedCustomers"), of("customers")),
        BenchmarkMetric::MatchRate => (of("matchedCustomers"), of("customers")),
        BenchmarkMetric::PayingCustomerRate => (of("payingCustomers"), of("customers")),
        BenchmarkMetric::CustomerCancelRate => (of("canceledCustomers"), of("customers")),
        BenchmarkMetric::AvgTicket => (of("soldRevenue") + of("closedRevenue"), of("payingCustomers") * 1_000_000),
        BenchmarkMetric::AvgCostPerLead => (of("spend"), of("leads") * 1_000_000),
        BenchmarkMetric::AvgCostPerPayingCustomer => (of("spend"), of("payingCustomers") * 1_000_000),
        BenchmarkMetric::AvgCostPerBookedCustomer => (of("spend"), of("bookedCustomers") * 1_000_000),
        BenchmarkMetric::RoasPotential => (of("revenuePotential"), of("spend")),
        BenchmarkMetric::RoasClosed => (of("closedRevenue"), of("spend")),
    }
}

impl Member {
    pub(crate) fn ratio(&self, metric: BenchmarkMetric) -> (i128, i128) {
        ratio(metric, &self.amounts)
    }

    pub(crate) fn has_value(&self, metric: BenchmarkMetric) -> bool {
        self.ratio(metric).1 != 0
    }
}

/// Queries accounts, with the filters of the request.
pub(crate) fn segments(dataset: &Dataset, accounts: &[&str], request: &RandomRequest) -> Segments {
    let dimensions = request.selection.dimensions().iter().map(|dimension| dimension.name());
    let fields: Vec<&str> = dimensions.chain(AMOUNTS).collect();
    let mut query = EventsQuery::new(fields, month().start, month().end).accounts(accounts.iter().copied());
    for (dimension, value) in request.selection.filters() {
        query = query.filter(Filter::equals(dimension.name(), value.clone()));
    }
    let table = dataset.query(&query).unwrap();
    let mut segments = Segments::new();
    for row in table.rows() {
        let text = |dimension: &BenchmarkDimension| match row.get(dimension.name()) {
            Some(Value::Text(text)) => text.to_owned(),
            other => unreachable!("{other:?}"),
        };
        let amount = |name: &&str| match row.get(name) {
            Some(Value::Count(count)) => ((*name).to_owned(), i128::from(count)),
            Some(Value::Money(micros)) => ((*name).to_owned(), micros),
            other => unreachable!("{other:?}"),
        };
        let segment = request.selection.dimensions().iter().map(text).collect();
        segments.insert(segment, AMOUNTS.iter().map(amount).collect());
    }
    segments
}

/// "every account of the platform whose industry is one of those of the accounts in scope, with at least one customer
/// in the segment. If an account in scope has no industry: the whole platform."
pub(crate) fn members(dataset: &Dataset, request: &RandomRequest) -> BTreeMap<Vec<String>, Vec<Member>> {
    let industry = |key: &str| dataset.accounts().get(key).and_then(|account| account.industry.clone());
    let wanted: BTreeSet<Option<String>> = request.scope.iter().map(|key| industry(key)).collect();
    let mut members: BTreeMap<Vec<String>, Vec<Member>> = BTreeMap::new();
    for key in dataset.account_keys().unwrap() {
        if !wanted.contains(&None) && !wanted.contains(&industry(&key)) {
            continue;
        }
        for (segment, amounts) in segments(dataset, &[&key], request) {
            if amounts["customers"] > 0 {
                let member = Member { industry: industry(&key), is_other: !request.reach.contains(&key), amounts };
                members.entry(segment).or_default().push(member);
            }
        }
    }
    members
}

/// "an industry with fewer than `k` such accounts takes no part": such accounts are out of reach and have a value.
fn participants(members: &[Member], k: usize, has_value: impl Fn(&Member) -> bool) -> Vec<Member> {
    let of_industry = |industry: &Option<String>| {
        members.iter().filter(|other| other.industry == *industry && other.is_other && has_value(other)).count()
    };
    members.iter().filter(|member| of_industry(&member.industry) >= k).cloned().collect()
}

/// Returns the six values of one metric in one segment.
pub(crate) fn series_values(members: &[Member], metric: BenchmarkMetric, request: &RandomRequest) -> Option<Vec<f64>> {
    let members = participants(members, request.k, |member| member.has_value(metric));
    if members.iter().filter(|member| member.is_other && member.has_value(metric)).count() < request.k {
        return None;
    }
    let ratios: Vec<(i128, i128)> = members.iter().map(|member| member.ratio(metric)).collect();
    // "none of these holds more than 25% of what they hold together": checked among the accounts with a value and, as
    // docs/compat.md adds, among all pooled accounts.
    let others: Vec<(i128, i128)> =
        members.iter().filter(|member| member.is_other).map(|member| member.ratio(metric)).collect();
    let with_value: Vec<(i128, i128)> = others.iter().copied().filter(|(_, denominator)| *denominator != 0).collect();
    for group in [with_value, others] {
        let (all_numerator, all_denominator) =
            group.iter().fold((0, 0), |(a, b), (numerator, denominator)| (a + numerator, b + denominator));
        for (numerator, denominator) in &group {
            for (part, together) in [(*numerator, all_numerator), (*denominator, all_denominator)] {
                if part.abs() * 100 > i128::abs(together) * i128::from(request.share) {
                    return None;
                }
            }
        }
    }
    let numerator: i128 = ratios.iter().map(|(numerator, _)| numerator).sum();
    let denominator: i128 = ratios.iter().map(|(_, denominator)| denominator).sum();
    if denominator == 0 {
        return None;
    }
    let mut values: Vec<Ratio> = ratios.into_iter().filter(|(_, b)| *b != 0).map(|(a, b)| Ratio::new(a, b)).collect();
    values.sort_by(|x, y| (x.0 * y.1).cmp(&(y.0 * x.1)));
    let percentiles = [10, 25, 50, 75, 90].map(|percent| type_7(&values, percent).rounded());
    Some([Ratio::new(numerator, denominator).rounded()].into_iter().chain(percentiles).collect())
}

/// Returns each row as a line: series, cohort, segment, and metrics, `None` where withheld.
pub(crate) fn answer(dataset: &Dataset, request: &RandomRequest) -> Vec<String> {
    let mut lines = Vec::new();
    for (segment, members) in members(dataset, request) {
        let figures: Vec<_> =
            request.selection.metrics().iter().map(|metric| series_values(&members, *metric, request)).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let cohort = participants(&members, request.k, |_| true).len();
        for (index, series) in ["benchmark", "p10", "p25", "p50", "p75", "p90"].into_iter().enumerate() {
            let metrics: Vec<Option<f64>> =
                figures.iter().map(|figures| figures.as_ref().map(|series| series[index])).collect();
            lines.push(format!("{series} {cohort} {segment:?} {metrics:?}"));
        }
    }
    lines
}

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(numerator: i128, denominator: i128) -> Self {
        let (mut a, mut b) = (numerator.abs(), denominator.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self(numerator / a * denominator.signum(), denominator.abs() / a)
    }

    /// Rounds the decimal expansion to three significant digits, digit by digit.
    fn rounded(self) -> f64 {
        let (whole, mut rest) = (self.0.abs() / self.1, self.0.abs() % self.1);
        let mut digits = whole.to_string();
        for _ in 0..40 {
            digits.push_str(&(rest * 10 / self.1).to_string());
            rest = rest * 10 % self.1;
        }
        let point = digits.len() - 40;
        let Some(first) = digits.find(|digit| digit != '0') else { return 0.0 };
        let is_up = digits.as_bytes()[first + 3] >= b'5';
        let kept: i128 = digits[first..first + 3].parse().unwrap();
        let kept = if is_up { kept + 1 } else { kept };
        let exponent = i64::try_from(point).unwrap() - i64::try_from(first + 3).unwrap();
        let sign = if self.0 < 0 { "-" } else { "" };
        format!("{sign}{kept}e{exponent}").parse().unwrap()
    }
}

/// "linear interpolation between closest ranks, Hyndman-Fan type 7": of n values, the one at rank 1 + (n - 1) p.
fn type_7(sorted: &[Ratio], percent: i128) -> Ratio {
    let rank = (i128::try_from(sorted.len()).unwrap() - 1) * percent;
    let at = |rank: i128| sorted[usize::try_from(rank).unwrap().min(sorted.len() - 1)];
    let (Ratio(a, b), Ratio(c, d), part) = (at(rank / 100), at(rank / 100 + 1), rank % 100);
    Ratio::new(a * d * (100 - part) + c * b * part, b * d * 100)
}

/// Returns each row as a line of text.
pub(crate) fn lines(rows: &[BenchmarkRow]) -> Vec<String> {
    let line =
        |row: &BenchmarkRow| format!("{} {} {:?} {:?}", row.series, row.cohort_accounts, row.dimensions, row.metrics);
    rows.iter().map(line).collect()
}

fn engine_answer(platform: &Platform, request: &RandomRequest) -> Vec<BenchmarkRow> {
    platform.data().answer(&request.query())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn benchmarks_agree_with_the_oracle(platform in platform(), request in request()) {
        let dataset = platform.dataset();
        prop_assert_eq!(lines(&engine_answer(&platform, &request)), answer(&dataset, &request));
    }
}

/// Guards the test above: platforms that were too small would have no values, and uniform ones would withhold none.
#[test]
fn random_requests_have_both_shown_and_withheld_values() {
    let mut runner = TestRunner::deterministic();
    let (mut nothing, mut shown, mut withheld, mut segments) = (0, 0, 0, 0);
    for _ in 0..300 {
        let (platform, request) = (platform(), request()).new_tree(&mut runner).unwrap().current();
        let rows = engine_answer(&platform, &request);
        nothing += usize::from(rows.is_empty());
        let pooled: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.series == Series::Benchmark).collect();
        segments += usize::from(pooled.len() > 1);
        shown += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_some()).count();
        withheld += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_none()).count();
    }
    assert!((30..180).contains(&nothing), "{nothing} without an answer");
    assert!(
        shown > 300 && withheld > 150 && segments > 30,
        "{shown} shown, {withheld} withheld, {segments} with several segments"
    );
}
