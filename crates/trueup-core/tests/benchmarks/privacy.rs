//! No answer reveals a single account.

use crate::by_hand::{ask, plumber, spending};
use crate::oracle;
use crate::platform::{Account, Customer, Platform, account, platform, request};
use proptest::prelude::*;
use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkSelection};
use trueup_testkit::exhaustive::cases;

/// Returns an account with the industry and the currency of another.
fn of_kind(kind: &Account, account: Account) -> Account {
    Account { industry: kind.industry, currency: kind.currency, ..account }
}

/// Returns the account, moved to an industry.
fn in_industry(industry: Option<&'static str>, account: Account) -> Account {
    Account { industry, ..account }
}

/// Returns eleven accounts of twelve customers each. The first account has `first` booked customers, each other one
/// has three.
fn booked(first: usize) -> Vec<Account> {
    (0..11).map(|number| plumber(12, if number == 0 { first } else { 3 })).collect()
}

#[test]
fn an_account_of_others_may_have_at_most_a_quarter_of_their_numerator() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    // The caller owns one account. Of the ten others, nine have three booked customers each.
    assert_eq!(ask(&booked(9), &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(0.295)]");
    assert_eq!(ask(&booked(10), &selection, &[5], &[5], 10), [""; 0]);
}

#[test]
fn an_account_of_others_may_have_at_most_a_quarter_of_their_denominator() {
    let platform =
        |first| -> Vec<Account> { (0..11).map(|number| plumber(if number == 0 { first } else { 12 }, 3)).collect() };
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    assert_eq!(ask(&platform(36), &selection, &[5], &[5], 10).len(), 6);
    assert_eq!(ask(&platform(37), &selection, &[5], &[5], 10), [""; 0]);
}

#[test]
fn the_callers_own_accounts_neither_protect_nor_hide() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    // The share of the caller's own accounts does not count, whether they are in scope or only in reach.
    assert_eq!(ask(&booked(12), &selection, &[0], &[0], 10)[0], "benchmark 11 [] [Some(0.318)]");
    assert_eq!(ask(&booked(12), &selection, &[5], &[0, 5], 9)[0], "benchmark 11 [] [Some(0.318)]");
    // The caller's accounts would make the first account's share of the whole small, but the caller can subtract them.
    let mut platform = booked(10);
    platform.extend((0..3).map(|_| plumber(500, 400)));
    assert_eq!(ask(&platform, &selection, &[11], &[11, 12, 13], 10).len(), 6);
    platform[0] = plumber(12, 11);
    assert_eq!(ask(&platform, &selection, &[11], &[11, 12, 13], 10), [""; 0]);
}

#[test]
fn an_account_without_a_value_may_have_at_most_a_quarter_of_the_pool_of_others() {
    // Ten accounts book one customer each. The eleventh account spends but books nothing.
    let platform = |spent| {
        let mut platform: Vec<Account> = (0..10).map(|_| spending(plumber(2, 1), "Search", 100)).collect();
        platform.push(spending(plumber(2, 0), "Search", spent));
        platform
    };
    let selection = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerBookedCustomer], []);
    assert_eq!(ask(&platform(300), &selection, &[0], &[0], 9).len(), 6);
    assert_eq!(ask(&platform(301), &selection, &[0], &[0], 9), [""; 0]);
    // It does not dilute the shares of the others: one of them has more than a quarter of the sum over the accounts
    // with a value.
    let mut platform = platform(300);
    platform[1] = spending(plumber(2, 1), "Search", 268);
    assert_eq!(ask(&platform, &selection, &[0], &[0], 9), [""; 0]);
}

#[test]
fn a_part_may_exceed_the_sum_where_debits_and_credits_cancel_out() {
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
fn one_metric_is_withheld_in_every_series_while_others_are_shown() {
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
    // `New` is withheld, too: without it and `Old`, only the rare customer would be left of the total.
    assert_eq!(answer.len(), 6);
    assert!(answer.iter().all(|line| line.contains("Old")), "{answer:?}");
}

/// Eleven accounts of one industry, three of another, and three without one.
fn mixed() -> Vec<Account> {
    let mut platform = booked(3);
    platform.extend((0..3).map(|_| in_industry(Some("heating"), plumber(12, 6))));
    platform.extend((0..3).map(|_| in_industry(None, plumber(12, 9))));
    platform
}

#[test]
fn an_industry_that_is_too_small_does_not_participate() {
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    let plumbing = ask(&mixed(), &selection, &[5], &[5], 10);
    assert_eq!(plumbing[0], "benchmark 11 [] [Some(0.25)]");
    // Otherwise the difference of two answers would reveal few accounts.
    assert_eq!(ask(&mixed(), &selection, &[5, 11], &[5, 11], 10), plumbing);
    assert_eq!(ask(&mixed(), &selection, &[11], &[5, 11], 10), [""; 0]);
    // These requests compare the whole platform. The accounts without an industry count as one industry.
    assert_eq!(ask(&mixed(), &selection, &[14], &[5, 14], 10), plumbing);
    assert_eq!(ask(&mixed(), &selection, &[99], &[5, 99], 10), plumbing);
    let mut platform = mixed();
    platform.extend((0..9).map(|_| in_industry(None, plumber(12, 9))));
    assert_eq!(ask(&platform, &selection, &[14], &[5, 14], 10)[0], "benchmark 23 [] [Some(0.511)]");
}

#[test]
fn an_industry_that_is_too_small_in_a_segment_does_not_participate_there() {
    let mut platform = booked(3);
    platform.extend((0..12).map(|number| {
        let mut account = in_industry(Some("heating"), plumber(12, 6));
        if number >= 4 {
            account.customers.iter_mut().for_each(|customer| customer.last_values[3] = "Install");
        }
        account
    }));
    let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], [BenchmarkDimension::NormalizedBusinessUnit]);
    let answer = ask(&platform, &selection, &[5, 11], &[5, 11], 7);
    // `Install` is withheld, although eight accounts have it: without it and `Repair`, what is left of the total would
    // be the repairs of the four accounts that are not pooled there.
    assert_eq!((answer.len(), &*answer[0]), (6, "benchmark 11 [\"Repair\"] [Some(0.25)]"));
}

#[test]
fn an_industry_with_too_few_values_does_not_participate_in_the_metric() {
    let spend = |account, amount| spending(account, "Search", amount);
    let mut platform: Vec<Account> = booked(3).into_iter().map(|account| spend(account, 12)).collect();
    // Twelve accounts of another industry, all with customers, but only two of them have a booked customer.
    platform.extend(
        (0..12).map(|number| in_industry(Some("heating"), spend(plumber(12, if number < 2 { 3 } else { 0 }), 12))),
    );
    let selection =
        BenchmarkSelection::new([BenchmarkMetric::AvgCostPerBookedCustomer, BenchmarkMetric::AvgCostPerLead], []);
    let answer = ask(&platform, &selection, &[5, 22], &[5, 22], 10);
    assert_eq!(answer[0], "benchmark 23 [] [Some(4.0), Some(1.0)]");
}

/// Fourteen accounts, of which one alone has customers with the status `VIP`: 40 leads of each account are of the other
/// statuses, and `vip` of the one.
fn with_a_rare_status(vip: usize) -> Vec<Account> {
    (0..14)
        .map(|number| {
            let mut account = spending(plumber(40, 10 + number), "Search", 1_000 + 10 * number);
            let closes = |customer: &mut Customer| {
                if customer.stages.len() > 1 {
                    (customer.stages, customer.total) =
                        (&["lead-originated", "booked", "sold", "closed"], "500".to_owned());
                }
            };
            if number == 5 {
                account.customers.extend((0..vip).map(|at| {
                    let mut customer = plumber(1, usize::from(at * 10 < vip * 7)).customers.remove(0);
                    (customer.values[2], customer.last_values[2]) = ("VIP", "VIP");
                    customer
                }));
            }
            account.customers.iter_mut().for_each(closes);
            account
        })
        .collect()
}

/// The figures of the one account would be those of the total minus those of all other segments.
#[test]
fn a_figure_of_one_account_is_not_what_published_figures_leave() {
    let metrics = BenchmarkMetric::ALL;
    for vip in [1, 20, 60] {
        let platform = with_a_rare_status(vip);
        let shown = |dimensions: &[BenchmarkDimension]| -> Vec<String> {
            let selection = |metric| BenchmarkSelection::new([metric], dimensions.iter().copied());
            let of_metric = |metric: BenchmarkMetric| {
                let rows = ask(&platform, &selection(metric), &[0], &[0], 10);
                let pooled = rows.into_iter().filter(|row| row.starts_with("benchmark") && row.contains("Some"));
                pooled.map(move |row| format!("{metric} {row}"))
            };
            metrics.into_iter().flat_map(of_metric).collect()
        };
        let (total, by_status) = (shown(&[]), shown(&[BenchmarkDimension::CustomerStatus]));
        assert!(total.iter().any(|row| row.starts_with("bookRate ")), "{total:?}");
        for metric in metrics {
            let of_metric = format!("{metric} ");
            let segments: Vec<&String> = by_status.iter().filter(|row| row.starts_with(&of_metric)).collect();
            assert!(segments.iter().all(|row| !row.contains("VIP")), "{segments:?}");
            // Of `New` and `Old` together, nothing but the one account would be left.
            assert!(segments.len() < 2, "{segments:?}");
        }
        // Without the rare status, both are shown.
        let common = ask(
            &with_a_rare_status(0),
            &BenchmarkSelection::new([BenchmarkMetric::BookRate], [BenchmarkDimension::CustomerStatus]),
            &[0],
            &[0],
            10,
        );
        assert_eq!(common.iter().filter(|row| row.starts_with("benchmark")).count(), 2, "{common:?}");
        // A filter selects the same segments.
        for status in ["New", "Old"] {
            let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
            let filtered =
                ask(&platform, &selection.filter(BenchmarkDimension::CustomerStatus, status), &[0], &[0], 10);
            let is_shown = by_status.iter().any(|row| row.starts_with("bookRate ") && row.contains(status));
            assert_eq!(!filtered.is_empty(), is_shown, "{status}");
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    /// Every shown value has at least `k` accounts of others, counted where the caller's own accounts are empty.
    #[test]
    fn own_data_reveals_nothing(
        platform in platform(),
        request in request(),
        own in proptest::collection::vec(account(), 5..=8),
    ) {
        let is_own = |number: usize| request.reach.contains(&crate::platform::key(number));
        let with_own = |own: &dyn Fn(usize) -> Account| {
            let account = |(number, account): (usize, &Account)| {
                if is_own(number) { of_kind(account, own(number)) } else { account.clone() }
            };
            Platform(platform.0.iter().enumerate().map(account).collect())
        };
        let bare = with_own(&|_| Account::default()).dataset();
        let others = oracle::members(&bare, &request);
        let filled = with_own(&|number| own[number % own.len()].clone());
        for row in filled.data().answer(&request.query()) {
            let segment: Vec<String> = row.dimensions.iter().map(|text| text.to_string()).collect();
            for (metric, value) in request.selection.metrics().iter().zip(&row.metrics) {
                let members = others.get(&segment).into_iter().flat_map(|group| group.values());
                let has_value =
                    |member: &&oracle::Member| member.is_compared(*metric) && member.has_value(*metric);
                let values = members.filter(|member| member.is_other).filter(has_value).count();
                prop_assert!(value.is_none() || values >= request.k, "{metric} of {segment:?} from {values}");
            }
        }
    }

    /// The accounts of others decide which values are shown; the caller's own accounts do not.
    #[test]
    fn own_data_does_not_decide_what_is_shown(
        platform in platform(),
        request in request(),
        own in proptest::collection::vec(account(), 5..=8),
    ) {
        // A pooled spend of 0 has no ratio, whosever it is.
        let metrics: Vec<BenchmarkMetric> = request.selection.metrics().iter().copied()
            .filter(|metric| !matches!(metric, BenchmarkMetric::RoasPotential | BenchmarkMetric::RoasClosed)).collect();
        let selection = BenchmarkSelection::new(metrics, request.selection.dimensions().iter().copied());
        let selection = request.selection.filters().iter().fold(selection, |all, (dimension, value)| all.filter(*dimension, value.clone()));
        let request = crate::platform::RandomRequest { selection, ..request };
        let changed = platform.0.iter().enumerate().map(|(number, account)| {
            let is_own = request.reach.contains(&crate::platform::key(number));
            if is_own { of_kind(account, own[number % own.len()].clone()) } else { account.clone() }
        });
        let changed = Platform(changed.collect());
        let shown = |platform: &Platform| -> Vec<(Vec<std::sync::Arc<str>>, Vec<bool>)> {
            let rows = platform.data().answer(&request.query());
            rows.iter().map(|row| (row.dimensions.clone(), row.metrics.iter().map(Option::is_some).collect())).collect()
        };
        prop_assert_eq!(shown(&platform), shown(&changed));
    }

    /// Accounts in industries without an account in scope change nothing.
    #[test]
    fn other_industries_change_nothing(
        platform in platform(),
        request in request(),
        other in proptest::collection::vec(account(), 5..=8),
    ) {
        let of_key = |key: &String| platform.0.iter().enumerate().find(|(number, _)| crate::platform::key(*number) == *key);
        let industries: Vec<Option<&str>> =
            request.scope.iter().map(|key| of_key(key).and_then(|(_, account)| account.industry)).collect();
        prop_assume!(!industries.contains(&None));
        let changed = platform.0.iter().enumerate().map(|(number, account)| {
            if industries.contains(&account.industry) {
                account.clone()
            } else {
                of_kind(account, other[number % other.len()].clone())
            }
        });
        let changed = Platform(changed.collect());
        prop_assert_eq!(platform.data().answer(&request.query()), changed.data().answer(&request.query()));
    }
}
