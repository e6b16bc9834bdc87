//! Requests for benchmarks, their fields, and exact ratios.

use super::fields::AmountMetric;
use super::pool::Fraction;
use super::*;
use crate::dictionary::{self, FieldKind, Formula, Measure};
use crate::query::DateRange;

fn fault(fields: &[&str], filters: &[(&str, &str)], month: Option<&str>) -> BenchmarkFault {
    read(fields, filters, month, "2025-03-15".parse().unwrap()).unwrap_err()
}

#[test]
fn a_request_without_fields_selects_every_metric() {
    let (period, selection) = read(&[], &[], None, "2025-03-15".parse().unwrap()).unwrap();
    assert_eq!(period.month.to_string(), "2025-03");
    assert_eq!(selection, BenchmarkSelection::new(BenchmarkMetric::ALL, []));
}

#[test]
fn fields_keep_their_order_and_duplicates_are_dropped() {
    let fields = ["roasClosed", "customerStatus", "bookRate", "roasClosed", "attributionChannel", "customerStatus"];
    let filters = [("customerStatus", "New"), ("customerStatus", "New")];
    let (_, selection) = read(&fields, &filters, None, "2025-03-15".parse().unwrap()).unwrap();
    assert_eq!(selection.metrics(), [BenchmarkMetric::RoasClosed, BenchmarkMetric::BookRate]);
    assert_eq!(selection.dimensions(), [BenchmarkDimension::CustomerStatus, BenchmarkDimension::AttributionChannel]);
    assert_eq!(selection.filters().get(&BenchmarkDimension::CustomerStatus).unwrap(), "New");
}

#[test]
fn the_first_fault_of_a_request_is_reported() {
    let filters = [("campaign", "x")];
    assert_eq!(fault(&["customerStatus", "campaign"], &filters, Some("x")), BenchmarkFault::MissingMetric);
    let invalid = BenchmarkFault::InvalidMonth { found: "x".to_owned() };
    assert_eq!(fault(&["leads"], &filters, Some("x")), invalid);
    assert!(matches!(fault(&["leads"], &filters, Some("2025-04")), BenchmarkFault::FutureMonth { .. }));
    assert_eq!(fault(&["leads"], &filters, None), BenchmarkFault::Field { name: "leads".to_owned() });
    let field = BenchmarkFault::Field { name: "account".to_owned() };
    assert_eq!(fault(&["bookRate", "account"], &filters, None), field);
    assert_eq!(fault(&["bookRate"], &filters, None), BenchmarkFault::Filter { name: "campaign".to_owned() });
    assert_eq!(fault(&[], &[("bookRate", "1")], None), BenchmarkFault::Filter { name: "bookRate".to_owned() });
}

#[test]
fn a_dimension_is_filtered_on_one_value() {
    let both = fault(&[], &[("customerStatus", "New"), ("customerStatus", "Old")], None);
    assert!(both.is_not_benchmarkable());
    assert_eq!(
        both.to_string(),
        "benchmarks are filtered on one value of a dimension, but `customerStatus` was given `New` and `Old`; give one \
         of them"
    );
}

#[test]
fn a_fault_lists_the_supported_fields() {
    let listed = fault(&["leads"], &[], None).to_string();
    for name in BenchmarkMetric::ALL
        .map(BenchmarkMetric::name)
        .into_iter()
        .chain(BenchmarkDimension::ALL.map(BenchmarkDimension::name))
    {
        assert!(listed.contains(&format!("`{name}`")), "{name}");
    }
}

fn days(text: Option<&str>, today: &str) -> Result<String, BenchmarkFault> {
    BenchmarkPeriod::read(text, today.parse().unwrap()).map(|period| {
        let DateRange { start, end } = period.range;
        format!("{}: {start}..{end}{}", period.month, if period.is_whole() { " whole" } else { "" })
    })
}

#[test]
fn a_past_month_is_whole() {
    assert_eq!(days(Some("2024-02"), "2025-03-31").unwrap(), "2024-02: 2024-02-01..2024-02-29 whole");
    assert_eq!(days(Some("2025-02"), "2025-03-01").unwrap(), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(days(Some("2024-12"), "2025-03-01").unwrap(), "2024-12: 2024-12-01..2024-12-31 whole");
}

#[test]
fn the_current_month_runs_to_today() {
    assert_eq!(days(None, "2025-03-01").unwrap(), "2025-03: 2025-03-01..2025-03-01");
    assert_eq!(days(None, "2025-03-30").unwrap(), "2025-03: 2025-03-01..2025-03-30");
    assert_eq!(days(Some("2025-03"), "2025-03-30").unwrap(), days(None, "2025-03-30").unwrap());
    assert_eq!(days(None, "2025-04-30").unwrap(), "2025-04: 2025-04-01..2025-04-30 whole");
}

#[test]
fn the_previous_month_to_date_is_clipped_to_its_length() {
    let to_date = |today| days(Some("previous-mtd"), today).unwrap();
    assert_eq!(to_date("2025-03-15"), "2025-02: 2025-02-01..2025-02-15");
    assert_eq!(to_date("2025-03-28"), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(to_date("2025-03-31"), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(to_date("2024-03-30"), "2024-02: 2024-02-01..2024-02-29 whole");
    assert_eq!(to_date("2025-01-01"), "2024-12: 2024-12-01..2024-12-01");
    assert_eq!(to_date("2025-04-30"), "2025-03: 2025-03-01..2025-03-30");
}

#[test]
fn months_are_read_from_the_first_to_the_last_of_data() {
    assert_eq!(days(Some("1970-01"), "2025-03-15").unwrap(), "1970-01: 1970-01-01..1970-01-31 whole");
    assert_eq!(days(None, "2149-06-06").unwrap(), "2149-06: 2149-06-01..2149-06-06 whole");
    let invalid = |found: &str| Err(BenchmarkFault::InvalidMonth { found: found.to_owned() });
    assert_eq!(days(Some("1969-12"), "2025-03-15"), invalid("1969-12"));
    assert_eq!(days(Some("previous-mtd"), "1970-01-15"), invalid("previous-mtd"));
}

#[test]
fn a_month_that_has_not_begun_is_refused() {
    for text in ["2025-04", "2026-01", "9999-12"] {
        let fault = days(Some(text), "2025-03-31").unwrap_err();
        let expected =
            BenchmarkFault::FutureMonth { month: text.parse().unwrap(), current: "2025-03".parse().unwrap() };
        assert_eq!(fault, expected);
    }
}

fn measures(amounts: &[AmountMetric]) -> Vec<Measure> {
    let formula = |amount: &AmountMetric| dictionary::metric(amount.name()).map(|(_, metric)| metric.formula);
    let mut measures = Vec::new();
    for amount in amounts {
        let Some(Formula::Amount(parts)) = formula(amount) else { panic!("{amount:?} is not an amount") };
        assert!(parts.iter().all(|part| part.is_money() == amount.is_money()), "{amount:?}");
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

fn rounded(above: i128, below: i128) -> f64 {
    Fraction::new(above, below, 1).unwrap().rounded()
}

#[test]
fn ratios_are_rounded_to_three_digits_half_away_from_zero() {
    assert_eq!(rounded(2, 3), 0.667);
    assert_eq!(rounded(1, 3), 0.333);
    assert_eq!(rounded(-2, 3), -0.667);
    assert_eq!(rounded(2, -3), -0.667);
    assert_eq!(rounded(-2, -3), 0.667);
    assert_eq!(rounded(12_345, 10_000), 1.23);
    assert_eq!(rounded(12_350, 10_000), 1.24);
    assert_eq!(rounded(-12_350, 10_000), -1.24);
    assert_eq!(rounded(12_349_999, 10_000_000), 1.23);
    // As doubles, 1.005 and 0.1115 lie below the half.
    assert_eq!(rounded(1_005, 1_000), 1.01);
    assert_eq!(rounded(1_115, 10_000), 0.112);
}

#[test]
fn rounding_may_carry_and_works_for_large_and_small_numbers() {
    assert_eq!(rounded(9_995, 10_000), 1.0);
    assert_eq!(rounded(9_994, 10_000), 0.999);
    assert_eq!(rounded(999_500, 1), 1_000_000.0);
    assert_eq!(rounded(123_456, 1), 123_000.0);
    assert_eq!(rounded(7, 1), 7.0);
    assert_eq!(rounded(1, 1_000_000), 1e-6);
    assert_eq!(rounded(0, -5), 0.0);
    assert!(rounded(0, -5).is_sign_positive());
}

#[test]
fn a_ratio_with_the_denominator_0_is_none() {
    assert_eq!(Fraction::new(1, 0, 1), None);
}

#[test]
fn money_per_count_is_in_currency_units() {
    assert_eq!(Fraction::new(1_234_560_000, 10, 1_000_000).unwrap().rounded(), 123.0);
}

#[test]
fn the_largest_sums_fit() {
    let (money, count) = ((1_i128 << 105) - 1, (1_i128 << 42) - 1);
    let ratios = [Fraction::new(money, 1, 1).unwrap(), Fraction::new(-money, money, 1).unwrap()];
    assert!(ratios[0] > ratios[1]);
    assert_eq!(ratios[0].rounded(), 4.06e31);
    assert_eq!(Fraction::new(1, money, 1).unwrap().rounded(), 2.47e-32);
    let sorted = [Fraction::new(-money, money, 1).unwrap(), Fraction::new(money - 1, money, 1).unwrap()];
    assert_eq!(Fraction::percentile(&sorted, 90).unwrap().rounded(), 0.8);
    let tickets = [Fraction::new(1, count, 1_000_000).unwrap(), Fraction::new(money, count, 1_000_000).unwrap()];
    assert_eq!(Fraction::percentile(&tickets, 10).unwrap().rounded(), 9.22e11);
}

fn percentile(values: &[i128], percent: usize) -> f64 {
    let mut sorted: Vec<Fraction> = values.iter().map(|value| Fraction::new(*value, 1, 1).unwrap()).collect();
    sorted.sort_unstable();
    Fraction::percentile(&sorted, percent).unwrap().rounded()
}

/// What R's `quantile`, whose default is type 7, gives for the same values.
#[test]
fn percentiles_interpolate_between_the_closest_ranks() {
    let four = [40, 10, 30, 20];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&four, percent)), [13.0, 17.5, 25.0, 32.5, 37.0]);
    let six = [1, 2, 4, 8, 16, 32];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&six, percent)), [1.5, 2.5, 6.0, 14.0, 24.0]);
    let eleven = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&eleven, percent)), [1.0, 2.5, 5.0, 7.5, 9.0]);
    assert_eq!([0, 50, 100].map(|percent| percentile(&[7], percent)), [7.0; 3]);
    assert_eq!(percentile(&[-3, -1], 25), -2.5);
    assert_eq!(Fraction::percentile(&[], 50), None);
}
