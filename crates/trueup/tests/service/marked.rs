//! `$sort`, `$limit` and `$totals` on events, and `$remaining`.

use crate::platform::{Platform, Rival};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use trueup::access::{DirectorySettings, MemoryDirectory};
use trueup::service::Request;

const PATH: &str = "/api/acme/events?fields=account,leads,spend&start=2025-01-01&end=2025-03-31";

fn rows(platform: &Platform, path: &str) -> Vec<Json> {
    let answer = platform.get("anna", path);
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn rows_are_sorted_and_limited_and_totals_come_last() {
    let platform = Platform::new();
    let with = |more: &str| rows(&platform, &format!("{PATH}{more}"));
    let plain = with("");
    assert_eq!(with("&$totals=false&$sort="), plain);
    let reversed: Vec<Json> = plain.iter().rev().cloned().collect();
    assert!(plain.len() > 1 && with("&$sort=account:desc") == reversed && with("&%24sort=account:desc") == reversed);
    assert_eq!(with("&$sort=leads,account:desc"), with("&$sort=leads&$sort=account:desc"));
    let most = plain.iter().max_by_key(|row| row["leads"].as_u64()).unwrap();
    assert_eq!(with("&$sort=leads:desc&$limit=1&$limit=1"), std::slice::from_ref(most));

    let all = &rows(&platform, &PATH.replace("account,", ""))[0];
    let marked = |kind: &str, account: &Json, of: &Json| json!({"rowType": kind, "account": account, "leads": of["leads"], "spend": of["spend"]});
    let expected = [marked("group", &most["account"], most), marked("total", &json!(""), all)];
    assert_eq!(with("&$sort=leads:desc&$limit=1&$totals=true"), expected);
    let csv = platform.ask(&Request {
        authorization: Some(platform.secret("<anna>")),
        accept: Some("text/csv".to_owned()),
        accept_encoding: Some("identity".to_owned()),
        ..Request::get(format!("{PATH}&$limit=0&$totals=true"))
    });
    let expected = format!("rowType,account,leads,spend\ntotal,,{},{}\n", all["leads"], all["spend"]);
    assert_eq!(String::from_utf8(csv.body).unwrap(), expected);

    // They change no explanation.
    let why = |more: &str| platform.get("anna", &format!("{PATH}&why=leads&row=account=north{more}"));
    assert_eq!(why("").status, 200);
    assert_eq!(why("&$sort=spend&$limit=0&$totals=true").body, why("").body);
}

#[test]
fn what_they_cannot_be_is_refused() {
    let platform = Platform::new();
    for (more, expected) in [
        ("$limit=x", "`$l*mit`: expected a whole number, but found `x`"),
        ("$limit=1&$limit=2", "`$l*mit` is given twice, as `1` and as `2`; give it once"),
        ("$totals=1", "`$totals`: expected `true` or `false`, but found `1`"),
        (
            "$sort=leads,name",
            "expected to sort by a column of the answer (`account`, `leads`, `spend`), with `:asc` or `:desc` after it or \
             neither, but found `name`",
        ),
    ] {
        let answer = platform.get("anna", &format!("{PATH}&{more}"));
        let body: Json = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, &body["code"]), (400, &json!("invalid-query")), "{more}");
        assert!(body["error"].as_str().unwrap().starts_with(expected), "{more}: {body}");
    }
    let long = PATH.replace("2025-03-31", "2025-04-30&interval=month&$totals=true");
    let body = String::from_utf8(platform.get("anna", &long).body).unwrap();
    assert!(body.contains("the totals would span 120 days, exceeding the 90-day attribution window"), "{body}");
}

#[test]
fn a_header_says_how_many_requests_are_left_if_asked() {
    let directory = MemoryDirectory::new(DirectorySettings::default().hourly_limit(8)).unwrap();
    let platform = Platform::with_directory(Arc::new(directory), &Rival::default(), |builder| builder);
    let answer = |path: &str| {
        let answer = platform.get("anna", path);
        (answer.status, answer.header("Trueup-Remaining-Requests").map(str::to_owned))
    };
    let left = |count: u32| Some(count.to_string());
    assert_eq!(answer("/api?$remaining=true"), (200, left(7)));
    assert_eq!(answer(&format!("{PATH}&%24remaining=true")), (200, left(6)));
    assert_eq!(answer("/api/acme/insights?$remaining=true"), (200, left(5)));
    assert_eq!(answer("/api/acme/benchmarks?month=2025-01&$remaining=true").1, left(4));
    // A refusal is counted, too.
    assert_eq!(answer("/api/acme/events?$remaining=true"), (400, left(3)));
    assert_eq!(answer(&format!("{PATH}&$remaining=false")), (200, None));
    assert_eq!(answer(&format!("{PATH}&$remaining=yes")), (400, None));
    assert_eq!(answer(PATH), (200, None));
    assert_eq!(answer("/api?$remaining=true"), (429, None));
    assert_eq!(platform.get("nobody", "/api?$remaining=true").header("Trueup-Remaining-Requests"), None);
}
