//! Checks that every ratio is its numerator over its denominator, with every grouping.

use super::law_case::{law_case, metrics};
use proptest::prelude::*;
use trueup_core::Value;
use trueup_core::dictionary::{Formula, Measure};

/// A ratio, and the metrics that add up to its numerator and to its denominator.
struct Quotient {
    name: &'static str,
    above: Vec<&'static str>,
    below: Vec<&'static str>,
}

/// Returns the metric that equals the sum of some measures, or else the metric of each measure; `None` if a measure has
/// no metric.
fn side(measures: &[Measure]) -> Option<Vec<&'static str>> {
    let is = |formula: Formula, sum: &[Measure]| matches!(formula, Formula::Amount(amount) if amount == sum);
    let metric = |sum: &[Measure]| metrics().find(|(_, metric)| is(metric.formula, sum)).map(|(field, _)| field.name);
    match metric(measures) {
        Some(name) => Some(vec![name]),
        None => measures.iter().map(|measure| metric(&[*measure])).collect(),
    }
}

/// Returns the ratios whose sides can both be selected, and the names of the other ratios.
fn quotients() -> (Vec<Quotient>, Vec<&'static str>) {
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for (field, metric) in metrics() {
        if let Formula::Ratio { numerator, denominator } = metric.formula {
            match side(numerator).zip(side(denominator)) {
                Some((above, below)) => known.push(Quotient { name: field.name, above, below }),
                None => others.push(field.name),
            }
        }
    }
    (known, others)
}

/// Returns whether a value is money, and the value: a count, or money in millionths.
fn exact(value: Value<'_>) -> (bool, i128) {
    match value {
        Value::Count(count) => (false, i128::from(count)),
        Value::Money(micros) => (true, micros),
        other => panic!("{other:?}"),
    }
}

/// Returns the sum of values as a double. The sum is written as decimal text and parsed, which rounds once.
fn sum(values: impl Iterator<Item = (bool, i128)>) -> f64 {
    let (is_money, sum) = values.fold((false, 0), |(any, sum), (is_money, value)| (any || is_money, sum + value));
    let text = if is_money {
        let sign = if sum < 0 { "-" } else { "" };
        format!("{sign}{}.{:06}", sum.unsigned_abs() / 1_000_000, sum.unsigned_abs() % 1_000_000)
    } else {
        sum.to_string()
    };
    text.parse().unwrap()
}

/// The law below checks all other ratios; the naive oracle checks these.
#[test]
fn only_steps_and_late_cancellations_have_sides_without_metrics() {
    let (known, others) = quotients();
    assert_eq!(others, ["cancelRate", "stepBookRate", "stepEstimateRate", "stepSoldRate", "stepCloseRate"]);
    assert!(known.len() >= 13, "{}", known.len());
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn a_ratio_is_its_numerator_over_its_denominator(asked in law_case()) {
        let (quotients, _) = quotients();
        let sides = quotients.iter().flat_map(|quotient| quotient.above.iter().chain(&quotient.below)).copied();
        let names: Vec<&str> = quotients.iter().map(|quotient| quotient.name).chain(sides).collect();
        let table = asked.ask(&asked.query(asked.fields(&names)));
        for row in table.rows() {
            for quotient in &quotients {
                let side = |names: &[&str]| sum(names.iter().map(|name| exact(row.get(name).unwrap())));
                let (above, below) = (side(&quotient.above), side(&quotient.below));
                let expected = if below == 0.0 { 0.0 } else { above / below };
                prop_assert_eq!(row.get(quotient.name), Some(Value::Ratio(expected)), "{}", quotient.name);
            }
        }
    }
}
