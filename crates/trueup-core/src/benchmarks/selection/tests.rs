#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn fault(fields: &[&str], filters: &[(&str, &str)], month: Option<&str>) -> BenchmarkFault {
    read(fields, filters, month, "2025-03-15".parse().unwrap()).unwrap_err()
}

#[test]
fn no_field_is_every_metric() {
    let (period, selection) = read(&[], &[], None, "2025-03-15".parse().unwrap()).unwrap();
    assert_eq!(period.month.to_string(), "2025-03");
    assert_eq!(selection, BenchmarkSelection::new(BenchmarkMetric::ALL, []));
}

#[test]
fn order_is_kept_and_duplicates_are_dropped() {
    let fields = ["roasClosed", "customerStatus", "bookRate", "roasClosed", "attributionChannel", "customerStatus"];
    let filters = [("customerStatus", "New"), ("customerStatus", "New")];
    let (_, selection) = read(&fields, &filters, None, "2025-03-15".parse().unwrap()).unwrap();
    assert_eq!(selection.metrics(), [BenchmarkMetric::RoasClosed, BenchmarkMetric::BookRate]);
    assert_eq!(selection.dimensions(), [BenchmarkDimension::CustomerStatus, BenchmarkDimension::AttributionChannel]);
    assert_eq!(selection.filters().get(&BenchmarkDimension::CustomerStatus).unwrap(), "New");
}

#[test]
fn the_first_of_several_faults_is_told() {
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
fn a_dimension_has_one_value() {
    let both = fault(&[], &[("customerStatus", "New"), ("customerStatus", "Old")], None);
    assert!(both.is_not_benchmarkable());
    assert_eq!(
        both.to_string(),
        "benchmarks are filtered on one value of a dimension, but `customerStatus` was given `New` and `Old`"
    );
}

#[test]
fn a_fault_lists_what_is_allowed() {
    let listed = fault(&["leads"], &[], None).to_string();
    for name in BenchmarkMetric::ALL
        .map(BenchmarkMetric::name)
        .into_iter()
        .chain(BenchmarkDimension::ALL.map(BenchmarkDimension::name))
    {
        assert!(listed.contains(&format!("`{name}`")), "{name}");
    }
}
