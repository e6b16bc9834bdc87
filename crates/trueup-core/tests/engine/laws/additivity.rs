//! Checks that metrics add up where the dictionary says so, and only there: if it says that a metric does not add up,
//! some case shows it.

use super::law_case::{Figures, LawCase, amounts, key, law_case, metrics, names, spend_has};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::ResultTable;
use trueup_core::dictionary::{Additivity, Formula, Measure, Metric};
use trueup_core::query::{Filter, Interval};

/// The dimensions that depend on a customer's state, and so on how the range is cut into sub-ranges.
const STATE_DIMENSIONS: [&str; 2] = ["adjustedType", "typeIsLast"];

fn adds_over(additivity: Additivity, dimensions: &[String]) -> bool {
    let (of_spend, other): (Vec<_>, Vec<_>) = dimensions.iter().partition(|name| spend_has(name));
    let adds_at_all = additivity.across_spend_dimensions || additivity.across_other_dimensions;
    adds_at_all
        && (of_spend.is_empty() || additivity.across_spend_dimensions)
        && (other.is_empty() || additivity.across_other_dimensions)
}

/// Returns the metrics that add up, without `campaignSpend` if there are refunds: a group without events has no row if
/// `spend`, `cost`, clicks and impressions are all 0, but with refunds its `campaignSpend` need not be 0.
fn additive(asked: &LawCase, adds: impl Fn(Additivity) -> bool) -> Vec<&'static str> {
    let with_refunds =
        if asked.has_refunds() { amounts(|measure| measure == Measure::CampaignSpend) } else { Vec::new() };
    let names = metrics().filter(|(_, metric)| adds(metric.additivity)).map(|(field, _)| field.name);
    names.filter(|name| !with_refunds.contains(name)).collect()
}

fn depends_on_states(filter: &Filter) -> bool {
    names(filter).into_iter().any(|name| STATE_DIMENSIONS.contains(&name))
}

proptest! {
    #![proptest_config(super::config())]

    /// The sum may be over one dimension, over some, or over all.
    #[test]
    fn additive_metrics_add_up_over_dimensions((asked, kept) in (law_case(), any::<[bool; 16]>())) {
        let metrics = additive(&asked, |additivity| adds_over(additivity, &asked.dimensions));
        let kept: Vec<bool> = kept.into_iter().cycle().take(asked.dimensions.len()).collect();
        let coarse: Vec<&str> =
            asked.dimensions.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(name, _)| name.as_str()).collect();
        let whole = asked.ask(&asked.query(coarse.iter().copied().chain(metrics.iter().copied())));
        let parts = asked.ask(&asked.query(asked.fields(&metrics)));
        let parts = Figures::new(&parts, &asked.dimensions, &metrics).regrouped(|(start, values)| {
            (start, values.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(value, _)| value).collect())
        });
        parts.check_equal(&Figures::new(&whole, &coarse, &metrics))?;
    }

    #[test]
    fn additive_metrics_add_up_over_sub_ranges(mut asked in law_case()) {
        asked.dimensions.retain(|name| !STATE_DIMENSIONS.contains(&name.as_str()));
        asked.filter = asked.filter.take().filter(|filter| !depends_on_states(filter));
        let adds = |additivity: Additivity| additivity.across_intervals && adds_over(additivity, &asked.dimensions);
        let metrics = additive(&asked, adds);
        let query = asked.query(asked.fields(&metrics));
        let whole = asked.ask(&query.clone().interval(Interval::Total));
        for interval in [Interval::Month, Interval::Week, Interval::Day] {
            let parts = asked.ask(&query.clone().interval(interval));
            let parts = Figures::new(&parts, &asked.dimensions, &metrics)
                .regrouped(|(_, values)| (String::new(), values));
            parts.check_equal(&Figures::new(&whole, &asked.dimensions, &metrics))?;
        }
    }
}

/// What the values of a metric may be summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SumOver {
    SpendDimension,
    OtherDimension,
    Interval,
}

fn adds_up(metric: &Metric, over: SumOver) -> bool {
    let Additivity { across_spend_dimensions, across_other_dimensions, across_intervals } = metric.additivity;
    match over {
        SumOver::SpendDimension => across_spend_dimensions,
        // All values of such a dimension have the same spend, so returns on it add up, apart from rounding. The
        // dictionary still says "no" for every quotient, because nobody adds percentages.
        SumOver::OtherDimension => across_other_dimensions || is_over_spend(metric.formula),
        SumOver::Interval => across_intervals,
    }
}

fn is_over_spend(formula: Formula) -> bool {
    matches!(formula, Formula::Ratio { denominator, .. } if denominator.iter().copied().all(Measure::is_spend))
}

/// Returns the metrics whose values do not add up to the value of the whole.
fn witnessed(asked: &LawCase, over: SumOver) -> Vec<&'static str> {
    let names: Vec<&str> = metrics().map(|(field, _)| field.name).collect();
    let query =
        |dimensions: &[&str]| asked.unfiltered(names.iter().chain(dimensions).copied()).interval(Interval::Total);
    let first = |in_spend: bool| asked.dimensions.iter().map(String::as_str).find(|name| spend_has(name) == in_spend);
    let dimension = match over {
        SumOver::SpendDimension => first(true),
        SumOver::OtherDimension => first(false),
        SumOver::Interval => asked.dimensions.first().map(String::as_str),
    };
    let Some(dimension) = dimension else { return Vec::new() };
    let (whole, parts, kept): (_, _, &[&str]) = match over {
        SumOver::Interval => {
            let query = query(&[dimension]);
            (asked.ask(&query), asked.ask(&query.clone().interval(Interval::Week)), &[dimension])
        }
        SumOver::SpendDimension | SumOver::OtherDimension => {
            (asked.ask(&query(&[])), asked.ask(&query(&[dimension])), &[])
        }
    };
    let differs = |name: &&str| {
        let (whole, parts) = (sums(&whole, kept, name), sums(&parts, kept, name));
        let value = |sums: &BTreeMap<_, f64>, key| sums.get(key).copied().unwrap_or(0.0);
        let keys: BTreeSet<&Vec<String>> = whole.keys().chain(parts.keys()).collect();
        keys.into_iter().any(|key| {
            let (whole, sum) = (value(&whole, key), value(&parts, key));
            (sum - whole).abs() > 1e-6 * (1.0 + whole.abs() + sum.abs())
        })
    };
    names.iter().copied().filter(differs).collect()
}

/// Returns the sum of a metric over the rows of each value of the dimensions.
fn sums(table: &ResultTable, dimensions: &[&str], name: &str) -> BTreeMap<Vec<String>, f64> {
    let mut sums = BTreeMap::new();
    for row in 0..table.len() {
        let value = table.value(row, name).and_then(|value| value.as_f64()).unwrap();
        *sums.entry(key(table, row, dimensions).1).or_insert(0.0) += value;
    }
    sums
}

#[test]
fn a_metric_that_is_not_additive_does_not_add_up() {
    let kinds = [SumOver::SpendDimension, SumOver::OtherDimension, SumOver::Interval];
    let pairs = metrics().flat_map(|(field, metric)| kinds.map(|over| (field.name, metric, over)));
    let mut missing: BTreeSet<(&str, SumOver)> =
        pairs.filter(|(_, metric, over)| !adds_up(metric, *over)).map(|(name, _, over)| (name, over)).collect();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    for _ in 0..2_000 {
        let asked = law_case().new_tree(&mut runner).unwrap().current();
        for over in kinds {
            for name in witnessed(&asked, over) {
                missing.remove(&(name, over));
            }
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("no witness of {missing:?}");
}
