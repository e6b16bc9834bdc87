//! Amounts of different currencies are never added up.

use crate::run::{dataset, refused, requested, requested_of};
use proptest::prelude::*;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::query::{ComparisonRange, EventsQuery, Filter, WhyQuery};
use trueup_core::{Error, Execution, Partial, QueryError, Value};
use trueup_testkit::cases::{case, definitions_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{AccountRow, Definitions, EventRow, Request, SpendRow, Tables, mixes_currencies};

/// Returns whether the engine refuses a query because of currencies. Panics if it answers without a check.
fn is_refused(dataset: &Dataset, query: &EventsQuery) -> bool {
    let refused = match dataset.query(query) {
        Err(Error::Query(QueryError::MixedCurrencies(_))) => true,
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    };
    assert_eq!(dataset.mixed_currencies(query).unwrap().is_some(), refused);
    refused
}

/// Returns the fields of a request's conditions.
fn tested(query: &EventsQuery, request: &Request) -> Vec<String> {
    // The names of a query are those of its fields, then those of its conditions.
    query.names().into_iter().skip(request.fields.len()).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn queries_are_refused_as_the_semantics_say((tables, request) in case()) {
        let Ok(query) = requested(&request) else { return Ok(()) };
        let dataset = dataset(&tables, 7);
        if dataset.check(&query).is_err() {
            return Ok(());
        }
        let expected = mixes_currencies(&tables, &request, &tested(&query, &request), &Definitions::default());
        prop_assert_eq!(is_refused(&dataset, &query.clone().allow_mixed_currencies(false)), expected);
        prop_assert!(dataset.query(&query).is_ok());
    }

    #[test]
    fn so_are_queries_for_metrics_that_users_define((tables, request, definitions) in definitions_case()) {
        let dataset = crate::run::defined(&tables, &definitions, 7);
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        if dataset.check(&query).is_err() {
            return Ok(());
        }
        let expected = mixes_currencies(&tables, &request, &tested(&query, &request), &definitions);
        prop_assert_eq!(is_refused(&dataset, &query.allow_mixed_currencies(false)), expected);
    }
}

fn account(key: &str, name: Option<&str>, currency: Option<&str>) -> AccountRow {
    AccountRow {
        account_name: name.map(str::to_owned),
        currency: currency.map(str::to_owned),
        ..AccountRow::defaults(key)
    }
}

fn lead(account: &str) -> EventRow {
    EventRow {
        account: account.to_owned(),
        opportunity_id: "c".to_owned(),
        kind: "lead-originated".to_owned(),
        date: Some("2025-01-10".parse().unwrap()),
        date_time: None,
        event_id: None,
        total: Some(2_000_000),
        other: Default::default(),
    }
}

fn spend(account: &str) -> SpendRow {
    SpendRow {
        account: account.to_owned(),
        date: "2025-01-10".parse().unwrap(),
        attribution_category: None,
        attribution_channel: None,
        campaign: None,
        ad_spend: Some(3_000_000),
        management_fee: None,
        clicks: None,
        impressions: None,
    }
}

fn query<'a>(fields: impl IntoIterator<Item = &'a str>) -> EventsQuery {
    EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap())
}

/// Two accounts with events, and a third one of another currency that has none.
fn two_and_one() -> Tables {
    Tables {
        events: vec![lead("a"), lead("b")],
        spend: vec![spend("a")],
        accounts: vec![
            account("a", None, Some("USD")),
            account("b", None, Some("USD")),
            account("c", None, Some("CAD")),
        ],
    }
}

#[test]
fn an_account_in_scope_counts_whether_it_has_rows_or_not() {
    let dataset = dataset(&two_and_one(), 7);
    assert!(is_refused(&dataset, &query(["spend"])));
    assert!(!is_refused(&dataset, &query(["spend"]).accounts(["a", "b"])));
    assert!(!is_refused(&dataset, &query(["leads"])));
    assert!(!is_refused(&dataset, &query(["account", "spend"])));
    let message = refused(&dataset, &query(["leads", "spend"])).to_string();
    assert_eq!(
        message,
        "amounts of different currencies are never added up, and `spend` would add up those of the accounts: CAD, USD; group \
         by `currency` or by `account`, or ask for accounts of one currency"
    );
    // A condition on money, on rows or on events.
    assert!(is_refused(&dataset, &query(["leads"]).filter(Filter::equals("spend", "3"))));
    assert!(is_refused(&dataset, &query(["leads"]).filter(Filter::equals("total", "2"))));
}

#[test]
fn an_account_that_no_table_describes_states_no_currency() {
    for (events, spend) in [(vec![lead("a"), lead("x")], vec![]), (vec![lead("a")], vec![spend("x")])] {
        let tables = Tables { events, spend, accounts: vec![account("a", None, Some("USD"))] };
        let dataset = dataset(&tables, 7);
        assert!(is_refused(&dataset, &query(["spend"])));
        assert!(is_refused(&dataset, &query(["spend"]).accounts(["a", "x"])));
        assert!(!is_refused(&dataset, &query(["spend"]).accounts(["a"])));
        assert!(!is_refused(&dataset, &query(["spend"]).accounts(["a", "nobody"])));
        let mixed = dataset.mixed_currencies(&query(["spend"])).unwrap().unwrap();
        assert_eq!(mixed.names(), "none, USD");
    }
}

#[test]
fn a_name_that_accounts_share_does_not_tell_currencies_apart() {
    let tables = |names: [Option<&str>; 2], accounts: usize| Tables {
        events: vec![lead("a"), lead("b")],
        spend: Vec::new(),
        accounts: vec![account("a", names[0], Some("USD")), account("b", names[1], Some("CAD"))][..accounts].to_vec(),
    };
    for (names, accounts, expected) in [
        ([Some("North"), Some("North")], 2, true),
        ([Some("North"), Some("South")], 2, false),
        // The other account has no description, and its key as its name.
        ([Some("b"), None], 1, true),
        ([Some("North"), None], 1, false),
    ] {
        let dataset = dataset(&tables(names, accounts), 7);
        assert_eq!(is_refused(&dataset, &query(["accountName", "total"])), expected, "{names:?}");
    }
}

#[test]
fn totals_and_effects_do_not_add_currencies_up_either() {
    let dataset = dataset(&two_and_one(), 7);
    let by_account = query(["account", "avgCostPerLead", "bookRate"]);
    let message = refused(&dataset, &by_account.clone().totals()).to_string();
    assert!(message.contains("CAD, USD; leave the totals out"), "{message}");
    assert!(!is_refused(&dataset, &query(["account", "leads"]).totals()));
    let (start, end) = ("2024-12-01".parse().unwrap(), "2025-01-10".parse().unwrap());
    let compared = by_account.compare(ComparisonRange::Range(trueup_core::query::DateRange { start, end }));
    let effect =
        |query: &EventsQuery, column: &str| dataset.query(query).unwrap().value(0, column).and_then(Value::as_f64);
    assert_eq!(effect(&compared, "avgCostPerLead.rateEffect"), None);
    assert!(effect(&compared, "bookRate.rateEffect").is_some());
    let of_one = compared.clone().accounts(["a", "b"]);
    assert!(effect(&of_one, "avgCostPerLead.rateEffect").is_some());
}

#[test]
fn every_way_to_ask_is_refused() {
    let dataset = dataset(&two_and_one(), 7);
    let is_mixed = |error: Error| matches!(error, Error::Query(QueryError::MixedCurrencies(_)));
    let query = query(["spend"]);
    assert!(is_mixed(dataset.explain(&query).unwrap_err()));
    assert!(is_mixed(dataset.analyze(&query, Execution::default()).unwrap_err()));
    assert!(is_mixed(dataset.why(&WhyQuery::new(query.clone()), Execution::default()).unwrap_err()));
    let one = std::num::NonZeroUsize::MIN;
    assert!(is_mixed(dataset.plan_splits(&query, one).unwrap_err()));
    // A query for `total` alone may be one of a reader of events, which adds nothing up.
    let totals = self::query(["total"]);
    let split = dataset.plan_splits(&totals, one).unwrap().remove(0);
    let partial = dataset.run_split(&totals, &split, &Execution::default()).unwrap();
    let partial = Partial::from_bytes(&partial.to_bytes().unwrap()).unwrap();
    assert!(is_mixed(partial.finish(&dataset, &totals, &Execution::default()).unwrap_err()));
    let mut events = trueup_core::EventReader::new(&dataset, &totals, &split, Execution::default()).unwrap();
    assert_eq!(events.next().unwrap().unwrap().num_rows(), 2);
}

#[test]
fn a_dataset_without_currencies_has_one() {
    let tables = Tables { events: vec![lead("a"), lead("x")], ..Tables::default() };
    assert!(!is_refused(&dataset(&tables, 7), &query(["spend", "total"])));
    assert!(!is_refused(&Dataset::from_tables(&CanonicalTables::default()).unwrap(), &query(["spend"])));
}
