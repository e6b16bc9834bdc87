//! What is answered.

use super::node::{JsonValue, object, reference};
use super::operation::ACCESS;
use super::refusal::{self, ErrorExample};
use std::collections::BTreeMap;

/// The answers of an operation, by status.
pub(super) fn of(operation: &'static str) -> JsonValue {
    let mut by_status: BTreeMap<u16, Vec<ErrorExample>> = BTreeMap::new();
    for refusal in refusal::refusals().into_iter().filter(|refusal| refusal.at.contains(&operation)) {
        by_status.entry(refusal.error.status()).or_default().push(refusal);
    }
    let refused = by_status.iter().map(|(status, refusals)| (status.to_string(), refused(refusals)));
    object(std::iter::once(("200".to_owned(), answered(operation))).chain(refused))
}

/// The answers that no operation gives: to other paths, and to other methods.
pub(super) fn components() -> JsonValue {
    let elsewhere = refusal::refusals().into_iter().filter(|refusal| refusal.at.is_empty());
    object(elsewhere.map(|refusal| {
        let name = refusal.error.code().unwrap_or_default();
        (name, refused(&[refusal]))
    }))
}

fn answered(operation: &'static str) -> JsonValue {
    let (schema, means) = match operation {
        ACCESS => ("AccessAnswer", "What the credentials reach."),
        "events" => ("EventsAnswer", "One row for each combination of values of the dimensions, in each sub-range."),
        "benchmarks" => {
            ("BenchmarksAnswer", "One row for each series of each combination of values of the dimensions.")
        }
        _ => ("InsightsAnswer", "The documents, by account, then date."),
    };
    let mut headers = vec![
        ("Content-Encoding", header("string", "`gzip`, unless the request rules it out.")),
        ("Vary", header("string", "`Accept-Encoding`.")),
        ("Cache-Control", header("string", "`no-store`.")),
    ];
    if operation == "events" {
        let means = "Names among the fields and filters that neither the dictionary nor the data of the accounts know, \
                     separated by commas, percent-encoded where a header could not carry them. Absent if there is none.";
        headers.push(("Trueup-Unknown-Fields", header("string", means)));
    }
    object([
        ("description", means.into()),
        ("headers", object(headers)),
        ("content", json(reference("schemas", schema))),
    ])
}

fn refused(refusals: &[ErrorExample]) -> JsonValue {
    let means = refusals.iter().map(|refusal| match refusal.error.code() {
        Some(code) => format!("`{code}`: {}", refusal.when),
        None => format!("Without a code: {}", refusal.when),
    });
    let described = object([("description", means.collect::<Vec<_>>().join("\n\n").into())]);
    let headers: Vec<_> = refusals.iter().filter_map(|refusal| refusal.header).collect();
    let described = if headers.is_empty() {
        described
    } else {
        described.with("headers", object(headers.into_iter().map(|(name, kind, means)| (name, header(kind, means)))))
    };
    let examples = object(refusals.iter().map(|refusal| (refusal.name, example(refusal))));
    described.with(
        "content",
        object([("application/json", media(reference("schemas", "Error")).with("examples", examples))]),
    )
}

fn example(refusal: &ErrorExample) -> JsonValue {
    let body = object([("error", refusal.error.to_string().into())]);
    let body = match refusal.error.code() {
        Some(code) => body.with("code", code),
        None => body,
    };
    object([("summary", refusal.when.into()), ("value", body)])
}

fn header(kind: &'static str, means: &'static str) -> JsonValue {
    object([("description", means.into()), ("schema", object([("type", kind.into())]))])
}

fn media(schema: JsonValue) -> JsonValue {
    object([("schema", schema)])
}

fn json(schema: JsonValue) -> JsonValue {
    object([("application/json", media(schema))])
}
