//! Small platforms whose values can be checked on paper.

use crate::oracle::lines;
use crate::platform::{Account, Customer, Platform, Spend, key, month};
use std::collections::BTreeSet;
use trueup_core::benchmarks::{
    BenchmarkData, BenchmarkDimension, BenchmarkMetric, BenchmarkQuery, BenchmarkSelection, Privacy,
};
use trueup_core::{Error, Execution, Interruption};

/// Returns an account with `customers` customers: the first `booked` of them are booked, and every second has the
/// status `Old`.
pub(crate) fn plumber(customers: usize, booked: usize) -> Account {
    let customer = |number| {
        let status = if number % 2 == 0 { "New" } else { "Old" };
        let values = ["Advertising", "Search", status, "Repair"];
        let stages: &[&str] = if number < booked { &["lead-originated", "booked"] } else { &["lead-originated"] };
        Customer { stages, day: 3, values, last_values: values, total: String::new() }
    };
    let customers = (0..customers).map(customer).collect();
    Account { industry: Some("plumbing"), currency: None, customers, spend: Vec::new() }
}

pub(crate) fn spending(mut account: Account, channel: &'static str, amount: usize) -> Account {
    account.spend.push(Spend { day: 4, category: "Advertising", channel, amount: amount.to_string() });
    account
}

/// Returns the answer to a caller who can see the accounts `reach` and requests the accounts `scope`, with values of at
/// least `k` accounts of others.
pub(crate) fn ask(
    platform: &[Account],
    selection: &BenchmarkSelection,
    scope: &[usize],
    reach: &[usize],
    k: usize,
) -> Vec<String> {
    let keys = |numbers: &[usize]| -> BTreeSet<String> { numbers.iter().map(|number| key(*number)).collect() };
    let (scope, reach) = (keys(scope), keys(reach));
    let query = BenchmarkQuery { selection, scope: &scope, reach: &reach, privacy: Privacy::of_accounts(k) };
    lines(&Platform(platform.to_vec()).data().answer(&query))
}

/// Returns eleven accounts of ten customers each, with 0 to 10 booked customers.
pub(crate) fn eleven() -> Vec<Account> {
    (0..11).map(|number| spending(plumber(10, number), "Search", 100 + 10 * number)).collect()
}

#[test]
fn the_pooled_ratio_and_percentiles_of_book_rates() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    assert_eq!(
        ask(&eleven(), &selection, &[5], &[5], 10),
        [
            "benchmark 11 [] [Some(0.5)]",
            "p10 11 [] [Some(0.1)]",
            "p25 11 [] [Some(0.25)]",
            "p50 11 [] [Some(0.5)]",
            "p75 11 [] [Some(0.75)]",
            "p90 11 [] [Some(0.9)]"
        ]
    );
}

#[test]
fn ten_accounts_of_others_are_enough_but_nine_are_not() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    assert_eq!(ask(&eleven(), &selection, &[5], &[5], 10).len(), 6);
    assert_eq!(ask(&eleven(), &selection, &[5], &[5, 7], 10), [""; 0]);
    assert_eq!(ask(&eleven(), &selection, &[5, 7], &[], 10), [""; 0]);
    assert_eq!(ask(&eleven(), &selection, &[5], &[5, 7], 9).len(), 6);
    // No setting goes below five.
    assert_eq!(ask(&eleven(), &selection, &[0], &[1, 2, 3, 4, 5], 0).len(), 6);
    assert_eq!(ask(&eleven(), &selection, &[0], &[1, 2, 3, 4, 5, 6], 0), [""; 0]);
}

#[test]
fn spend_is_not_split_by_a_dimension_that_it_does_not_have() {
    // Spend on a channel without customers is part of the whole, but of no row by channel. It is all that is left of
    // the whole, so that many must have it.
    let platform: Vec<Account> = eleven().into_iter().map(|account| spending(account, "Social", 10)).collect();
    let alone = [spending(eleven()[0].clone(), "Social", 110)];
    let alone: Vec<Account> = alone.into_iter().chain(eleven().into_iter().skip(1)).collect();
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], []);
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(16.0)]");
    let by_channel =
        BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], [BenchmarkDimension::AttributionChannel]);
    let of_search = ask(&platform, &by_channel, &[5], &[5], 10);
    assert_eq!(ask(&alone, &by_channel, &[5], &[5], 10), [""; 0]);
    assert_eq!((of_search.len(), &*of_search[0]), (6, "benchmark 11 [\"Search\"] [Some(15.0)]"));
    let dimensions = [BenchmarkDimension::CustomerStatus, BenchmarkDimension::AttributionChannel];
    let by_both =
        ask(&platform, &BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], dimensions), &[5], &[5], 10);
    let figures = ["benchmark", "p10", "p25", "p50", "p75", "p90"].into_iter().zip([30, 22, 25, 30, 35, 38]);
    let expected = ["New", "Old"].into_iter().flat_map(|status| {
        figures.clone().map(move |(series, cost)| format!("{series} 11 [\"{status}\", \"Search\"] [Some({cost}.0)]"))
    });
    assert_eq!(by_both, expected.collect::<Vec<_>>());
}

#[test]
fn a_filter_works_as_in_a_query_of_events() {
    let all = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], []);
    let cost = |selection: BenchmarkSelection| ask(&eleven(), &selection, &[5], &[5], 10).first().cloned();
    let pooled = |cost: &str| Some(format!("benchmark 11 [] [Some({cost})]"));
    assert_eq!(cost(all.clone()), pooled("15.0"));
    assert_eq!(cost(all.clone().filter(BenchmarkDimension::AttributionChannel, "Search")), pooled("15.0"));
    assert_eq!(cost(all.clone().filter(BenchmarkDimension::CustomerStatus, "New")), pooled("30.0"));
    assert_eq!(cost(all.clone().filter(BenchmarkDimension::AttributionChannel, "Social")), None);
    assert_eq!(cost(all.filter(BenchmarkDimension::NormalizedBusinessUnit, "")), None);
}

#[test]
fn accounts_without_customers_in_the_segment_are_not_compared() {
    let mut platform = eleven();
    platform
        .extend([Account { industry: Some("plumbing"), ..Account::default() }, spending(plumber(0, 0), "Search", 9)]);
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], []);
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(15.0)]");
    // A request for an account without customers compares the others.
    assert_eq!(ask(&platform, &selection, &[11], &[11], 10).len(), 6);
}

#[test]
fn an_account_without_a_denominator_is_pooled_but_not_ranked() {
    // One booking in each of ten accounts, and an eleventh account that spends and books nothing.
    let mut platform: Vec<Account> = (0..10).map(|_| spending(plumber(2, 1), "Search", 100)).collect();
    platform.push(spending(plumber(2, 0), "Search", 250));
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerBookedCustomer], []);
    let answer = ask(&platform, &selection, &[0], &[0], 9);
    assert_eq!(answer[0], "benchmark 11 [] [Some(125.0)]");
    assert!(answer[1..].iter().all(|line| line.ends_with("11 [] [Some(100.0)]")), "{answer:?}");
    // The eleventh account has no value, so that it does not count towards the minimum of accounts.
    assert_eq!(ask(&platform, &selection, &[0], &[0], 10), [""; 0]);
}

#[test]
fn an_empty_request_or_platform_has_no_rows() {
    assert_eq!(ask(&eleven(), &BenchmarkSelection::default(), &[], &[5], 10), [""; 0]);
    assert_eq!(
        ask(&eleven(), &BenchmarkSelection::new([], [BenchmarkDimension::CustomerStatus]), &[5], &[5], 10),
        [""; 0]
    );
    assert_eq!(ask(&[], &BenchmarkSelection::default(), &[5], &[5], 10), [""; 0]);
}

#[test]
fn gathering_can_be_interrupted_and_ignores_the_row_limit() {
    let dataset = Platform(eleven()).dataset();
    let limited = Execution { max_rows: Some(1), ..Execution::default() };
    assert_eq!(BenchmarkData::gather(&dataset, month(), &limited).unwrap().range(), month());
    limited.interrupt.cancel();
    let ended = BenchmarkData::gather(&dataset, month(), &limited);
    assert!(matches!(ended, Err(Error::Interrupted(Interruption::Canceled))));
}
