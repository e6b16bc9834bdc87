use super::*;

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
fn order_is_kept_and_duplicates_are_dropped() {
    let fields = ["roasClosed", "customerStatus", "bookRate", "roasClosed", "attributionChannel", "customerStatus"];
    let filters = [("customerStatus", "New"), ("customerStatus", "New")];
    let (_, selection) = read(&fields, &filters, None, "2025-03-15".parse().unwrap()).unwrap();
    assert_eq!(selection.metrics(), [BenchmarkMetric::RoasClosed, BenchmarkMetric::BookRate]);
    assert_eq!(selection.dimensions(), [BenchmarkDimension::CustomerStatus, BenchmarkDimension::AttributionChannel]);
    assert_eq!(selection.filters().get(&BenchmarkDimension::CustomerStatus).unwrap(), "New");
}

#[test]
fn the_first_fault_is_reported() {
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
        "benchmarks are filtered on one value of a dimension, but `customerStatus` was given `New` and `Old`"
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
fn the_first_and_the_last_month_of_data() {
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

#[test]
fn only_plain_months_are_months() {
    for text in ["", "2025", "2025-1", "2025-00", "2025-13", "25-01", "2025-01-01", "+025-01", "2025/01", " 2025-01"] {
        let fault = days(Some(text), "2025-03-31").unwrap_err();
        assert_eq!(fault, BenchmarkFault::InvalidMonth { found: text.to_owned() });
    }
}
