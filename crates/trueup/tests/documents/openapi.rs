//! Compares `docs/openapi.json` with the code, the rules of OpenAPI 3.1, and the goldens of the service.

use crate::{Golden, at, goldens, quoted_codes};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;

pub(crate) fn document() -> Json {
    serde_json::from_str(trueup::openapi::document()).unwrap()
}

/// Visits every value in a document, with the path to the value.
fn walk<'a>(value: &'a Json, path: &str, visit: &mut impl FnMut(&str, &'a Json)) {
    visit(path, value);
    match value {
        Json::Array(list) => list.iter().enumerate().for_each(|(at, item)| walk(item, &format!("{path}/{at}"), visit)),
        Json::Object(members) => members.iter().for_each(|(name, member)| {
            walk(member, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), visit);
        }),
        _ => {}
    }
}

/// Returns the operations, by path.
fn operations(document: &Json) -> Vec<(&str, &Json)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().map(|(path, item)| (path.as_str(), &item["get"])).collect()
}

/// Returns the parameters of a path and of its operation.
fn parameters<'a>(document: &'a Json, path: &str) -> Vec<&'a Json> {
    let item = &document["paths"][path];
    [&item["parameters"], &item["get"]["parameters"]].into_iter().filter_map(Json::as_array).flatten().collect()
}

#[test]
fn the_published_document_matches_the_code() {
    let path = at("docs/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(&path, trueup::openapi::document()).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == trueup::openapi::document(),
        "docs/openapi.json is not what the code describes; review the change, then renew it with\n\
         UPDATE_OPENAPI=1 cargo test -p trueup --test documents"
    );
}

#[test]
fn only_errors_about_size_have_the_words_of_size() {
    let mut codes = BTreeSet::new();
    walk(&document(), "", &mut |path, value| {
        let Some(text) = value["error"].as_str().filter(|_| path.ends_with("/value")) else { return };
        let lower = text.to_lowercase();
        let words = ["too many", "too much", "reduce", "narrow", "rows", "documents", "limit"];
        if words.iter().any(|word| lower.contains(word)) {
            codes.insert(value["code"].as_str().unwrap_or("none").to_owned());
        }
        // A fixed text with one of the words would be masked like a value of a caller.
        assert!(!text.contains('*'), "{path}: {text}");
    });
    // Without a code: more documents than the limit.
    assert_eq!(codes, BTreeSet::from(["none", "too-many-intervals", "too-many-rows"].map(str::to_owned)));
}

#[test]
fn no_object_has_a_member_twice() {
    // `Json` keeps one of several members with the same name, and has fewer lines then.
    let indented = serde_json::to_string_pretty(&document()).unwrap();
    assert_eq!(indented.lines().count(), trueup::openapi::document().lines().count());
}

#[test]
fn references_resolve_and_every_schema_is_referenced() {
    let document = document();
    let mut referred = BTreeSet::new();
    walk(&document, "", &mut |path, value| {
        if let Some(reference) = value.get("$ref").and_then(Json::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{path}: {reference}"));
            assert!(document.pointer(pointer).is_some(), "{path}: {reference}");
            referred.insert(pointer.to_owned());
        }
    });
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(referred.contains(&format!("/components/schemas/{name}")), "{name}");
    }
}

#[test]
fn operations_follow_the_rules_of_openapi() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let mut ids = BTreeSet::new();
    for (path, operation) in operations(&document) {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{path}");
        let parameters = parameters(&document, path);
        let names = |place: &str| -> Vec<&str> {
            let there = parameters.iter().filter(|parameter| parameter["in"] == place);
            there.map(|parameter| parameter["name"].as_str().unwrap()).collect()
        };
        let placeholders: Vec<&str> =
            path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(names("path"), placeholders, "{path}");
        let query = names("query");
        assert_eq!(query.iter().collect::<BTreeSet<_>>().len(), query.len(), "{path}");
        for parameter in &parameters {
            let name = &parameter["name"];
            // A parameter has either a schema or content; a path parameter is always required.
            assert!(parameter["schema"].is_object() != parameter["content"].is_object(), "{path} {name}");
            assert!(parameter["in"] != "path" || parameter["required"] == true, "{path} {name}");
            assert!(!parameter["description"].as_str().unwrap().is_empty(), "{path} {name}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(status.len() == 3 && status.parse::<u16>().is_ok(), "{path} {status}");
            assert!(!response["description"].as_str().unwrap().is_empty(), "{path} {status}");
            assert!(response["content"]["application/json"]["schema"].is_object(), "{path} {status}");
        }
    }
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    walk(&document, "", &mut |path, value| {
        for requirement in value.get("security").and_then(Json::as_array).into_iter().flatten() {
            assert!(requirement.as_object().unwrap().keys().all(|scheme| schemes.contains_key(scheme)), "{path}");
        }
    });
}

#[test]
fn component_names_and_schema_types_are_valid() {
    let document = document();
    for (_, components) in document["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys() {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            assert!(name.bytes().all(allowed), "{name}");
        }
    }
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    walk(&document["components"]["schemas"], "", &mut |path, value| {
        // An object may have a member called `type`, whose value is a schema.
        if let Some(found) = value.get("type").filter(|found| !found.is_object()) {
            let names: Vec<&Json> = found.as_array().map_or_else(|| vec![found], |list| list.iter().collect());
            assert!(names.iter().all(|name| types.contains(&name.as_str().unwrap())), "{path}");
            assert!(found != "array" || value["items"].is_object() || path.contains("Filter"), "{path}");
        }
    });
}

/// Returns the responses that the document has for the request of a golden.
pub(crate) fn described<'a>(document: &'a Json, golden: &Golden) -> Option<&'a Json> {
    let name = golden.path.rsplit('/').next().unwrap_or_default();
    let segments = golden.path.split('/').count();
    let path = match segments {
        _ if golden.method != "GET" => return None,
        2 if golden.path == "/api" => "/api".to_owned(),
        4 => format!("/api/{{organization}}/{name}"),
        _ => return None,
    };
    document["paths"].get(&path).map(|item| &item["get"]["responses"])
}

/// Returns whether a response has an example with that code, or without a code if `code` is `None`.
fn has_example(response: &Json, code: Option<&str>) -> bool {
    let examples = response["content"]["application/json"]["examples"].as_object();
    examples.is_some_and(|examples| {
        examples.values().any(|example| example["value"].get("code").and_then(Json::as_str) == code)
    })
}

#[test]
fn every_status_and_code_of_the_goldens_is_described() {
    let document = document();
    let mut wrong = Vec::new();
    for golden in goldens() {
        let code = golden.code.as_deref();
        let response = match described(&document, &golden) {
            Some(responses) => responses.get(&golden.status),
            None => code.map(|code| &document["components"]["responses"][code]),
        };
        let known = match response {
            Some(response) if golden.status == "200" => response["description"].is_string(),
            Some(response) => {
                // A golden with a part of the body may leave the code out.
                let unseen = code.is_none() && golden.body.is_none();
                response.is_object() && (unseen || has_example(response, code))
            }
            // A golden of another method may leave the code out.
            None => code.is_none() && golden.method != "GET",
        };
        if !known {
            wrong.push(format!("{}: {}: {} {code:?}", golden.file, golden.title, golden.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the codes in the source of the table of errors.
pub(crate) fn codes() -> BTreeSet<String> {
    let table = fs::read_to_string(at("crates/trueup/src/service/error_table.rs")).unwrap();
    // `quoted_codes` does not find codes without a hyphen.
    let all = quoted_codes(&table).chain(["overloaded", "timeout", "unauthorized"]);
    all.map(str::to_owned).collect()
}

#[test]
fn every_code_of_the_service_is_described() {
    let document = document();
    let listed = document["components"]["schemas"]["Error"]["properties"]["code"]["enum"].as_array().unwrap();
    let listed: BTreeSet<String> = listed.iter().map(|code| code.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, codes());
}

#[test]
fn there_are_four_operations_and_all_use_get() {
    let document = document();
    let ids: Vec<&Json> = operations(&document).iter().map(|(_, operation)| &operation["operationId"]).collect();
    assert_eq!(ids.len(), 4);
    assert!(["access", "events", "benchmarks", "insights"].iter().all(|id| ids.iter().any(|found| found == id)));
    for (path, item) in document["paths"].as_object().unwrap() {
        assert!(item.as_object().unwrap().keys().all(|key| key == "get" || key == "parameters"), "{path}");
    }
}

#[test]
fn parameters_and_which_are_required_match_api_md() {
    let document = document();
    let of = |endpoint: &str| -> Vec<(String, bool)> {
        let path = format!("/api/{{organization}}/{endpoint}");
        let query = parameters(&document, &path).into_iter().filter(|parameter| parameter["in"] == "query");
        query.map(|found| (found["name"].as_str().unwrap().to_owned(), found["required"] == true)).collect()
    };
    let expected = |names: &[(&str, bool)]| -> Vec<(String, bool)> {
        names.iter().map(|(name, required)| ((*name).to_owned(), *required)).collect()
    };
    // The document describes parameters named after fields as one object, `filters`. Those after `filter` are
    // additions to `API.md`.
    assert_eq!(
        of("events"),
        expected(&[
            ("fields", true),
            ("start", true),
            ("end", true),
            ("account", false),
            ("accounts", false),
            ("interval", false),
            ("filter", false),
            ("cohort", false),
            ("within", false),
            ("compare", false),
            ("attribution", false),
            ("$sort", false),
            ("$limit", false),
            ("$totals", false),
            ("$targets", false),
            ("why", false),
            ("row", false),
            ("lines", false),
            ("$remaining", false),
            ("filters", false),
        ])
    );
    assert_eq!(
        of("benchmarks"),
        expected(&[
            ("fields", false),
            ("month", false),
            ("account", false),
            ("accounts", false),
            ("$remaining", false),
            ("filters", false)
        ])
    );
    assert_eq!(
        of("insights"),
        expected(&[
            ("account", false),
            ("accounts", false),
            ("start", false),
            ("end", false),
            ("fields", false),
            ("$remaining", false)
        ])
    );
    assert!(parameters(&document, "/api").is_empty());
}

#[test]
fn the_sections_of_insight_documents_are_described() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for name in ["account", "date", "insight"] {
        assert!(schemas["Insight"]["properties"][name].is_object(), "{name}");
    }
    let sections = [
        "account",
        "period",
        "generated_at",
        "confidence",
        "graded_calls",
        "action_items",
        "deep_insights",
        "surprise_insights",
        "main_themes",
    ];
    for name in sections {
        assert!(schemas["InsightDocument"]["properties"][name].is_object(), "{name}");
    }
    assert!(schemas["InsightDocument"].get("required").is_none());
    assert_eq!(schemas["InsightDocument"]["additionalProperties"], true);
    for name in ["title", "summary", "action", "category", "priority", "impact"] {
        assert!(schemas["ActionItem"]["properties"][name].is_object(), "{name}");
    }
}

#[test]
fn limits_match_api_md() {
    let limits = trueup::service::Limits::default();
    assert_eq!((trueup::ATTRIBUTION_WINDOW_DAYS, limits.documents), (90, 200));
}

#[test]
fn every_code_of_the_service_has_a_golden() {
    let shown: BTreeSet<String> = goldens().into_iter().filter_map(|golden| golden.code).collect();
    assert_eq!(codes(), shown);
}
