//! The parts of the document that follow from the code.

use super::error_examples::{ErrorExample, error_examples};
use super::json_value::{JsonValue, object, texts};
use crate::ATTRIBUTION_WINDOW_DAYS;
use crate::benchmarks::Series;
use crate::dictionary::{self, Field, FieldKind};
use crate::query::Interval;
use crate::service::Limits;
use crate::service::endpoint::ENDPOINTS;
use crate::service::endpoint::description::{Endpoint, OtherParameters, Parameter, ValueType};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the part of this name. The name of an operation may follow, such as in `errors events`.
pub(super) fn part(name: &str) -> JsonValue {
    let (part, operation) = name.split_once(' ').unwrap_or((name, ""));
    match part {
        "version" => env!("CARGO_PKG_VERSION").into(),
        "codes" => sorted(error_examples().iter().filter_map(|example| example.error.code())),
        "formats" => sorted(dictionary::fields().map(|field| field.format.name())),
        "series" => texts(Series::ALL.map(Series::name)),
        "fields" if operation == "events" => event_fields(),
        "fields" => benchmark_fields(),
        "errors" if operation == "elsewhere" => errors_elsewhere(),
        "errors" => errors(operation),
        _ => object(ENDPOINTS.iter().filter(|endpoint| endpoint.name == operation).flat_map(head)),
    }
}

fn sorted(names: impl Iterator<Item = &'static str>) -> JsonValue {
    texts(names.collect::<BTreeSet<_>>())
}

/// Returns the members of an operation that come before its responses.
fn head(endpoint: &Endpoint) -> [(&'static str, JsonValue); 4] {
    [
        ("operationId", endpoint.name.into()),
        ("summary", endpoint.summary.into()),
        ("description", format!("{}{}", endpoint.notes, limits(endpoint.name)).into()),
        ("parameters", parameters(endpoint)),
    ]
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

/// Returns the query parameters of an endpoint.
fn parameters(endpoint: &Endpoint) -> JsonValue {
    let listed = endpoint.parameters.iter().chain(endpoint.additions.iter().copied().flatten()).map(parameter);
    let filters = match endpoint.other_parameters {
        OtherParameters::Ignored => None,
        OtherParameters::AnyField(description) => {
            Some(filters(description, typed("object").with("additionalProperties", typed("string"))))
        }
        OtherParameters::Dimensions(description) => {
            let supports = |field: &&Field| endpoint.fields.is_some_and(|supports| supports(field));
            let dimensions = dictionary::fields().filter(|field| !is_metric(field)).filter(supports);
            let dimensions = dimensions.map(|field| (field.name, typed("string")));
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
    let (text, example) = (typed("string"), parameter.example);
    let list = |explode: bool, example: JsonValue| {
        let texts = typed("array").with("items", typed("string"));
        head.clone().with("style", "form").with("explode", explode).with("schema", texts).with("example", example)
    };
    let schema = match parameter.value {
        ValueType::Names => return list(false, texts(example.split(','))),
        ValueType::Strings => return list(true, texts([example])),
        ValueType::Filter => return head.with("content", json([("schema", reference("Filter"))])),
        ValueType::Rows | ValueType::Count { .. } => {
            let count = typed("integer").with("minimum", 0_usize);
            let count = match parameter.value {
                ValueType::Count { default, most } => count.with("maximum", most).with("default", default),
                _ => count,
            };
            // An example of a number is a number.
            return head.with("schema", count).with("example", example.parse().unwrap_or(0_usize));
        }
        ValueType::Date => text.with("format", "date"),
        ValueType::Month => {
            text.with("pattern", "^([0-9]{4}-[0-9]{2}|previous-mtd)(,([0-9]{4}-[0-9]{2}|previous-mtd))*$")
        }
        ValueType::Interval => {
            let names = text.with("enum", texts(Interval::ALL.map(Interval::name)));
            names.with("default", Interval::default().to_string())
        }
        ValueType::Pattern(pattern) => text.with("pattern", pattern),
        ValueType::Flag => text.with("pattern", "^(true|false)$"),
        ValueType::Name | ValueType::Range => text,
    };
    head.with("schema", schema).with("example", example)
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

/// Returns the columns of events that the dictionary has, as members of a row.
fn event_fields() -> JsonValue {
    object(dictionary::fields().chain(dictionary::duration_fields()).map(|field| {
        let value = if is_metric(field) { "number" } else { "string" };
        (field.name, typed(value).with("description", definition(field)))
    }))
}

/// Returns the fields that have benchmarks, as members of a row.
fn benchmark_fields() -> JsonValue {
    object(dictionary::fields().filter(|field| field.benchmark).map(|field| {
        let schema = if is_metric(field) {
            let text = format!("{} Rounded to three significant digits; null if withheld.", definition(field));
            object([("type", texts(["number", "null"]))]).with("description", text)
        } else {
            typed("string").with("description", definition(field))
        };
        (field.name, schema)
    }))
}

fn is_metric(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Metric(_))
}

/// Returns the name and definition of a field.
fn definition(field: &Field) -> String {
    format!("{}. {}", field.display_name, field.definition)
}

/// Returns the error responses of an operation by status.
fn errors(operation: &str) -> JsonValue {
    let mut by_status: BTreeMap<u16, Vec<ErrorExample>> = BTreeMap::new();
    for example in error_examples().into_iter().filter(|example| example.at.iter().any(|at| at == operation)) {
        by_status.entry(example.error.status()).or_default().push(example);
    }
    object(by_status.iter().map(|(status, examples)| (status.to_string(), error_response(examples))))
}

/// Returns the responses that belong to no operation, by code: to other paths and to other methods.
fn errors_elsewhere() -> JsonValue {
    let elsewhere = error_examples().into_iter().filter(|example| example.at.is_empty());
    object(elsewhere.map(|example| (example.error.code().unwrap_or_default(), error_response(&[example]))))
}

fn error_response(examples: &[ErrorExample]) -> JsonValue {
    let descriptions = examples.iter().map(|example| match example.error.code() {
        Some(code) => format!("`{code}`: {}", example.when),
        None => format!("Without a code: {}", example.when),
    });
    let described = object([("description", descriptions.collect::<Vec<_>>().join("\n\n").into())]);
    // Several examples may have the same header.
    let headers = examples.iter().filter_map(|example| example.header.clone());
    let headers: BTreeMap<_, _> = headers.map(|(name, kind, means)| (name, header(kind, means))).collect();
    let described = if headers.is_empty() { described } else { described.with("headers", object(headers)) };
    let examples = object(examples.iter().map(|example| (example.name.clone(), example_value(example))));
    described.with("content", json([("schema", reference("Error")), ("examples", examples)]))
}

fn example_value(example: &ErrorExample) -> JsonValue {
    let body = object([("error", example.error.to_string().into())]);
    let body = match example.error.code() {
        Some(code) => body.with("code", code),
        None => body,
    };
    object([("summary", example.when.clone().into()), ("value", body)])
}

fn header(kind: String, means: String) -> JsonValue {
    object([("description", means.into()), ("schema", typed(kind))])
}

/// Returns content that is JSON with these members.
fn json<const N: usize>(members: [(&'static str, JsonValue); N]) -> JsonValue {
    object([("application/json", object(members))])
}

/// Returns the schema of values of one type.
fn typed(name: impl Into<JsonValue>) -> JsonValue {
    object([("type", name.into())])
}

/// Returns a reference to a schema.
fn reference(name: &str) -> JsonValue {
    object([("$ref", format!("#/components/schemas/{name}").into())])
}
