//! Checks that accounts do not affect each other, and that each sub-range is computed as if it were queried alone.

use super::law_case::{Figures, amounts, law_case};
use crate::run::{ask, dataset, day, filter, run};
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueup_core::dictionary::{Measure, MeasureKind};
use trueup_core::query::{EventsQuery, Interval};
use trueup_core::{Day, Execution, ResultTable};
use trueup_testkit::cases::case;
use trueup_testkit::oracle::{Request, Tables};

/// Returns the tables of some accounts.
fn only(tables: &Tables, accounts: &BTreeSet<String>) -> Tables {
    Tables {
        events: tables.events.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
        spend: tables.spend.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
        accounts: tables.accounts.iter().filter(|row| accounts.contains(&row.account)).cloned().collect(),
    }
}

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
        let query = EventsQuery::new(request.fields.clone(), start, end).allow_long_total().allow_unknown(true);
        let query = query.allow_mixed_currencies(true);
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

    /// Every customer is in one account, so all counts and sums add up over sets of accounts, except that an agent may
    /// work for several accounts. Spend adds up if it has all dimensions; otherwise a group shows the spend of accounts
    /// that have no events in it.
    #[test]
    fn sets_of_accounts_add_up((asked, part) in (law_case(), any::<[u8; 5]>())) {
        let metrics = amounts(|measure: Measure| {
            let with_refunds = measure == Measure::CampaignSpend && asked.has_refunds();
            let adds_up = !measure.is_spend() || asked.has_only_spend_dimensions();
            measure.kind() != MeasureKind::StateDistinct && !with_refunds && adds_up
        });
        let query = asked.query(asked.fields(&metrics));
        let whole = Figures::new(&asked.ask(&query), &asked.dimensions, &metrics);
        let mut sums: Option<Figures> = None;
        for number in 0..3 {
            let chosen = asked.scope().into_iter().zip(part).filter(|(_, part)| part % 3 == number).map(|(key, _)| key);
            let figures = Figures::new(&asked.ask(&query.clone().accounts(chosen)), &asked.dimensions, &metrics);
            sums = Some(match sums {
                Some(sums) => sums.plus(&figures),
                None => figures,
            });
        }
        sums.unwrap().check_equal(&whole)?;
    }

    #[test]
    fn the_data_of_other_accounts_changes_nothing(((tables, request), chosen) in (case(), any::<[bool; 5]>())) {
        let known = tables.account_keys().into_iter().zip(chosen);
        let accounts: BTreeSet<String> = known.filter(|(_, chosen)| *chosen).map(|(key, _)| key).collect();
        let request = Request { accounts: Some(accounts.iter().cloned().collect()), ..request };
        let among_others = run(&dataset(&tables, 7), &request, Execution::default());
        let alone = run(&dataset(&only(&tables, &accounts), 7), &request, Execution::default());
        prop_assert_eq!(among_others, alone);
    }

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
