//! Compares spend with sums over the rows of its table.

use super::independence::sub_ranges;
use super::law_case::{Figures, LawCase, law_case, spend_dimensions, spend_has};
use crate::run::{dataset, day};
use chrono::NaiveDate;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::BTreeMap;
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Day, Value};
use trueup_testkit::oracle::{SpendRow, Tables};

const METRICS: [&str; 4] = ["spend", "cost", "clicks", "impressions"];

/// Returns the spend of each sub-range, over the rows that `keeps` selects.
fn by_hand(asked: &LawCase, keeps: impl Fn(&SpendRow) -> bool) -> BTreeMap<String, Vec<i128>> {
    let scope = asked.scope();
    let mut sums = BTreeMap::new();
    for (start, end) in sub_ranges(&asked.request) {
        let of = |row: &&SpendRow| scope.contains(&row.account) && (start..=end).contains(&day(row.date)) && keeps(row);
        let mut sum = vec![0; METRICS.len()];
        for row in asked.tables.spend.iter().filter(of) {
            let cost = row.ad_spend.map_or(0, i128::from);
            let fee = row.management_fee.map_or(0, i128::from);
            let (clicks, impressions) = (row.clicks.map_or(0, i128::from), row.impressions.map_or(0, i128::from));
            sum.iter_mut().zip([cost + fee, cost, clicks, impressions]).for_each(|(sum, add)| *sum += add);
        }
        let start = if asked.interval() == Interval::Total { String::new() } else { start.to_string() };
        sums.insert(start, sum);
    }
    sums
}

/// Returns the spend of each sub-range, as the sum over the rows of an answer.
fn by_rows(asked: &LawCase, query: &EventsQuery, dimensions: &[&str]) -> BTreeMap<String, Vec<i128>> {
    let rows = Figures::new(&asked.ask(query), dimensions, &METRICS);
    let sums = rows.regrouped(|(start, _)| (start, Vec::new()));
    let every = by_hand(asked, |_| false);
    every.into_keys().map(|start| (start.clone(), sums.of(&(start, Vec::new())))).collect()
}

fn query(asked: &LawCase, dimensions: &[&str]) -> EventsQuery {
    asked.unfiltered(dimensions.iter().copied().chain(METRICS))
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn spend_adds_up_to_the_total_over_its_own_dimensions(
        (asked, dimensions) in (law_case(), subsequence(spend_dimensions(), 0..=4)),
    ) {
        prop_assert_eq!(by_rows(&asked, &query(&asked, &dimensions), &dimensions), by_hand(&asked, |_| true));
    }

    /// A filter on a dimension that spend does not have is unknown for it, and so is the opposite filter: neither drops
    /// spend.
    #[test]
    fn a_filter_on_another_dimension_keeps_all_spend(
        (asked, dimensions, opposite) in (law_case(), subsequence(spend_dimensions(), 0..=2), any::<bool>()),
    ) {
        let other = asked.dimensions.iter().find(|name| !spend_has(name)).map_or("customerStatus", String::as_str);
        let filter = Filter::equals(other, "New");
        let filter = if opposite { Filter::Not(Box::new(filter)) } else { filter };
        let query = query(&asked, &dimensions).filter(filter);
        prop_assert_eq!(by_rows(&asked, &query, &dimensions), by_hand(&asked, |_| true));
    }

    /// Each row of spend decides a filter on a dimension that spend has. An unknown part of an `and` changes nothing.
    #[test]
    fn a_filter_on_a_dimension_of_spend_keeps_its_value(
        (asked, dimensions, category, unknown) in
            (
                law_case(),
                subsequence(spend_dimensions(), 0..=2),
                select(vec!["Advertising", "Organic", ""]),
                any::<bool>(),
            ),
    ) {
        let filter = Filter::equals("attributionCategory", category);
        let filter = if unknown { filter.and(Filter::equals("customerStatus", "New")) } else { filter };
        let query = query(&asked, &dimensions).filter(filter);
        let keeps = |row: &SpendRow| row.attribution_category.as_deref().unwrap_or_default() == category;
        prop_assert_eq!(by_rows(&asked, &query, &dimensions), by_hand(&asked, keeps));
    }

    /// A filter keeps or drops each row of spend, whatever the grouping.
    #[test]
    fn filtered_spend_adds_up_over_its_own_dimensions(
        (asked, dimensions) in (law_case(), subsequence(spend_dimensions(), 1..=4)),
    ) {
        let filter = asked.filter.clone().unwrap_or(Filter::All(Vec::new()));
        let parts = by_rows(&asked, &query(&asked, &dimensions).filter(filter.clone()), &dimensions);
        prop_assert_eq!(parts, by_rows(&asked, &query(&asked, &[]).filter(filter), &[]));
    }
}

/// The only exception to the rule that rows add up: a refund outside of campaigns cancels the spend on a campaign. The
/// row has no `spend`, `cost`, clicks or impressions, so it is left out, and its `campaignSpend` with it.
#[test]
fn spend_that_was_refunded_completely_has_no_row() {
    let row = |campaign: Option<&str>, units: i64| SpendRow {
        account: "acme".to_owned(),
        date: NaiveDate::from_ymd_opt(2025, 1, 20).unwrap(),
        attribution_category: None,
        attribution_channel: None,
        campaign: campaign.map(str::to_owned),
        ad_spend: Some(units * 1_000_000),
        management_fee: None,
        clicks: None,
        impressions: None,
    };
    let tables = Tables { spend: vec![row(Some("x"), 10), row(None, -10)], ..Tables::default() };
    let dataset = dataset(&tables, 1);
    let ask = |fields: &[&str]| {
        let query = EventsQuery::new(fields.iter().copied(), Day::from_number(20_108), Day::from_number(20_108));
        dataset.query(&query).unwrap()
    };
    assert_eq!(ask(&["campaignSpend"]).value(0, "campaignSpend"), Some(Value::Money(10_000_000)));
    assert_eq!(ask(&["account", "campaignSpend"]).len(), 0);
    assert_eq!(ask(&["campaign", "campaignSpend"]).len(), 2);
}
