#![expect(clippy::panic, reason = "tests")]

use super::*;
use crate::benchmarks::BenchmarkDimension;
use crate::dictionary::{self, FieldKind, Formula, Measure, MeasureKind};

fn measures(amounts: &[AmountMetric]) -> Vec<Measure> {
    let formula = |amount: &AmountMetric| dictionary::metric(amount.name()).map(|(_, metric)| metric.formula);
    let mut measures = Vec::new();
    for amount in amounts {
        let Some(Formula::Amount(parts)) = formula(amount) else { panic!("{amount:?} is no amount") };
        let is_money = |part: &Measure| {
            matches!(part.kind(), MeasureKind::StateMoney | MeasureKind::RowMoney | MeasureKind::SpendMoney)
        };
        assert!(parts.iter().all(|part| is_money(part) == amount.is_money()), "{amount:?}");
        assert!(parts.iter().all(|part| part.is_spend() == amount.is_spend()), "{amount:?}");
        measures.extend_from_slice(parts);
    }
    measures
}

#[test]
fn sides_are_those_of_the_dictionary() {
    for metric in BenchmarkMetric::ALL {
        let Some((field, defined)) = dictionary::metric(metric.name()) else { panic!("{metric} is unknown") };
        let Formula::Ratio { numerator, denominator } = defined.formula else { panic!("{metric} is no ratio") };
        assert!(field.benchmark, "{metric}");
        assert_eq!(measures(metric.ratio().numerator), numerator, "{metric}");
        assert_eq!(measures(metric.ratio().denominator), denominator, "{metric}");
    }
}

#[test]
fn metrics_and_dimensions_are_those_that_the_dictionary_flags() {
    for field in dictionary::fields() {
        let known = match &field.kind {
            FieldKind::Metric(_) => BenchmarkMetric::from_name(field.name).is_some(),
            FieldKind::Dimension(_) => BenchmarkDimension::from_name(field.name).is_some(),
        };
        assert_eq!(field.benchmark, known, "{}", field.name);
    }
}

#[test]
fn spend_carries_the_dimensions_said_to_be_carried() {
    for dimension in BenchmarkDimension::ALL {
        let Some(FieldKind::Dimension(defined)) = dictionary::field(dimension.name()).map(|field| &field.kind) else {
            panic!("{dimension} is unknown")
        };
        assert_eq!(defined.spend.is_some(), BenchmarkDimension::CARRIED.contains(&dimension), "{dimension}");
    }
}

#[test]
fn places_are_those_in_the_list() {
    assert!(AmountMetric::ALL.iter().enumerate().all(|(place, amount)| *amount as usize == place));
    assert!(BenchmarkDimension::ALL.iter().enumerate().all(|(place, dimension)| dimension.place() == place));
}
