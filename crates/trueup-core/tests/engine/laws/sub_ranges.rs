//! Checks that each sub-range is computed as if it were queried alone.

use crate::run::{ask, dataset, day, filter};
use proptest::prelude::*;
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Day, Execution, ResultTable};
use trueup_testkit::cases::case;
use trueup_testkit::oracle::{Request, Tables};

/// Returns the sub-ranges of a request, found day by day.
pub(super) fn sub_ranges(request: &Request) -> Vec<(Day, Day)> {
    let part = |date: &chrono::NaiveDate| match request.interval.as_str() {
        "month" => date.format("%Y-%m").to_string(),
        "week" => date.format("%G-%V").to_string(),
        "day" => date.to_string(),
        _ => String::new(),
    };
    let days: Vec<_> = request.start.iter_days().take_while(|date| *date <= request.end).collect();
    let parts = days.chunk_by(|a, b| part(a) == part(b));
    parts.map(|days| (day(days[0]), day(days[days.len() - 1]))).collect()
}

/// Returns the rows without `start` and `end`.
fn rows(table: &ResultTable) -> Vec<String> {
    let text = |(name, value)| format!("{name}={value:?}");
    let is_field = |(name, _): &(&str, trueup_core::Value<'_>)| !["start", "end"].contains(name);
    table.rows().map(|row| row.values().filter(is_field).map(text).collect::<Vec<_>>().join(" ")).collect()
}

/// Compares the sub-ranges of a query with queries for each of them. Filters on metrics are included.
fn check((tables, request): (Tables, Request), interval: Interval) -> Result<(), TestCaseError> {
    let request = Request { interval: interval.to_string(), ..request };
    let dataset = dataset(&tables, 7);
    let query = |start, end| {
        let query = EventsQuery::new(request.fields.clone(), start, end).allow_long_total();
        let query = request.accounts.iter().fold(query, |query, accounts| query.accounts(accounts.clone()));
        filter(&request).ok().flatten().into_iter().fold(query, EventsQuery::filter)
    };
    let Ok(whole) =
        ask(&dataset, &query(day(request.start), day(request.end)).interval(interval), Execution::default())
    else {
        return Ok(());
    };
    let mut alone = Vec::new();
    for (start, end) in sub_ranges(&request) {
        alone.extend(rows(&ask(&dataset, &query(start, end), Execution::default()).unwrap()));
    }
    prop_assert_eq!(rows(&whole), alone);
    Ok(())
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn a_month_queried_alone_is_the_same(case in case()) {
        check(case, Interval::Month)?;
    }

    #[test]
    fn a_week_queried_alone_is_the_same(case in case()) {
        check(case, Interval::Week)?;
    }

    #[test]
    fn a_day_queried_alone_is_the_same((tables, request) in case()) {
        // Two weeks of days show as much as a year of days.
        let end = request.end.min(request.start + chrono::Days::new(13));
        check((tables, Request { end, ..request }), Interval::Day)?;
    }
}
