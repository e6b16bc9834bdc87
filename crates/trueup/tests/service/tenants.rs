//! The answers to one tenant never depend on the data of another.

use crate::platform::{Platform, Rival};
use proptest::prelude::*;

/// Requests to every endpoint but benchmarks, some with names that only the rival's data have.
const ASKED: [&str; 12] = [
    "/api/acme/events?fields=rivalColumn,noSuchField,eventCount&start=2025-01-01&end=2025-03-31",
    "/api/acme/events?fields=eventCount&start=2025-01-01&end=2025-03-31&filter={%22rivalColumn%22:[%22notEmpty%22]}",
    "/api",
    "/api?dictionary=all",
    "/api/acme/events?fields=leads,customers,spend,roasClosed&start=2025-01-01&end=2025-03-31",
    "/api/acme/events?fields=account,campaign,leads,spend&start=2025-01-01&end=2025-03-31",
    "/api/acme/events?fields=date,noSuchField,eventCount,clicks&start=2024-12-01&end=2025-04-30&interval=month",
    "/api/acme/events?fields=crew,eventCount&start=2025-01-01&end=2025-03-31&campaign=%5B%22regex%22,%22e%22%5D",
    "/api/north/events?fields=leads&start=2025-01-01&end=2025-01-31&accounts=rival-1",
    "/api/rival/events?fields=leads&start=2025-01-01&end=2025-01-31",
    "/api/acme/insights",
    "/api/acme/insights?start=2025-01-01&end=2025-12-31&fields=period,secret",
];

fn answers(rival: &Rival) -> Vec<(u16, String)> {
    let platform = Platform::with(rival, |builder| builder);
    let answer = |path: &&str| {
        let response = platform.get("anna", path);
        (response.status, format!("{:?} {}", response.headers, String::from_utf8_lossy(&response.body)))
    };
    ASKED.iter().map(answer).collect()
}

fn rivals() -> impl Strategy<Value = Rival> {
    let account = prop::sample::select(vec!["rival-1", "twin", "solo", "m-in-between", "zz"]);
    let kind = prop::sample::select(vec!["lead-originated", "booked", "sold", "closed", "canceled"]);
    let campaign = prop::sample::select(vec!["Drains", "Secret", ""]);
    let event = (account.clone(), 0..4, kind, 1..29, campaign.clone(), -900..900);
    let events = prop::collection::vec(event, 0..12).prop_map(|rows| {
        let row = |(account, customer, kind, day, campaign, total)| {
            format!("{account},c{customer},{kind},2025-02-{day:02},,,{total},New Customer,Ann,Organic,Website,{campaign},,99\n")
        };
        rows.into_iter().map(row).collect::<String>()
    });
    let spend = prop::collection::vec((account.clone(), 1..29, campaign, 0..500), 0..6).prop_map(|rows| {
        let row = |(account, day, campaign, amount)| {
            format!("{account},2025-02-{day:02},Advertising,Search Ads,{campaign},{amount},1,2,3\n")
        };
        rows.into_iter().map(row).collect::<String>()
    });
    let insights = prop::collection::btree_map((account, 1..29), 0..100, 0..6).prop_map(|rows| {
        let row = |((account, day), value)| {
            format!("{{\"account\":\"{account}\",\"date\":\"2025-02-{day:02}\",\"insight\":{{\"secret\":{value}}}}}\n")
        };
        rows.into_iter().map(row).collect::<String>()
    });
    let accounts = prop::sample::select(vec!["", "rival-1,Rival,Plumbing,UTC,true\n", "twin,,,Asia/Tokyo,true\n"]);
    (events, spend, insights, accounts, any::<bool>()).prop_map(|(events, spend, insights, accounts, column)| Rival {
        events,
        spend,
        accounts: accounts.to_owned(),
        insights,
        column,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_tenants_data_change_no_byte(rival in rivals()) {
        prop_assert_eq!(answers(&rival), answers(&Rival::default()));
    }
}

/// Requests in turn: the user, the path segment, and whether an account of the segment has the column `crew`.
const KNOWS_CREW: [(&str, &str, bool); 6] = [
    ("anna", "west", false),
    ("anna", "acme", true),
    ("anna", "north", true),
    ("anna", "acme-west", false),
    ("root", "solo", false),
    ("anna", "acme", true),
];

fn platform_with_rival_column() -> Platform {
    Platform::with(&Rival { column: true, ..Rival::default() }, |builder| builder)
}

/// Returns whether the accounts of the organization have values in `column`.
fn knows(platform: &Platform, user: &str, organization: &str, column: &str) -> bool {
    let query = format!("fields={column},leads&start=2025-01-01&end=2025-03-31");
    let response = platform.get(user, &format!("/api/{organization}/events?{query}"));
    assert_eq!(response.status, 200);
    response.header("trueup-unknown-fields").is_none()
}

#[test]
fn known_columns_depend_only_on_the_requested_accounts() {
    for turn in 0..KNOWS_CREW.len() {
        let platform = platform_with_rival_column();
        for (user, organization, known) in KNOWS_CREW.into_iter().cycle().skip(turn).take(2 * KNOWS_CREW.len()) {
            assert_eq!(knows(&platform, user, organization, "crew"), known, "{organization}");
            assert!(!knows(&platform, user, organization, "rivalColumn"), "{organization}");
        }
        assert!(knows(&platform, "rita", "rival", "rivalColumn") && !knows(&platform, "rita", "rival", "crew"));
        assert!(!knows(&platform, "anna", "acme", "rivalColumn"));
    }
}
