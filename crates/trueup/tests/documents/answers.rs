//! Compares answers with the schemas that `docs/openapi.json` has for them, and what `/api` lists with what can be
//! queried.

use crate::goldens;
use crate::openapi::{described, document};
use crate::platform::Platform;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use trueup::dictionary::{self, FieldKind};

/// Adds to `found` each place at which the value breaks the schema. Knows the keywords of JSON Schema that the document
/// uses.
fn faults(document: &Json, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
    for (keyword, says) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let pointer = says.as_str().unwrap().trim_start_matches('#');
                faults(document, document.pointer(pointer).unwrap(), value, at, found);
            }
            "oneOf" => {
                let faults_of = |schema| {
                    let mut found = Vec::new();
                    faults(document, schema, value, at, &mut found);
                    found
                };
                let faults: Vec<Vec<String>> = says.as_array().unwrap().iter().map(faults_of).collect();
                match faults.iter().filter(|faults| faults.is_empty()).count() {
                    // The faults of the schema to which the value is closest.
                    0 => found.extend(faults.into_iter().min_by_key(Vec::len).unwrap()),
                    1 => {}
                    fitting => found.push(format!("{at}: {value} fits {fitting} of {says}")),
                }
            }
            "type" => {
                let types: Vec<&Json> = says.as_array().map_or_else(|| vec![says], |list| list.iter().collect());
                if !types.iter().any(|name| is_type(value, name.as_str().unwrap())) {
                    found.push(format!("{at}: {value} is not of type {says}"));
                }
            }
            "enum" if !says.as_array().unwrap().contains(value) => {
                found.push(format!("{at}: {value} is not one of {says}"))
            }
            "required" => {
                for name in says.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        found.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    let place = format!("{at}/{name}");
                    match (says.get(name), schema.get("additionalProperties")) {
                        (Some(schema), _) => faults(document, schema, member, &place, found),
                        (None, Some(Json::Bool(false))) => found.push(format!("{place} is unknown")),
                        (None, Some(more @ Json::Object(_))) => faults(document, more, member, &place, found),
                        _ => {}
                    }
                }
            }
            "additionalProperties" if schema.get("properties").is_none() => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    faults(document, says, member, &format!("{at}/{name}"), found);
                }
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    faults(document, says, item, &format!("{at}/{place}"), found);
                }
            }
            "enum" | "additionalProperties" | "description" | "format" | "pattern" | "default" => {}
            other => panic!("{at}: {other}"),
        }
    }
}

fn is_type(value: &Json, name: &str) -> bool {
    match name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("{other}"),
    }
}

fn assert_described(document: &Json, response: &Json, body: &str, who: &str) {
    let schema = &response["content"]["application/json"]["schema"];
    let mut found = Vec::new();
    faults(document, schema, &serde_json::from_str(body).unwrap(), "", &mut found);
    assert!(found.is_empty(), "{who}: {}", found.join("\n"));
}

#[test]
fn golden_answers_match_their_schemas() {
    let document = document();
    let mut compared = 0;
    for golden in goldens() {
        let Some(body) = &golden.body else { continue };
        let Some(responses) = described(&document, &golden) else { continue };
        assert_described(&document, &responses[&golden.status], body, &golden.title);
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn access_answers_match_their_schema() {
    let document = document();
    let platform = Platform::new();
    for user in ["anna", "bert", "root"] {
        let body = platform.get(user, "/api").body;
        let response = &document["paths"]["/api"]["get"]["responses"]["200"];
        assert_described(&document, response, &String::from_utf8(body).unwrap(), user);
    }
}

#[test]
fn examples_match_their_schemas() {
    let document = document();
    let mut compared = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (status, response) in item["get"]["responses"].as_object().unwrap() {
            let examples = response["content"]["application/json"]["examples"].as_object();
            for (name, example) in examples.into_iter().flatten() {
                assert_described(
                    &document,
                    response,
                    &example["value"].to_string(),
                    &format!("{path} {status} {name}"),
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn values_that_break_a_schema_are_found() {
    let document = document();
    let wrong = [
        ("EventsAnswer", r#"[{"leads":"1"}]"#),
        ("EventsAnswer", r#"[{"campaign":null}]"#),
        ("EventsRows", r#"{"leads":1}"#),
        ("EventsAnswer", r#""leads""#),
        ("ExplainedMeasure", r#"{"measure":"leads","format":"number","sum":1,"lines":1}"#),
        ("BenchmarksAnswer", r#"[{"series":"p11","cohortAccounts":1}]"#),
        ("BenchmarksAnswer", r#"[{"series":"p10","cohortAccounts":1,"leads":1}]"#),
        ("InsightsAnswer", r#"[{"account":"a","date":"2025-01-01"}]"#),
        ("Error", r#"{"code":"timeout"}"#),
        ("Error", r#"{"error":"","code":"no-such-code"}"#),
    ];
    for (name, body) in wrong {
        let mut found = Vec::new();
        let value = serde_json::from_str(body).unwrap();
        faults(&document, &document["components"]["schemas"][name], &value, "", &mut found);
        assert_eq!(found.len(), 1, "{name} {body}: {found:?}");
    }
}

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
fn the_events_endpoint_accepts_its_listed_fields() {
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

#[test]
fn the_whole_dictionary_has_the_metrics_of_days_and_cohorts_too() {
    let platform = Platform::new();
    let text = |path: &str| String::from_utf8(platform.get("anna", path).body).unwrap();
    let (plain, whole) = (text("/api"), text("/api?dictionary=all"));
    for other in ["/api?dictionary=", "/api?dictionary=All", "/api?fields=all", "/api?all"] {
        assert_eq!(text(other), plain, "{other}");
    }
    let [plain, mut whole] = [plain, whole].map(|text| serde_json::from_str::<Json>(&text).unwrap());
    let more = dictionary::duration_fields().chain(dictionary::cohort_fields());
    for field in more {
        let entry = whole["dictionary"].as_object_mut().unwrap().remove(field.name).unwrap();
        assert_eq!((entry["displayName"].as_str(), entry["type"].as_str()), (Some(field.display_name), Some("metric")));
    }
    // The whole dictionary also says which values of a metric are better, unless neither direction is, its formula, and
    // what has to do with spend.
    let formula = |name: &str| whole["dictionary"][name]["formula"].as_str().unwrap().to_owned();
    assert_eq!(formula("bookRate"), "bookedCustomers / customers");
    assert_eq!(formula("roasClosed"), "closedRevenue / (adSpend + managementFee)");
    let uses_spend = ["spend", "clicks", "avgCostPerLead"].map(|name| whole["dictionary"][name]["usesSpend"].clone());
    assert_eq!(uses_spend, [Json::Bool(true), Json::Bool(true), Json::Bool(true)]);
    assert_eq!(whole["dictionary"]["closedRevenue"]["usesSpend"], Json::Null);
    assert!(whole["dictionary"]["avgCostPerLead"]["synonyms"].as_array().unwrap().contains(&"cpl".into()));
    let days = whole.as_object_mut().unwrap().remove("days").unwrap();
    assert_eq!(days, serde_json::json!({"start": "2024-12-10", "end": "2025-04-10"}));
    for field in dictionary::fields() {
        let Some(entry) = whole["dictionary"].get_mut(field.name).and_then(Json::as_object_mut) else { continue };
        let [direction, formula, adds_up] = ["direction", "formula", "addsUp"].map(|name| entry.remove(name));
        let synonyms: Vec<&str> = dictionary::synonyms(field.name).collect();
        let expected = (!synonyms.is_empty()).then(|| synonyms.into());
        assert_eq!(entry.remove("synonyms"), expected, "{}", field.name);
        let [uses_spend, splits_spend] = ["usesSpend", "splitsSpend"].map(|name| entry.remove(name));
        match &field.kind {
            FieldKind::Metric(metric) => {
                let better = Some(metric.direction.name()).filter(|name| *name != "neither");
                assert_eq!(direction.as_ref().and_then(Json::as_str), better, "{}", field.name);
                assert_eq!(formula, Some(Json::String(metric.formula.to_string())), "{}", field.name);
                assert_eq!(adds_up, Some(metric.adds_up().into()), "{}", field.name);
                assert_eq!(splits_spend, None, "{}", field.name);
            }
            FieldKind::Dimension(dimension) => {
                assert_eq!((direction, formula, uses_spend, adds_up), (None, None, None, None), "{}", field.name);
                assert_eq!(splits_spend.is_some(), dimension.spend.is_some(), "{}", field.name);
            }
        }
    }
    assert_eq!(whole, plain);
}

/// The attributes of an entry as API.md spells them.
const ATTRIBUTES: [&str; 7] =
    ["displayName", "definition", "type", "format", "benchmarkable", "benchmarkDimension", "possible values"];

#[test]
fn dictionary_entries_together_have_every_attribute_of_api_md_and_no_other() {
    let access: Json = serde_json::from_slice(&Platform::new().get("anna", "/api").body).unwrap();
    let entries = access["dictionary"].as_object().unwrap().values();
    let found: BTreeSet<&str> =
        entries.flat_map(|entry| entry.as_object().unwrap().keys().map(String::as_str)).collect();
    assert_eq!(found, BTreeSet::from(ATTRIBUTES));
}
