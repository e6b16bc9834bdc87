#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn read(text: Option<&str>, today: &str) -> Result<String, BenchmarkFault> {
    BenchmarkPeriod::read(text, today.parse().unwrap()).map(|period| {
        let DateRange { start, end } = period.range;
        format!("{}: {start}..{end}{}", period.month, if period.is_whole() { " whole" } else { "" })
    })
}

#[test]
fn a_past_month_is_whole() {
    assert_eq!(read(Some("2024-02"), "2025-03-31").unwrap(), "2024-02: 2024-02-01..2024-02-29 whole");
    assert_eq!(read(Some("2025-02"), "2025-03-01").unwrap(), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(read(Some("2024-12"), "2025-03-01").unwrap(), "2024-12: 2024-12-01..2024-12-31 whole");
}

#[test]
fn the_current_month_runs_to_today() {
    assert_eq!(read(None, "2025-03-01").unwrap(), "2025-03: 2025-03-01..2025-03-01");
    assert_eq!(read(None, "2025-03-30").unwrap(), "2025-03: 2025-03-01..2025-03-30");
    assert_eq!(read(Some("2025-03"), "2025-03-30").unwrap(), read(None, "2025-03-30").unwrap());
    assert_eq!(read(None, "2025-04-30").unwrap(), "2025-04: 2025-04-01..2025-04-30 whole");
}

#[test]
fn the_previous_month_to_date_is_clipped_to_its_length() {
    let read = |today| read(Some("previous-mtd"), today).unwrap();
    assert_eq!(read("2025-03-15"), "2025-02: 2025-02-01..2025-02-15");
    assert_eq!(read("2025-03-28"), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(read("2025-03-31"), "2025-02: 2025-02-01..2025-02-28 whole");
    assert_eq!(read("2024-03-30"), "2024-02: 2024-02-01..2024-02-29 whole");
    assert_eq!(read("2025-01-01"), "2024-12: 2024-12-01..2024-12-01");
    assert_eq!(read("2025-04-30"), "2025-03: 2025-03-01..2025-03-30");
}

#[test]
fn the_first_and_the_last_month_of_data() {
    assert_eq!(read(Some("1970-01"), "2025-03-15").unwrap(), "1970-01: 1970-01-01..1970-01-31 whole");
    assert_eq!(read(None, "2149-06-06").unwrap(), "2149-06: 2149-06-01..2149-06-06 whole");
    let invalid = |found: &str| Err(BenchmarkFault::InvalidMonth { found: found.to_owned() });
    assert_eq!(read(Some("1969-12"), "2025-03-15"), invalid("1969-12"));
    assert_eq!(read(Some("previous-mtd"), "1970-01-15"), invalid("previous-mtd"));
}

#[test]
fn a_month_that_has_not_begun_is_refused() {
    for text in ["2025-04", "2026-01", "9999-12"] {
        let fault = read(Some(text), "2025-03-31").unwrap_err();
        let expected =
            BenchmarkFault::FutureMonth { month: text.parse().unwrap(), current: "2025-03".parse().unwrap() };
        assert_eq!(fault, expected);
    }
}

#[test]
fn only_plain_months_are_months() {
    for text in ["", "2025", "2025-1", "2025-00", "2025-13", "25-01", "2025-01-01", "+025-01", "2025/01", " 2025-01"] {
        let fault = read(Some(text), "2025-03-31").unwrap_err();
        assert_eq!(fault, BenchmarkFault::InvalidMonth { found: text.to_owned() });
    }
}
