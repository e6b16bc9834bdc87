//! An independent oracle: queries each account alone, then follows line by line the specification of benchmarks, which
//! the docs of functions quote. The engine must agree with the oracle on random requests.

use crate::platform::{Platform, RandomRequest, month, platform, request};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use trueup_core::Value;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkRow, Series};
use trueup_core::dataset::Dataset;
use trueup_core::query::{EventsQuery, Filter};
use trueup_testkit::exhaustive::cases;

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
    /// Whether its currency is the only one of the accounts in scope.
    has_currency: bool,
    /// Shared, because groups are copied for each metric.
    amounts: Rc<BTreeMap<String, i128>>,
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

    pub(crate) fn has_customers(&self) -> bool {
        self.amounts["customers"] > 0
    }

    /// "Benchmarks of such metrics compare accounts of the currency of the accounts in scope only."
    pub(crate) fn is_compared(&self, metric: BenchmarkMetric) -> bool {
        self.has_currency || !is_of_money(metric)
    }

    pub(crate) fn has_value(&self, metric: BenchmarkMetric) -> bool {
        self.ratio(metric).1 != 0
    }
}

/// "a metric that is made of money (returns on ad spend too)"
pub(crate) fn is_of_money(metric: BenchmarkMetric) -> bool {
    ["avg", "roas"].iter().any(|prefix| metric.name().starts_with(prefix))
}

/// Queries accounts, with the filters of the request.
pub(crate) fn segments(dataset: &Dataset, accounts: &[&str], request: &RandomRequest) -> Segments {
    let dimensions = request.selection.dimensions().iter().map(|dimension| dimension.name());
    let fields: Vec<&str> = dimensions.chain(AMOUNTS).collect();
    let query = EventsQuery::new(fields, month().start, month().end).accounts(accounts.iter().copied());
    let mut query = query.allow_mixed_currencies(true);
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

/// The accounts of the cohort in one segment, by key.
pub(crate) type Group = BTreeMap<String, Member>;

/// The indexes of dimensions in the order in which the specification names them.
pub(crate) type Set = Vec<usize>;

/// "The segments over all 16 sets of the four dimensions": of one of these sets. "every account of the platform [...]
/// whose industry is one of those of the accounts in scope [...] If an account in scope has no industry: the whole
/// platform."
fn groups(dataset: &Dataset, request: &RandomRequest, set: &Set) -> BTreeMap<Vec<String>, Group> {
    let industry = |key: &str| dataset.accounts().get(key).and_then(|account| account.industry.clone());
    let wanted: BTreeSet<Option<String>> = request.scope.iter().map(|key| industry(key)).collect();
    let names: Vec<&str> = set.iter().map(|index| BenchmarkDimension::ALL[*index].name()).collect();
    let fields = ["account"].into_iter().chain(names.iter().copied()).chain(AMOUNTS);
    let table = dataset.query(&EventsQuery::new(fields, month().start, month().end)).unwrap();
    // "none counts as one". Accounts that no table has do not count; without any other, there is none.
    let has_rows = |key: &str| table.rows().any(|row| row.get("account") == Some(Value::Text(key)));
    let known = request.scope.iter().filter(|key| dataset.accounts().get(key).is_some() || has_rows(key));
    let mut currencies: Vec<_> = known.map(|key| dataset.accounts().currency(key)).collect();
    currencies.sort_unstable();
    currencies.dedup();
    let mut groups: BTreeMap<Vec<String>, Group> = BTreeMap::new();
    for row in table.rows() {
        let text = |name: &str| match row.get(name) {
            Some(Value::Text(text)) => text.to_owned(),
            other => unreachable!("{other:?}"),
        };
        let amount = |name: &&str| match row.get(name) {
            Some(Value::Count(count)) => ((*name).to_owned(), i128::from(count)),
            Some(Value::Money(micros)) => ((*name).to_owned(), micros),
            other => unreachable!("{other:?}"),
        };
        let key = text("account");
        if wanted.contains(&None) || wanted.contains(&industry(&key)) {
            let amounts = Rc::new(AMOUNTS.iter().map(amount).collect());
            let is_other = !request.reach.contains(&key);
            let currency = dataset.accounts().currency(&key);
            let has_currency = currencies == [currency] || currencies.is_empty() && currency.is_none();
            let member = Member { industry: industry(&key), is_other, has_currency, amounts };
            groups.entry(names.iter().map(|name| text(name)).collect()).or_default().insert(key, member);
        }
    }
    groups
}

/// "with at least one customer in the segment"; "An industry with fewer than `k` such accounts takes no part": such
/// accounts are out of reach and have a value.
fn participants(
    group: &Group,
    k: usize,
    is_compared: impl Fn(&Member) -> bool,
    has_value: impl Fn(&Member) -> bool,
) -> Group {
    let compared = || group.iter().filter(|(_, member)| member.has_customers() && is_compared(member));
    let mut others: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    for (_, other) in compared().filter(|(_, member)| member.is_other && has_value(member)) {
        *others.entry(&other.industry).or_default() += 1;
    }
    let takes_part = |member: &Member| others.get(&member.industry).is_some_and(|others| *others >= k);
    compared().filter(|(_, member)| takes_part(member)).map(|(key, it)| (key.clone(), it.clone())).collect()
}

/// Returns the accounts of the cohort by the selected dimensions, with the filters of the request.
pub(crate) fn members(dataset: &Dataset, request: &RandomRequest) -> BTreeMap<Vec<String>, Group> {
    let set = request_set(request);
    let filters = request.selection.filters();
    groups(dataset, request, &set)
        .into_iter()
        .filter(|(segment, _)| filters.iter().all(|(dimension, text)| segment[place(&set, dimension)] == *text))
        .map(|(segment, group)| {
            (request.selection.dimensions().iter().map(|it| segment[place(&set, it)].clone()).collect(), group)
        })
        .collect()
}

/// "over the dimensions asked for and filtered on"
fn request_set(request: &RandomRequest) -> Set {
    let is_in = |dimension| {
        request.selection.dimensions().contains(dimension) || request.selection.filters().contains_key(dimension)
    };
    (0..4).filter(|index| is_in(&BenchmarkDimension::ALL[*index])).collect()
}

/// Returns the place of a dimension in the segments over a set.
fn place(set: &Set, dimension: &BenchmarkDimension) -> usize {
    set.iter().position(|index| BenchmarkDimension::ALL[*index] == *dimension).unwrap()
}

/// The accounts that are pooled for a metric in a segment.
pub(crate) fn pooled(group: &Group, metric: BenchmarkMetric, k: usize) -> Group {
    participants(group, k, |member| member.is_compared(metric), |member| member.has_value(metric))
}

/// "none holds more than 25% of what they hold together"
fn is_dominated(parts: &[i128], share: u8) -> bool {
    let together: i128 = parts.iter().sum();
    parts.iter().any(|part| part.abs() * 100 > together.abs() * i128::from(share))
}

/// "A group of accounts is safe for a metric if at least `k` accounts outside the caller's reach [...] have a value (a
/// denominator that is not 0) in it, and neither among those with a value, nor among all accounts of others that are
/// pooled, one account holds more than 25% of what they hold together, of the numerator or of the denominator".
fn is_safe(pooled: &Group, metric: BenchmarkMetric, request: &RandomRequest) -> bool {
    let others: Vec<(i128, i128)> =
        pooled.values().filter(|member| member.is_other).map(|member| member.ratio(metric)).collect();
    let with_value: Vec<(i128, i128)> = others.iter().copied().filter(|(_, denominator)| *denominator != 0).collect();
    let numerators = |group: &[(i128, i128)]| group.iter().map(|(numerator, _)| *numerator).collect::<Vec<_>>();
    let denominators = |group: &[(i128, i128)]| group.iter().map(|(_, denominator)| *denominator).collect::<Vec<_>>();
    with_value.len() >= request.k
        && [&with_value, &others].into_iter().all(|group| {
            !is_dominated(&numerators(group), request.share) && !is_dominated(&denominators(group), request.share)
        })
}

/// "only where that one adds up along the dimension (spend does not along `customerStatus` and
/// `normalizedBusinessUnit`)": whether the numerator and whether the denominator of a metric do.
fn add_up(metric: BenchmarkMetric, dimension: usize) -> [bool; 2] {
    let along = !["customerStatus", "normalizedBusinessUnit"].contains(&BenchmarkDimension::ALL[dimension].name());
    let is_spend = match metric.name() {
        name if name.starts_with("avgCost") => [true, false],
        name if name.starts_with("roas") => [false, true],
        _ => [false, false],
    };
    is_spend.map(|is_spend| !is_spend || along)
}

/// "for an account that is pooled in the parent, its rest is its part of the parent minus its parts of the published
/// children along that dimension in which it is pooled [...] The rests of the accounts of others must all be 0 in the
/// parts that add up, or be safe: at least `k` accounts have a rest that is not 0, and none holds more than 25% of what
/// they hold together."
fn is_rest_safe(
    parent: &Group,
    children: &[&Group],
    metric: BenchmarkMetric,
    dimension: usize,
    request: &RandomRequest,
) -> bool {
    let part = |member: &Member, side: usize| [member.ratio(metric).0, member.ratio(metric).1][side];
    (0..2).filter(|side| add_up(metric, dimension)[*side]).all(|side| {
        let others = parent.iter().filter(|(_, member)| member.is_other);
        let rests = others.map(|(key, member)| {
            let of_children = children.iter().filter_map(|child| child.get(key)).map(|member| part(member, side));
            part(member, side) - of_children.sum::<i128>()
        });
        let rests: Vec<i128> = rests.filter(|rest| *rest != 0).collect();
        rests.is_empty() || rests.len() >= request.k && !is_dominated(&rests, request.share)
    })
}

/// Returns the segments of every set that are published for a metric, with the accounts that are pooled there.
///
/// "For each metric a segment is published only if it is safe, all segments that it is a child of are published, and
/// what is left of each of them is safe [...] As long as they are not, the published child with the fewest pooled
/// accounts of others (ties: by dimension values, in byte order) is withheld too. Sets of dimensions are decided by
/// size, then in the order in which this section names the dimensions; for each set, its parents by the dimension that
/// they leave out, in that order, their segments in row order, again and again until nothing changes."
fn published(
    groups: &BTreeMap<Set, BTreeMap<Vec<String>, Group>>,
    metric: BenchmarkMetric,
    request: &RandomRequest,
) -> BTreeMap<Set, BTreeMap<Vec<String>, Group>> {
    let mut sets: Vec<&Set> = groups.keys().collect();
    sets.sort_by_key(|set| (set.len(), (*set).clone()));
    let mut decided: BTreeMap<Set, BTreeMap<Vec<String>, Group>> = BTreeMap::new();
    for set in sets {
        // Each parent set with the place of the dimension that it leaves out.
        let parent_sets: Vec<(usize, Set)> = (0..set.len())
            .map(|at| (at, set.iter().copied().filter(|dimension| *dimension != set[at]).collect()))
            .collect();
        let parent_of = |segment: &[String], at: usize| {
            segment
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != at)
                .map(|(_, text)| text.clone())
                .collect::<Vec<_>>()
        };
        let mut shown: BTreeMap<Vec<String>, Group> = BTreeMap::new();
        for (segment, group) in &groups[set] {
            let pooled = pooled(group, metric, request.k);
            let has_parents =
                parent_sets.iter().all(|(at, parents)| decided[parents].contains_key(&parent_of(segment, *at)));
            if has_parents && is_safe(&pooled, metric, request) {
                shown.insert(segment.clone(), pooled);
            }
        }
        loop {
            let mut is_changed = false;
            for (at, parents) in &parent_sets {
                for (parent, of_parent) in &decided[parents] {
                    loop {
                        let children: Vec<(&Vec<String>, &Group)> =
                            shown.iter().filter(|(segment, _)| parent_of(segment, *at) == *parent).collect();
                        let of_children: Vec<&Group> = children.iter().map(|(_, group)| *group).collect();
                        if is_rest_safe(of_parent, &of_children, metric, set[*at], request) {
                            break;
                        }
                        let others = |group: &Group| group.values().filter(|member| member.is_other).count();
                        let fewest = children.iter().map(|(segment, group)| (others(group), *segment)).min();
                        let Some((_, segment)) = fewest.map(|(count, segment)| (count, segment.clone())) else { break };
                        shown.remove(&segment);
                        is_changed = true;
                    }
                }
            }
            if !is_changed {
                break;
            }
        }
        decided.insert(set.clone(), shown);
    }
    decided
}

/// What an answer has of one segment.
pub(crate) struct Figures {
    pub(crate) cohort_accounts: usize,
    /// The six values of each metric.
    pub(crate) metrics: Vec<Option<Vec<f64>>>,
}

/// Returns what a request is answered, by the selected dimensions in order. "Filters select segments of the lattice
/// (over the dimensions asked for and filtered on), and cannot open it." "a segment without any metric left is
/// withheld."
pub(crate) fn figures(dataset: &Dataset, request: &RandomRequest) -> BTreeMap<Vec<String>, Figures> {
    let subsets = (0..16_usize).map(|bits| (0..4).filter(|index| bits >> index & 1 == 1).collect::<Set>());
    let groups: BTreeMap<Set, _> = subsets.map(|set| (set.clone(), groups(dataset, request, &set))).collect();
    let set = request_set(request);
    let (dimensions, filters) = (request.selection.dimensions(), request.selection.filters());
    let published = request.selection.metrics().iter().map(|metric| published(&groups, *metric, request));
    let published: Vec<_> = published.collect();
    let mut figures = BTreeMap::new();
    for (segment, group) in &groups[&set] {
        let value = |dimension: &BenchmarkDimension| &segment[place(&set, dimension)];
        if !filters.iter().all(|(dimension, text)| value(dimension) == text) {
            continue;
        }
        let metrics =
            request.selection.metrics().iter().zip(&published).map(|(metric, published)| {
                published[&set].get(segment).and_then(|pooled| series_values(pooled, *metric))
            });
        let metrics: Vec<_> = metrics.collect();
        if metrics.iter().any(Option::is_some) {
            let cohort_accounts = participants(group, request.k, |_| true, |_| true).len();
            figures
                .insert(dimensions.iter().map(|it| value(it).clone()).collect(), Figures { cohort_accounts, metrics });
        }
    }
    figures
}

/// Returns the six values of one metric in one segment. A pooled denominator of 0 has none.
fn series_values(pooled: &Group, metric: BenchmarkMetric) -> Option<Vec<f64>> {
    let ratios: Vec<(i128, i128)> = pooled.values().map(|member| member.ratio(metric)).collect();
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
    for (segment, Figures { cohort_accounts, metrics }) in figures(dataset, request) {
        for (index, series) in ["benchmark", "p10", "p25", "p50", "p75", "p90"].into_iter().enumerate() {
            let metrics: Vec<Option<f64>> =
                metrics.iter().map(|metric| metric.as_ref().map(|series| series[index])).collect();
            lines.push(format!("{series} {cohort_accounts} {segment:?} {metrics:?}"));
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
    #![proptest_config(cases(400))]

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
    let (mut nothing, mut shown, mut withheld, mut segments, mut of_one, mut of_several) = (0, 0, 0, 0, 0, 0);
    for _ in 0..300 {
        let (platform, request) = (platform(), request()).new_tree(&mut runner).unwrap().current();
        let rows = engine_answer(&platform, &request);
        nothing += usize::from(rows.is_empty());
        let pooled: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.series == Series::Benchmark).collect();
        segments += usize::from(pooled.len() > 1);
        shown += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_some()).count();
        let figures = pooled.iter().flat_map(|row| request.selection.metrics().iter().zip(&row.metrics));
        let money = figures.filter(|(metric, figure)| is_of_money(**metric) && figure.is_some()).count();
        let currencies: BTreeSet<_> = platform.0.iter().map(|account| account.currency).collect();
        *if currencies.len() == 1 { &mut of_one } else { &mut of_several } += money;
        withheld += pooled.iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_none()).count();
    }
    assert!((30..180).contains(&nothing), "{nothing} without an answer");
    assert!(
        shown > 300 && withheld > 150 && segments > 30,
        "{shown} shown, {withheld} withheld, {segments} with several segments"
    );
    assert!(of_one > 60 && of_several > 25, "{of_one} of one currency, {of_several} of one among several");
}
