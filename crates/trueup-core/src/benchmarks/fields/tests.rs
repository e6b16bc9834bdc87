use super::*;
use crate::dictionary::{self, FieldKind, Formula, Measure, MeasureKind};

fn measures(amounts: &[AmountMetric]) -> Vec<Measure> {
    let formula = |amount: &AmountMetric| dictionary::metric(amount.name()).map(|(_, metric)| metric.formula);
    let mut measures = Vec::new();
    for amount in amounts {
        let Some(Formula::Amount(parts)) = formula(amount) else { panic!("{amount:?} is not an amount") };
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
fn ratios_equal_the_formulas_of_the_dictionary() {
    for metric in BenchmarkMetric::ALL {
        let Some((field, defined)) = dictionary::metric(metric.name()) else { panic!("{metric} is unknown") };
        let Formula::Ratio { numerator, denominator } = defined.formula else { panic!("{metric} is not a ratio") };
        assert!(field.benchmark, "{metric}");
        assert_eq!(measures(metric.ratio().numerator), numerator, "{metric}");
        assert_eq!(measures(metric.ratio().denominator), denominator, "{metric}");
    }
}

#[test]
fn the_dictionary_flags_exactly_the_fields_of_benchmarks() {
    for field in dictionary::fields() {
        let known = match &field.kind {
            FieldKind::Metric(_) => BenchmarkMetric::from_name(field.name).is_some(),
            FieldKind::Dimension(_) => BenchmarkDimension::from_name(field.name).is_some(),
        };
        assert_eq!(field.benchmark, known, "{}", field.name);
    }
}

#[test]
fn the_dictionary_agrees_on_the_dimensions_in_spend() {
    for dimension in BenchmarkDimension::ALL {
        let Some(FieldKind::Dimension(defined)) = dictionary::field(dimension.name()).map(|field| &field.kind) else {
            panic!("{dimension} is unknown")
        };
        assert_eq!(defined.spend.is_some(), BenchmarkDimension::IN_SPEND.contains(&dimension), "{dimension}");
    }
}

#[test]
fn indexes_match_the_lists() {
    assert!(AmountMetric::ALL.iter().enumerate().all(|(index, amount)| *amount as usize == index));
    assert!(BenchmarkDimension::ALL.iter().enumerate().all(|(index, dimension)| dimension.index() == index));
}
