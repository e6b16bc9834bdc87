//! The responses of operations, with their error examples.

use super::error_examples::{ErrorExample, error_examples};
use super::json_value::{JsonValue, object, reference};
use std::collections::BTreeMap;

/// Returns the responses of an operation by status.
pub(super) fn of(operation: &'static str) -> JsonValue {
    let mut by_status: BTreeMap<u16, Vec<ErrorExample>> = BTreeMap::new();
    for example in error_examples().into_iter().filter(|example| example.at.contains(&operation)) {
        by_status.entry(example.error.status()).or_default().push(example);
    }
    let errors = by_status.iter().map(|(status, examples)| (status.to_string(), error(examples)));
    object(std::iter::once(("200".to_owned(), success(operation))).chain(errors))
}

/// Returns the responses that belong to no operation: to other paths and to other methods.
pub(super) fn components() -> JsonValue {
    let elsewhere = error_examples().into_iter().filter(|example| example.at.is_empty());
    object(elsewhere.map(|example| {
        let name = example.error.code().unwrap_or_default();
        (name, error(&[example]))
    }))
}

fn success(operation: &'static str) -> JsonValue {
    let (schema, means) = match operation {
        "access" => ("AccessAnswer", "What the credentials can access."),
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
        let means = "The names of fields and filters that are neither in the dictionary nor in the data of the requested accounts, \
                     separated by commas, percent-encoded where a header could not carry them. Absent if there are none.";
        headers.push(("Trueup-Unknown-Fields", header("string", means)));
    }
    object([
        ("description", means.into()),
        ("headers", object(headers)),
        ("content", json(reference("schemas", schema))),
    ])
}

fn error(examples: &[ErrorExample]) -> JsonValue {
    let descriptions = examples.iter().map(|example| match example.error.code() {
        Some(code) => format!("`{code}`: {}", example.when),
        None => format!("Without a code: {}", example.when),
    });
    let described = object([("description", descriptions.collect::<Vec<_>>().join("\n\n").into())]);
    let headers: Vec<_> = examples.iter().filter_map(|example| example.header).collect();
    let described = if headers.is_empty() {
        described
    } else {
        described.with("headers", object(headers.into_iter().map(|(name, kind, means)| (name, header(kind, means)))))
    };
    let examples = object(examples.iter().map(|example| (example.name, value(example))));
    described.with(
        "content",
        object([("application/json", media(reference("schemas", "Error")).with("examples", examples))]),
    )
}

fn value(example: &ErrorExample) -> JsonValue {
    let body = object([("error", example.error.to_string().into())]);
    let body = match example.error.code() {
        Some(code) => body.with("code", code),
        None => body,
    };
    object([("summary", example.when.into()), ("value", body)])
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
