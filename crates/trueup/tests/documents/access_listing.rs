//! Checks that what `/api` lists can be queried.

use crate::platform::Platform;
use serde_json::Value as Json;

const ASKED: &str = "fields=leads&start=2025-01-01&end=2025-03-31";

fn listed(platform: &Platform, user: &str) -> Json {
    let answer = platform.get(user, "/api");
    assert_eq!(answer.status, 200, "{user}");
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn every_listed_organization_and_account_can_be_queried() {
    let platform = Platform::new();
    let mut asked = 0;
    for user in ["anna", "bert", "carl", "rita", "root"] {
        for organization in listed(&platform, user)["organizations"].as_array().unwrap() {
            let id = organization["organization"].as_str().unwrap();
            let mut paths = vec![format!("/api/{id}/events?{ASKED}"), format!("/api/{id}/insights")];
            for account in organization["accounts"].as_array().unwrap() {
                let account = account.as_str().unwrap();
                paths.push(format!("/api/{account}/events?{ASKED}"));
                paths.push(format!("/api/{id}/events?{ASKED}&account={account}"));
                paths.push(format!("/api/{id}/insights?accounts={account}"));
            }
            for path in paths {
                assert_eq!(platform.get(user, &path).status, 200, "{user} {path}");
                asked += 1;
            }
        }
    }
    assert!(asked > 40, "{asked}");
}

#[test]
fn every_listed_endpoint_accepts_its_listed_fields() {
    let platform = Platform::new();
    let listed = listed(&platform, "anna");
    let endpoints = listed["endpoints"].as_array().unwrap();
    let names: Vec<&str> = endpoints.iter().map(|endpoint| endpoint["endpoint"].as_str().unwrap()).collect();
    assert_eq!(names, ["events", "benchmarks", "insights"]);
    let fields: Vec<&str> = ["metrics", "dimensions"]
        .iter()
        .flat_map(|kind| endpoints[0][kind].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    let path = endpoints[0]["path"].as_str().unwrap().replace("{organization}", "acme");
    let answer = platform.get("anna", &format!("{path}?fields={}&start=2025-01-01&end=2025-03-31", fields.join(",")));
    assert_eq!((answer.status, answer.header("Trueup-Unknown-Fields")), (200, None));
    // Metrics are numbers, dimensions are texts, and all of them are in the dictionary.
    let rows: Json = serde_json::from_slice(&answer.body).unwrap();
    for name in fields {
        let kind = &listed["dictionary"][name]["type"];
        let value = &rows[0][name];
        assert!(if kind == "metric" { value.is_number() } else { value.is_string() }, "{name} {kind} {value}");
    }
}
