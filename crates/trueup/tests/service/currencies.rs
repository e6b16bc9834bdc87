//! The service adds amounts up whatever their currency, as `API.md` has it, and a header names the currencies.

use crate::platform::{PLUMBERS, Platform, crowded};
use std::fs;
use std::sync::Arc;
use trueup::Dataset;

const HEADER: &str = "Trueup-Currencies";

/// Returns the small platform. North is in US dollars, south in Canadian ones, and the others state no currency.
fn platform() -> Platform {
    with_accounts(Platform::new(), "account,timeZone,currency\nnorth,America/New_York,USD\nsouth,,CAD\n")
}

/// Ingests a table of accounts.
fn with_accounts(platform: Platform, table: &str) -> Platform {
    let accounts = platform.dataset().with_file_name("currencies.csv");
    fs::write(&accounts, table).unwrap();
    trueup_ingest::Ingest::into(platform.dataset()).accounts(&accounts).run().unwrap();
    platform.service.replace_dataset(Arc::new(Dataset::open(platform.dataset()).unwrap()));
    platform
}

#[test]
fn a_header_names_the_currencies_that_an_answer_adds_up() {
    let platform = platform();
    let days = "start=2025-01-01&end=2025-03-31";
    for (user, path, expected) in [
        ("anna", "/api/acme/events?fields=spend", Some("none, CAD, USD")),
        ("anna", "/api/acme/events?fields=spend&accounts=north,south", Some("CAD, USD")),
        ("anna", "/api/acme/events?fields=campaign,roasClosed&accounts=north,south", Some("CAD, USD")),
        ("anna", "/api/acme/events?fields=leads&total=%5B%22gt%22,100%5D&accounts=north,south", Some("CAD, USD")),
        ("anna", "/api/acme/events?fields=leads&spend=%5B%22gt%22,100%5D&accounts=north,south", Some("CAD, USD")),
        ("anna", "/api/acme/events?fields=spend&why=spend&accounts=north,south", Some("CAD, USD")),
        ("anna", "/api/acme/events?fields=leads", None),
        ("anna", "/api/acme/events?fields=currency,spend", None),
        ("anna", "/api/acme/events?fields=account,spend", None),
        ("anna", "/api/acme/events?fields=spend&account=north", None),
        // Whoever reaches one account learns of no other.
        ("bert", "/api/south/events?fields=spend", None),
        ("rita", "/api/rival/events?fields=spend", None),
    ] {
        let answer = platform.get(user, &format!("{path}&{days}"));
        assert_eq!((answer.status, answer.header(HEADER)), (200, expected), "{path}");
    }
}

#[test]
fn the_whole_dictionary_names_the_one_currency_of_an_organization() {
    let platform = platform();
    let currency = |user: &str, path: &str, organization: &str| {
        let access: serde_json::Value = serde_json::from_slice(&platform.get(user, path).body).unwrap();
        let mut listed = access["organizations"].as_array().unwrap().iter();
        listed.find(|listed| listed["organization"] == organization).map(|listed| listed["currency"].clone())
    };
    assert_eq!(currency("bert", "/api?dictionary=all", "south"), Some("CAD".into()));
    assert_eq!(currency("bert", "/api", "south"), Some(serde_json::Value::Null));
    // Several, and none.
    assert_eq!(currency("anna", "/api?dictionary=all", "acme"), Some(serde_json::Value::Null));
    assert_eq!(currency("rita", "/api?dictionary=all", "rival"), Some(serde_json::Value::Null));
}

#[test]
fn spend_and_events_have_the_currency_of_their_account() {
    let platform = platform();
    let path = "/api/acme/events?fields=currency,eventCount,cost&start=2025-03-01&end=2025-03-31";
    let answer = platform.get("anna", path);
    let body = String::from_utf8(answer.body).unwrap();
    // Spend of 30 for Boilers is of north; south has clicks alone, and west has 12.345678 and no events.
    let rows = [
        r#"{"currency":"","eventCount":0,"cost":12.345678}"#,
        r#"{"currency":"CAD","eventCount":3,"cost":0}"#,
        r#"{"currency":"USD","eventCount":6,"cost":30}"#,
    ];
    assert_eq!(body, format!("[{}]", rows.join(",")));
}

#[test]
fn benchmarks_of_money_are_of_accounts_of_one_currency() {
    let plumber = |(account, currency): (String, &str)| format!("{account},Plumbing,{currency}\n");
    let others = (1..=PLUMBERS).map(|number| (format!("pl{number:02}"), "USD"));
    let own = [("north", "USD"), ("south", "CAD")].map(|(account, currency)| (account.to_owned(), currency));
    let table: String = own.into_iter().chain(others).map(plumber).collect();
    let platform = with_accounts(crowded(), &format!("account,industry,currency\n{table}"));
    let shown = |path: &str| {
        let answer = platform.get("anna", path);
        assert_eq!(answer.status, 200, "{path}");
        (String::from_utf8(answer.body.clone()).unwrap(), answer.header(HEADER).map(str::to_owned))
    };
    for (accounts, has_money) in [("north", true), ("south", false), ("north,south", false)] {
        let (body, _) = shown(&format!(
            "/api/acme/benchmarks?fields=bookRate,avgCostPerLead,roasClosed&month=2024-11&accounts={accounts}"
        ));
        // 78 of 240 leads are booked, whichever accounts are asked for. A lead costs 1,980 / 240.
        let money = if has_money { "8.25,\"roasClosed\":0" } else { "null,\"roasClosed\":null" };
        let pooled =
            format!(r#"[{{"series":"benchmark","cohortAccounts":12,"bookRate":0.325,"avgCostPerLead":{money}}}"#);
        assert!(body.starts_with(&pooled), "{accounts}: {body}");
        let (body, header) = shown(&format!(
            "/api/acme/events?fields=avgCostPerLead&start=2024-11-01&end=2024-11-30&compare=benchmarks&accounts={accounts}"
        ));
        let benchmark =
            if has_money { r#""avgCostPerLead.benchmark":8.25"# } else { r#""avgCostPerLead.benchmark":null"# };
        assert!(body.contains(benchmark), "{accounts}: {body}");
        assert_eq!(header.is_some(), accounts == "north,south");
    }
}
