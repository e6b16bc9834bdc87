//! No figure tells of a single account.

use crate::by_hand::{ask, plumber, spending};
use crate::oracle;
use crate::platform::{Account, Platform, account, platform};
use crate::questions::asked;
use proptest::prelude::*;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkSelection};

fn of(industry: Option<&'static str>, account: Account) -> Account {
    Account { industry, ..account }
}

/// Eleven accounts of twelve customers, of whom the first account has booked `first`, and the others three each.
fn booked(first: usize) -> Vec<Account> {
    (0..11).map(|number| plumber(12, if number == 0 { first } else { 3 })).collect()
}

#[test]
fn an_account_of_others_may_hold_a_quarter_of_their_numerator_and_no_more() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    // Nine others hold three each.
    assert_eq!(ask(&booked(9), &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(0.295)]");
    assert_eq!(ask(&booked(10), &selection, &[5], &[5], 10), [""; 0]);
}

#[test]
fn nor_of_their_denominator() {
    let platform =
        |first| -> Vec<Account> { (0..11).map(|number| plumber(if number == 0 { first } else { 12 }, 3)).collect() };
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    assert_eq!(ask(&platform(36), &selection, &[5], &[5], 10).len(), 6);
    assert_eq!(ask(&platform(37), &selection, &[5], &[5], 10), [""; 0]);
}

#[test]
fn what_the_caller_holds_hides_nobody_and_nothing() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    // The caller's own share does not count: in scope, or in reach alone.
    assert_eq!(ask(&booked(12), &selection, &[0], &[0], 10)[0], "benchmark 11 [] [Some(0.318)]");
    assert_eq!(ask(&booked(12), &selection, &[5], &[0, 5], 9)[0], "benchmark 11 [] [Some(0.318)]");
    // It would make the first account's part of the whole small, but the caller can subtract it.
    let mut platform = booked(10);
    platform.extend((0..3).map(|_| plumber(500, 400)));
    assert_eq!(ask(&platform, &selection, &[11], &[11, 12, 13], 10).len(), 6);
    platform[0] = plumber(12, 11);
    assert_eq!(ask(&platform, &selection, &[11], &[11, 12, 13], 10), [""; 0]);
}

#[test]
fn an_account_without_a_value_may_hold_a_quarter_of_what_is_pooled_of_others() {
    // Ten accounts book one customer each; an eleventh of others spends and books nothing.
    let platform = |spent| {
        let mut platform: Vec<Account> = (0..10).map(|_| spending(plumber(2, 1), "Search", 100)).collect();
        platform.push(spending(plumber(2, 0), "Search", spent));
        platform
    };
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerBookedCustomer], []);
    assert_eq!(ask(&platform(300), &selection, &[0], &[0], 9).len(), 6);
    assert_eq!(ask(&platform(301), &selection, &[0], &[0], 9), [""; 0]);
    // Nor does it make the parts of the others smaller: one of them holds more than a quarter of what those with a value hold.
    let mut platform = platform(300);
    platform[1] = spending(plumber(2, 1), "Search", 268);
    assert_eq!(ask(&platform, &selection, &[0], &[0], 9), [""; 0]);
}

#[test]
fn where_debits_and_credits_cancel_out_a_part_may_be_more_than_the_whole() {
    let platform: Vec<Account> = (0..12)
        .map(|number| {
            let mut account = spending(plumber(4, 2), "Search", 100);
            if number % 2 == 1 {
                account.spend[0].amount = "-99".to_owned();
            }
            account
        })
        .collect();
    assert_eq!(
        ask(&platform, &BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], []), &[5], &[5], 10),
        [""; 0]
    );
}

#[test]
fn a_metric_is_withheld_in_every_series_and_others_are_shown() {
    let mut platform = booked(3);
    platform[0] = spending(platform[0].clone(), "Search", 100);
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead, BenchmarkMetric::BookRate], []);
    let answer = ask(&platform, &selection, &[5], &[5], 10);
    assert_eq!(answer.len(), 6);
    assert!(answer.iter().all(|line| line.ends_with("11 [] [None, Some(0.25)]")), "{answer:?}");
}

#[test]
fn a_segment_without_any_metric_is_withheld() {
    let mut platform = booked(3);
    platform[0].customers[0].values[2] = "Rare";
    platform[0].customers[0].last_values[2] = "Rare";
    let answer = ask(
        &platform,
        &BenchmarkSelection::new([BenchmarkMetric::BookRate], [BenchmarkDimension::CustomerStatus]),
        &[5],
        &[5],
        10,
    );
    assert_eq!(answer.len(), 12);
    assert!(!answer.iter().any(|line| line.contains("Rare")), "{answer:?}");
}

/// Eleven accounts of one industry, three of another, and three without one.
fn mixed() -> Vec<Account> {
    let mut platform = booked(3);
    platform.extend((0..3).map(|_| of(Some("heating"), plumber(12, 6))));
    platform.extend((0..3).map(|_| of(None, plumber(12, 9))));
    platform
}

#[test]
fn an_industry_that_is_too_small_takes_no_part() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    let plumbing = ask(&mixed(), &selection, &[5], &[5], 10);
    assert_eq!(plumbing[0], "benchmark 11 [] [Some(0.25)]");
    // Otherwise the difference of two answers would tell of few accounts.
    assert_eq!(ask(&mixed(), &selection, &[5, 11], &[5, 11], 10), plumbing);
    assert_eq!(ask(&mixed(), &selection, &[11], &[5, 11], 10), [""; 0]);
    // The whole platform is asked about; accounts without an industry are together as if they had one.
    assert_eq!(ask(&mixed(), &selection, &[14], &[5, 14], 10), plumbing);
    assert_eq!(ask(&mixed(), &selection, &[99], &[5, 99], 10), plumbing);
    let mut platform = mixed();
    platform.extend((0..9).map(|_| of(None, plumber(12, 9))));
    assert_eq!(ask(&platform, &selection, &[14], &[5, 14], 10)[0], "benchmark 23 [] [Some(0.511)]");
}

#[test]
fn an_industry_that_is_too_small_in_one_segment_takes_no_part_there() {
    let mut platform = booked(3);
    platform.extend((0..12).map(|number| {
        let mut account = of(Some("heating"), plumber(12, 6));
        if number >= 4 {
            account.customers.iter_mut().for_each(|customer| customer.last_values[3] = "Install");
        }
        account
    }));
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], [BenchmarkDimension::NormalizedBusinessUnit]);
    let answer = ask(&platform, &selection, &[5, 11], &[5, 11], 7);
    assert_eq!(answer[0], "benchmark 8 [\"Install\"] [Some(0.5)]");
    assert_eq!(answer[6], "benchmark 11 [\"Repair\"] [Some(0.25)]");
}

#[test]
fn an_industry_with_too_few_values_takes_no_part_in_the_metric() {
    let spend = |account, amount| spending(account, "Search", amount);
    let mut platform: Vec<Account> = booked(3).into_iter().map(|account| spend(account, 12)).collect();
    // Twelve accounts of another industry, all with customers, of which only two have booked any.
    platform.extend((0..12).map(|number| of(Some("heating"), spend(plumber(12, if number < 2 { 3 } else { 0 }), 12))));
    let selection =
        BenchmarkSelection::new([BenchmarkMetric::AvgCostPerBookedCustomer, BenchmarkMetric::AvgCostPerLead], []);
    let answer = ask(&platform, &selection, &[5, 22], &[5, 22], 10);
    assert_eq!(answer[0], "benchmark 23 [] [Some(4.0), Some(1.0)]");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Whatever the caller's own accounts hold, behind each figure there are `k` accounts of others: counted where the caller's
    /// own hold nothing at all.
    #[test]
    fn own_data_reveals_nothing(
        platform in platform(),
        asked in asked(),
        own in proptest::collection::vec(account(), 5..=8),
    ) {
        let is_own = |number: usize| asked.reach.contains(&crate::platform::key(number));
        let industry_of = |number: usize| platform.0[number].industry;
        let with_own = |own: &dyn Fn(usize) -> Account| {
            let account = |(number, account): (usize, &Account)| {
                if is_own(number) { of(industry_of(number), own(number)) } else { account.clone() }
            };
            Platform(platform.0.iter().enumerate().map(account).collect())
        };
        let bare = with_own(&|_| Account::default()).dataset();
        let others = oracle::members(&bare, &asked);
        let filled = with_own(&|number| own[number % own.len()].clone());
        for row in filled.figures().answer(&asked.question()) {
            let segment: Vec<String> = row.dimensions.iter().map(|text| text.to_string()).collect();
            for (metric, value) in asked.selection.metrics().iter().zip(&row.metrics) {
                let members = others.get(&segment).map_or(&[][..], |members| members);
                let values = members.iter().filter(|member| member.outside && member.has_value(*metric)).count();
                prop_assert!(value.is_none() || values >= asked.k, "{metric} of {segment:?} from {values}");
            }
        }
    }

    /// Which figures are shown depends on what others hold, and not on what the caller holds.
    #[test]
    fn own_data_neither_shows_nor_hides(
        platform in platform(),
        asked in asked(),
        own in proptest::collection::vec(account(), 5..=8),
    ) {
        // A pooled spend of 0 has no ratio, whoever holds it.
        let metrics: Vec<BenchmarkMetric> = asked.selection.metrics().iter().copied()
            .filter(|metric| !matches!(metric, BenchmarkMetric::RoasPotential | BenchmarkMetric::RoasClosed)).collect();
        let selection = BenchmarkSelection::new(metrics, asked.selection.dimensions().iter().copied());
        let selection = asked.selection.filters().iter().fold(selection, |all, (dimension, value)| all.filter(*dimension, value.clone()));
        let asked = crate::questions::Asked { selection, ..asked };
        let changed = platform.0.iter().enumerate().map(|(number, account)| {
            let is_own = asked.reach.contains(&crate::platform::key(number));
            if is_own { of(account.industry, own[number % own.len()].clone()) } else { account.clone() }
        });
        let changed = Platform(changed.collect());
        let shown = |platform: &Platform| -> Vec<(Vec<std::sync::Arc<str>>, Vec<bool>)> {
            let rows = platform.figures().answer(&asked.question());
            rows.iter().map(|row| (row.dimensions.clone(), row.metrics.iter().map(Option::is_some).collect())).collect()
        };
        prop_assert_eq!(shown(&platform), shown(&changed));
    }

    /// Accounts of industries that nobody in scope is in change nothing.
    #[test]
    fn other_industries_change_nothing(
        platform in platform(),
        asked in asked(),
        other in proptest::collection::vec(account(), 5..=8),
    ) {
        let of_key = |key: &String| platform.0.iter().enumerate().find(|(number, _)| crate::platform::key(*number) == *key);
        let industries: Vec<Option<&str>> =
            asked.scope.iter().map(|key| of_key(key).and_then(|(_, account)| account.industry)).collect();
        prop_assume!(!industries.contains(&None));
        let changed = platform.0.iter().enumerate().map(|(number, account)| {
            if industries.contains(&account.industry) {
                account.clone()
            } else {
                of(account.industry, other[number % other.len()].clone())
            }
        });
        let changed = Platform(changed.collect());
        prop_assert_eq!(platform.figures().answer(&asked.question()), changed.figures().answer(&asked.question()));
    }
}
