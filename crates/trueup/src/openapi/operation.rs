//! The operations: parameters, limits, responses with their error examples, and security.

use super::error_examples::{ErrorExample, error_examples};
use super::json_value::{JsonValue, object, one_of, reference, texts};
use super::schema::{dimensions, typed};
use crate::ATTRIBUTION_WINDOW_DAYS;
use crate::query::Interval;
use crate::request::REMAINING;
use crate::service::endpoint::access::{DICTIONARY, WHOLE_DICTIONARY};
use crate::service::endpoint::description::{Endpoint, OtherParameters, Parameter, ValueType};
use crate::service::{CSV, Limits, PARQUET};
use std::collections::BTreeMap;

/// The id of the operation `GET /api`.
pub(super) const ACCESS: &str = "access";

/// Returns the operation of `GET /api`.
pub(super) fn access() -> JsonValue {
    object([
        ("operationId", ACCESS.into()),
        ("summary", "What the credentials can access".into()),
        (
            "description",
            format!(
                "The organizations and accounts that the credentials can access, the endpoints, and the dictionary of fields. \
                 `{DICTIONARY}={WHOLE_DICTIONARY}` adds the metrics of days between stages and of cohorts to the dictionary, \
                 and to each metric which values are better, its formula, how its values add up and other names; and the first \
                 and the last day of the data. `{}=true` is as elsewhere. All other parameters are ignored.",
                REMAINING.name
            )
            .into(),
        ),
        ("security", vec![by_key(), by_session()].into()),
        ("responses", responses(ACCESS)),
    ])
}

/// Returns the operation of an endpoint.
pub(super) fn endpoint(endpoint: &Endpoint) -> JsonValue {
    object([
        ("operationId", endpoint.name.into()),
        ("summary", endpoint.summary.into()),
        ("description", format!("{}{}", endpoint.notes, limits(endpoint.name)).into()),
        ("parameters", parameters(endpoint)),
        ("responses", responses(endpoint.name)),
    ])
}

/// Returns the sentences about the default limits.
fn limits(endpoint: &str) -> String {
    let Limits { account_intervals, rows, cells, documents, deadline, benchmarks_wait, .. } = Limits::default();
    let seconds = deadline.as_secs();
    match endpoint {
        "events" => format!(
            " One sub-range has at most {ATTRIBUTION_WINDOW_DAYS} days, unless the request is for a cohort. Unless the operator \
             sets other limits, accounts times sub-ranges are at most {account_intervals}, rows before filters on metrics at most \
             {rows}, rows times columns at most {cells}, and a request takes at most {seconds} seconds."
        ),
        "benchmarks" => format!(
            " Unless the operator sets other limits, a request waits at most {} seconds for figures that are being gathered.",
            benchmarks_wait.as_secs()
        ),
        "insights" => format!(" Unless the operator sets other limits, at most {documents} documents may match."),
        _ => String::new(),
    }
}

/// The placeholder of the organization in paths.
pub(super) const ORGANIZATION: &str = "organization";

/// Returns the path parameter of the organization.
pub(super) fn organization() -> JsonValue {
    object([
        ("name", ORGANIZATION.into()),
        ("in", "path".into()),
        (
            "description",
            "An organization, or an account key in place of one; `GET /api` lists both. If an id is both, it names the \
             organization."
                .into(),
        ),
        ("required", true.into()),
        ("schema", typed("string")),
    ])
}

/// Returns the query parameters of an endpoint.
fn parameters(endpoint: &Endpoint) -> JsonValue {
    let listed = endpoint.parameters.iter().chain(endpoint.additions.iter().copied().flatten()).map(parameter);
    let filters = match endpoint.other_parameters {
        OtherParameters::Ignored => None,
        OtherParameters::AnyField(description) => {
            Some(filters(description, typed("object").with("additionalProperties", typed("string"))))
        }
        OtherParameters::Dimensions(description) => {
            let dimensions = dimensions(endpoint).map(|field| (field.name, typed("string")));
            let schema = typed("object").with("properties", object(dimensions)).with("additionalProperties", false);
            Some(filters(description, schema))
        }
    };
    JsonValue::List(listed.chain(filters).collect())
}

fn parameter(parameter: &Parameter) -> JsonValue {
    let head = object([
        ("name", parameter.name.into()),
        ("in", "query".into()),
        ("description", parameter.description(|name| format!("`{name}`")).into()),
        ("required", parameter.required.into()),
    ]);
    let example = parameter.example;
    match parameter.value {
        ValueType::Name => head.with("schema", typed("string")).with("example", example),
        ValueType::Names => {
            let names = typed("array").with("items", typed("string"));
            let head = head.with("style", "form").with("explode", false).with("schema", names);
            head.with("example", texts(example.split(',')))
        }
        ValueType::Strings => {
            let texts = typed("array").with("items", typed("string"));
            head.with("style", "form").with("explode", true).with("schema", texts).with("example", vec![example.into()])
        }
        ValueType::Count { default, most } => {
            let count = typed("integer").with("minimum", 0_usize).with("maximum", most).with("default", default);
            // An example of a number is a number.
            head.with("schema", count).with("example", example.parse::<usize>().unwrap_or(default))
        }
        ValueType::Date => head.with("schema", typed("string").with("format", "date")).with("example", example),
        ValueType::Month => {
            let schema = typed("string")
                .with("pattern", "^([0-9]{4}-[0-9]{2}|previous-mtd)(,([0-9]{4}-[0-9]{2}|previous-mtd))*$");
            head.with("schema", schema).with("example", example)
        }
        ValueType::Interval => {
            let schema = one_of(Interval::ALL.map(Interval::name));
            head.with("schema", schema.with("default", Interval::default().to_string())).with("example", example)
        }
        ValueType::Pattern(pattern) => {
            head.with("schema", typed("string").with("pattern", pattern)).with("example", example)
        }
        ValueType::Flag => {
            head.with("schema", typed("string").with("pattern", "^(true|false)$")).with("example", example)
        }
        ValueType::Rows => head
            .with("schema", typed("integer").with("minimum", 0_usize))
            .with("example", example.parse().unwrap_or(0_usize)),
        // No endpoint has these.
        ValueType::Range => head.with("schema", typed("string")).with("example", example),
        ValueType::Filter => head.with("content", json(reference("schemas", "Filter"))),
    }
}

/// Returns the parameters that are named after the fields on which they filter.
fn filters(description: &'static str, schema: JsonValue) -> JsonValue {
    object([
        // With `explode`, each member of the object is a parameter of its own. This name is never sent.
        ("name", "filters".into()),
        ("in", "query".into()),
        ("description", description.into()),
        ("required", false.into()),
        ("style", "form".into()),
        ("explode", true.into()),
        ("schema", schema),
    ])
}

/// Returns the responses of an operation by status.
fn responses(operation: &'static str) -> JsonValue {
    let mut by_status: BTreeMap<u16, Vec<ErrorExample>> = BTreeMap::new();
    for example in error_examples().into_iter().filter(|example| example.at.contains(&operation)) {
        by_status.entry(example.error.status()).or_default().push(example);
    }
    let errors = by_status.iter().map(|(status, examples)| (status.to_string(), error_response(examples)));
    object(std::iter::once(("200".to_owned(), success_response(operation))).chain(errors))
}

/// Returns the responses that belong to no operation: to other paths and to other methods.
pub(super) fn shared_responses() -> JsonValue {
    let elsewhere = error_examples().into_iter().filter(|example| example.at.is_empty());
    object(elsewhere.map(|example| {
        let name = example.error.code().unwrap_or_default();
        (name, error_response(&[example]))
    }))
}

fn success_response(operation: &'static str) -> JsonValue {
    let (schema, means) = match operation {
        "access" => ("AccessAnswer", "What the credentials can access."),
        "events" => (
            "EventsAnswer",
            "One row for each combination of values of the dimensions, in each sub-range. With `why`, what numbers of one of \
             these rows are made of. With `Accept: application/vnd.apache.parquet` or `text/csv`, the same rows, or the lines, as a Parquet file or as CSV.",
        ),
        "benchmarks" => {
            ("BenchmarksAnswer", "One row for each series of each combination of values of the dimensions.")
        }
        _ => ("InsightsAnswer", "The documents, by account, then date."),
    };
    let mut headers = vec![
        (
            "Content-Encoding",
            header("string", "`gzip`, unless the request rules it out, or the answer is a Parquet file."),
        ),
        ("Vary", header("string", "`Accept-Encoding`; with `Accept`, if the request asks for Parquet or CSV.")),
        ("Cache-Control", header("string", "`no-store`.")),
        (
            "Trueup-Remaining-Requests",
            header("integer", "With `$remaining=true`, how many more requests the hour allows. Otherwise absent."),
        ),
    ];
    if operation == "events" {
        let means = "The names of fields and filters that are neither in the dictionary nor in the data of the requested accounts, \
                     separated by commas, percent-encoded where a header could not carry them. Absent if there are none.";
        headers.push(("Trueup-Unknown-Fields", header("string", means)));
        let means = "The currencies whose amounts the answer adds up as if they were one, such as `CAD, USD`; `none` is that of \
                     accounts that state none. Absent if the answer adds up no amounts of different currencies.";
        headers.push(("Trueup-Currencies", header("string", means)));
        let means = "Next to `$targets`, why targets are null, in sentences that are separated by commas and percent-encoded. \
                     Absent if none is.";
        headers.push(("Trueup-Notes", header("string", means)));
        let means = "Of Parquet and CSV, the name of the file, such as `attachment; filename=\"events-2025-01-01-2025-03-31.parquet\"`.";
        headers.push(("Content-Disposition", header("string", means)));
    }
    let content = json(reference("schemas", schema));
    let content = match operation {
        // A binary body has no schema.
        "events" => content.with(PARQUET, object::<&str>([])).with(CSV, object([("schema", typed("string"))])),
        _ => content,
    };
    object([("description", means.into()), ("headers", object(headers)), ("content", content)])
}

fn error_response(examples: &[ErrorExample]) -> JsonValue {
    let descriptions = examples.iter().map(|example| match example.error.code() {
        Some(code) => format!("`{code}`: {}", example.when),
        None => format!("Without a code: {}", example.when),
    });
    let described = object([("description", descriptions.collect::<Vec<_>>().join("\n\n").into())]);
    // Several examples may have the same header.
    let headers = examples.iter().filter_map(|example| example.header);
    let headers: BTreeMap<_, _> = headers.map(|(name, kind, means)| (name, header(kind, means))).collect();
    let described = if headers.is_empty() { described } else { described.with("headers", object(headers)) };
    let examples = object(examples.iter().map(|example| (example.name, example_value(example))));
    let media = object([("schema", reference("schemas", "Error")), ("examples", examples)]);
    described.with("content", object([("application/json", media)]))
}

fn example_value(example: &ErrorExample) -> JsonValue {
    let body = object([("error", example.error.to_string().into())]);
    let body = match example.error.code() {
        Some(code) => body.with("code", code),
        None => body,
    };
    object([("summary", example.when.into()), ("value", body)])
}

fn header(kind: &'static str, means: &'static str) -> JsonValue {
    object([("description", means.into()), ("schema", typed(kind))])
}

/// Returns content that is JSON with this schema.
fn json(schema: JsonValue) -> JsonValue {
    object([("application/json", object([("schema", schema)]))])
}

/// The name of the security scheme of keys.
const KEY: &str = "apiKey";
/// The name of the security scheme of sessions.
const SESSION: &str = "session";

/// Returns the requirement of a user key.
pub(super) fn by_key() -> JsonValue {
    requirement(KEY)
}

/// Returns the requirement of a session.
fn by_session() -> JsonValue {
    requirement(SESSION)
}

fn requirement(scheme: &'static str) -> JsonValue {
    object([(scheme, Vec::new().into())])
}

/// Returns the ways to authenticate.
pub(super) fn security_schemes() -> JsonValue {
    object([
        (
            KEY,
            scheme("header", "Authorization")
                .with("description", "The user API key alone, without a prefix such as `Bearer`."),
        ),
        (
            SESSION,
            scheme("cookie", "session")
                .with("description", "The token of a signed-in session, which only `/api` accepts."),
        ),
    ])
}

fn scheme(place: &'static str, name: &'static str) -> JsonValue {
    object([("type", "apiKey".into()), ("in", place.into()), ("name", name.into())])
}
