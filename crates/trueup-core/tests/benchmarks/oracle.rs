//! Benchmarks the slow, obvious way: for each account what the engine answers of it alone, then section 11 line by line.

use crate::platform::month;
use crate::questions::Asked;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::Value;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric};
use trueup_core::dataset::Dataset;
use trueup_core::query::{EventsQuery, Filter};

/// The segments of one account, and the metrics that are amounts in each: counts, or millionths.
type Segments = BTreeMap<Vec<String>, BTreeMap<String, i128>>;

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
    pub(crate) outside: bool,
    amounts: BTreeMap<String, i128>,
}

/// The numerator, and the denominator in the same unit (money per count: in millionths).
fn sides(metric: BenchmarkMetric, amounts: &BTreeMap<String, i128>) -> (i128, i128) {
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
    pub(crate) fn sides(&self, metric: BenchmarkMetric) -> (i128, i128) {
        sides(metric, &self.amounts)
    }

    pub(crate) fn has_value(&self, metric: BenchmarkMetric) -> bool {
        self.sides(metric).1 != 0
    }
}

/// "as a filter on events does": the engine is asked for one account alone.
fn segments(dataset: &Dataset, account: &str, asked: &Asked) -> Segments {
    let dimensions = asked.selection.dimensions().iter().map(|dimension| dimension.name());
    let fields: Vec<&str> = dimensions.chain(AMOUNTS).collect();
    let mut query = EventsQuery::new(fields, month().start, month().end).accounts([account]);
    for (dimension, value) in asked.selection.filters() {
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
        let segment = asked.selection.dimensions().iter().map(text).collect();
        segments.insert(segment, AMOUNTS.iter().map(amount).collect());
    }
    segments
}

/// "every account of the platform whose industry is one of those of the accounts in scope, with at least one customer in the
/// segment. If an account in scope has no industry: the whole platform."
pub(crate) fn members(dataset: &Dataset, asked: &Asked) -> BTreeMap<Vec<String>, Vec<Member>> {
    let industry = |key: &str| dataset.accounts().get(key).and_then(|account| account.industry.clone());
    let wanted: BTreeSet<Option<String>> = asked.scope.iter().map(|key| industry(key)).collect();
    let mut members: BTreeMap<Vec<String>, Vec<Member>> = BTreeMap::new();
    for key in dataset.account_keys().unwrap() {
        if !wanted.contains(&None) && !wanted.contains(&industry(&key)) {
            continue;
        }
        for (segment, amounts) in segments(dataset, &key, asked) {
            if amounts["customers"] > 0 {
                let member = Member { industry: industry(&key), outside: !asked.reach.contains(&key), amounts };
                members.entry(segment).or_default().push(member);
            }
        }
    }
    members
}

/// "an industry with fewer than `k` such accounts takes no part": such accounts are out of reach, and have a value.
fn taking_part(members: &[Member], k: usize, has_value: impl Fn(&Member) -> bool) -> Vec<Member> {
    let of_industry = |industry: &Option<String>| {
        members.iter().filter(|other| other.industry == *industry && other.outside && has_value(other)).count()
    };
    members.iter().filter(|member| of_industry(&member.industry) >= k).cloned().collect()
}

/// The six figures of one metric in one segment.
fn figures(members: &[Member], metric: BenchmarkMetric, asked: &Asked) -> Option<Vec<f64>> {
    let members = taking_part(members, asked.k, |member| member.has_value(metric));
    if members.iter().filter(|member| member.outside && member.has_value(metric)).count() < asked.k {
        return None;
    }
    let sides: Vec<(i128, i128)> = members.iter().map(|member| member.sides(metric)).collect();
    // "none of these holds more than 25% of what they hold together": those with a value; docs/compat.md adds all that are pooled.
    let others: Vec<(i128, i128)> =
        members.iter().filter(|member| member.outside).map(|member| member.sides(metric)).collect();
    let these: Vec<(i128, i128)> = others.iter().copied().filter(|(_, below)| *below != 0).collect();
    for group in [these, others] {
        let (all_above, all_below) = group.iter().fold((0, 0), |(a, b), (above, below)| (a + above, b + below));
        for (above, below) in &group {
            for (part, together) in [(*above, all_above), (*below, all_below)] {
                if part.abs() * 100 > i128::abs(together) * i128::from(asked.share) {
                    return None;
                }
            }
        }
    }
    let above: i128 = sides.iter().map(|(above, _)| above).sum();
    let below: i128 = sides.iter().map(|(_, below)| below).sum();
    if below == 0 {
        return None;
    }
    let mut values: Vec<Ratio> = sides.into_iter().filter(|(_, b)| *b != 0).map(|(a, b)| Ratio::new(a, b)).collect();
    values.sort_by(|x, y| (x.0 * y.1).cmp(&(y.0 * x.1)));
    let percentiles = [10, 25, 50, 75, 90].map(|percent| type_7(&values, percent).rounded());
    Some([Ratio::new(above, below).rounded()].into_iter().chain(percentiles).collect())
}

/// Each row as a line: series, cohort, segment, and the metrics, `null` where they are withheld.
pub(crate) fn answer(dataset: &Dataset, asked: &Asked) -> Vec<String> {
    let mut lines = Vec::new();
    for (segment, members) in members(dataset, asked) {
        let figures: Vec<_> =
            asked.selection.metrics().iter().map(|metric| figures(&members, *metric, asked)).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let cohort = taking_part(&members, asked.k, |_| true).len();
        for (place, series) in ["benchmark", "p10", "p25", "p50", "p75", "p90"].into_iter().enumerate() {
            let metrics: Vec<Option<f64>> =
                figures.iter().map(|figures| figures.as_ref().map(|series| series[place])).collect();
            lines.push(format!("{series} {cohort} {segment:?} {metrics:?}"));
        }
    }
    lines
}

/// A quotient in lowest terms with a denominator above 0.
#[derive(Clone, Copy, Debug)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(above: i128, below: i128) -> Self {
        let (mut a, mut b) = (above.abs(), below.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self(above / a * below.signum(), below.abs() / a)
    }

    /// Three significant digits of the decimal expansion, the rest looked at one by one.
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

/// "linear interpolation between closest ranks, Hyndman-Fan type 7": of n values the one at 1 + (n - 1) p.
fn type_7(sorted: &[Ratio], percent: i128) -> Ratio {
    let rank = (i128::try_from(sorted.len()).unwrap() - 1) * percent;
    let at = |rank: i128| sorted[usize::try_from(rank).unwrap().min(sorted.len() - 1)];
    let (Ratio(a, b), Ratio(c, d), part) = (at(rank / 100), at(rank / 100 + 1), rank % 100);
    Ratio::new(a * d * (100 - part) + c * b * part, b * d * 100)
}
