//! Metrics of money compare accounts of one currency; all others compare accounts of every currency.

use crate::by_hand::{ask, eleven, plumber, spending};
use crate::oracle::is_of_money;
use crate::platform::{Account, Platform, account, platform, request};
use proptest::prelude::*;
use std::sync::Arc;
use trueup_core::benchmarks::{BenchmarkMetric, BenchmarkSelection, Series};
use trueup_testkit::exhaustive::cases;

/// The series, the dimensions and the metrics of a row.
type Figures = (Series, Vec<Arc<str>>, Vec<Option<f64>>);

/// Returns a share, an amount per lead and a return on ad spend.
fn selection() -> BenchmarkSelection {
    BenchmarkSelection::new(
        [BenchmarkMetric::BookRate, BenchmarkMetric::AvgCostPerLead, BenchmarkMetric::RoasClosed],
        [],
    )
}

fn in_currency(currency: Option<&'static str>, account: Account) -> Account {
    Account { currency, ..account }
}

/// Returns eleven accounts in USD with 10 to 20 per lead, eleven in CAD with twice as much, and eleven that state no
/// currency with three times as much.
fn three_currencies() -> Vec<Account> {
    let accounts = |(factor, currency): (usize, Option<&'static str>)| {
        let account = move |number: usize| spending(plumber(10, number), "Search", factor * (100 + 10 * number));
        (0..11).map(move |number| in_currency(currency, account(number)))
    };
    [(1, Some("USD")), (2, Some("CAD")), (3, None)].into_iter().flat_map(accounts).collect()
}

#[test]
fn money_is_compared_within_the_currency_of_the_accounts_in_scope() {
    let of = |scope: &[usize]| ask(&three_currencies(), &selection(), scope, scope, 10).remove(0);
    // `cohortAccounts` counts the accounts of the segment, whatever their currency.
    assert_eq!(of(&[5]), "benchmark 33 [] [Some(0.5), Some(15.0), Some(0.0)]");
    assert_eq!(of(&[16]), "benchmark 33 [] [Some(0.5), Some(30.0), Some(0.0)]");
    assert_eq!(of(&[27]), "benchmark 33 [] [Some(0.5), Some(45.0), Some(0.0)]");
    // The caller may see accounts of another currency that are not in scope.
    let beyond = ask(&three_currencies(), &selection(), &[5], &[5, 16, 27], 10);
    assert_eq!(beyond[0], "benchmark 33 [] [Some(0.5), Some(15.0), Some(0.0)]");
}

#[test]
fn accounts_of_several_currencies_have_no_figures_of_money() {
    for scope in [&[5, 16][..], &[5, 27], &[5, 16, 27]] {
        let answer = ask(&three_currencies(), &selection(), scope, scope, 8);
        assert_eq!(answer.len(), 6);
        assert!(answer.iter().all(|line| line.ends_with(", None, None]")), "{answer:?}");
    }
    let money = BenchmarkSelection::new([BenchmarkMetric::AvgCostPerLead], []);
    assert_eq!(ask(&three_currencies(), &money, &[5, 16], &[5, 16], 8), [""; 0]);
}

#[test]
fn an_account_in_scope_that_no_table_has_does_not_count() {
    let of = |platform: &[Account], scope: &[usize]| ask(platform, &selection(), scope, scope, 10).remove(0);
    assert_eq!(of(&three_currencies(), &[5, 99]), of(&three_currencies(), &[5]));
    // By itself, it states no currency.
    assert_eq!(of(&three_currencies(), &[99]), "benchmark 33 [] [Some(0.5), Some(45.0), Some(0.0)]");
    // One that has events and no description states none either, and one that is described and has no events counts.
    let mut platform = three_currencies();
    platform.push(Account { industry: None, ..platform[0].clone() });
    platform.push(Account { industry: None, currency: None, ..platform[0].clone() });
    platform.push(Account { currency: Some("CAD"), ..Account::default() });
    assert!(of(&platform, &[5, 33]).ends_with("[Some(0.5), Some(15.0), Some(0.0)]"));
    assert!(of(&platform, &[5, 34]).ends_with("[Some(0.5), None, None]"));
    assert!(of(&platform, &[5, 35]).ends_with("[Some(0.5), None, None]"));
}

#[test]
fn each_currency_needs_enough_accounts() {
    let selection = selection();
    // Eleven accounts, of which ten are of others.
    let mut platform = eleven();
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(0.5), Some(15.0), Some(0.0)]");
    platform[0] = in_currency(Some("USD"), platform[0].clone());
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 11 [] [Some(0.5), None, None]");
    // Neither may one account of a currency hold too much of it.
    let mut platform = three_currencies();
    platform[0] = in_currency(Some("USD"), spending(plumber(10, 0), "Search", 440));
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 33 [] [Some(0.5), Some(18.1), Some(0.0)]");
    platform[0] = in_currency(Some("USD"), spending(plumber(10, 0), "Search", 550));
    assert_eq!(ask(&platform, &selection, &[5], &[5], 10)[0], "benchmark 33 [] [Some(0.5), None, None]");
}

proptest! {
    #![proptest_config(cases(150))]

    /// Nothing that accounts of other currencies do changes a figure of money, or whether it is shown.
    #[test]
    fn accounts_of_other_currencies_change_no_figure_of_money(
        platform in platform(),
        request in request(),
        other in proptest::collection::vec(account(), 5..=8),
    ) {
        let is_in_scope = |number: usize| request.scope.contains(&crate::platform::key(number));
        let in_scope = platform.0.iter().enumerate().filter(|(number, _)| is_in_scope(*number));
        let mut currencies: Vec<Option<&str>> = in_scope.map(|(_, account)| account.currency).collect();
        if currencies.is_empty() {
            currencies.push(None);
        }
        let changed = platform.0.iter().enumerate().map(|(number, account)| {
            if currencies.contains(&account.currency) {
                account.clone()
            } else {
                let other = other[number % other.len()].clone();
                Account { industry: account.industry, currency: account.currency, ..other }
            }
        });
        let changed = Platform(changed.collect());
        let metrics = request.selection.metrics().iter().copied();
        let money = metrics.filter(|metric| is_of_money(*metric));
        let selection = BenchmarkSelection::new(money, request.selection.dimensions().iter().copied());
        let filters = request.selection.filters().iter();
        let selection = filters.fold(selection, |all, (dimension, value)| all.filter(*dimension, value.clone()));
        let request = crate::platform::RandomRequest { selection, ..request };
        let figures = |platform: &Platform| -> Vec<Figures> {
            let rows = platform.data().answer(&request.query()).into_iter();
            rows.map(|row| (row.series, row.dimensions, row.metrics)).collect()
        };
        prop_assert_eq!(figures(&platform), figures(&changed));
    }
}
