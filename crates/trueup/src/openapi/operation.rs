//! The operations: parameters, security and limits.

use super::json_value::{JsonValue, object, one_of, reference, texts};
use super::{response, schema};
use crate::ATTRIBUTION_WINDOW_DAYS;
use crate::query::Interval;
use crate::service::Limits;
use crate::service::endpoint::description::{Endpoint, OtherParameters, Parameter, ValueType};

/// The id of the operation `GET /api`.
pub(super) const ACCESS: &str = "access";

/// Returns the operation of `GET /api`.
pub(super) fn access() -> JsonValue {
    object([
        ("operationId", ACCESS.into()),
        ("summary", "What the credentials can access".into()),
        (
            "description",
            "The organizations and accounts that the credentials can access, the endpoints, and the dictionary of fields. \
             Parameters are ignored."
                .into(),
        ),
        ("security", vec![by_key(), by_session()].into()),
        ("responses", response::of(ACCESS)),
    ])
}

/// Returns the operation of an endpoint.
pub(super) fn endpoint(endpoint: &Endpoint) -> JsonValue {
    object([
        ("operationId", endpoint.name.into()),
        ("summary", endpoint.summary.into()),
        ("description", format!("{}{}", endpoint.notes, limits(endpoint.name)).into()),
        ("parameters", parameters(endpoint)),
        ("responses", response::of(endpoint.name)),
    ])
}

/// Returns the sentences about the default limits.
fn limits(endpoint: &str) -> String {
    let Limits { account_intervals, rows, cells, documents, deadline, benchmarks_wait, .. } = Limits::default();
    let seconds = deadline.as_secs();
    match endpoint {
        "events" => format!(
            " One sub-range has at most {ATTRIBUTION_WINDOW_DAYS} days. Unless the operator sets other limits, accounts times \
             sub-ranges are at most {account_intervals}, rows before filters on metrics at most {rows}, rows times columns at most \
             {cells}, and a request takes at most {seconds} seconds."
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
            "An organization, or an account key in place of one; `GET /api` lists both. An id that is both names the \
             organization."
                .into(),
        ),
        ("required", true.into()),
        ("schema", text()),
    ])
}

/// Returns the query parameters of an endpoint.
fn parameters(endpoint: &Endpoint) -> JsonValue {
    let listed = endpoint.parameters.iter().map(parameter);
    let filters = match endpoint.other_parameters {
        OtherParameters::Ignored => None,
        OtherParameters::AnyField(description) => {
            Some(filters(description, object([("type", "object".into()), ("additionalProperties", text())])))
        }
        OtherParameters::Dimensions(description) => {
            let dimensions = schema::dimensions(endpoint).map(|field| (field.name, text()));
            let schema = object([("type", "object".into()), ("properties", object(dimensions))]);
            Some(filters(description, schema.with("additionalProperties", false)))
        }
    };
    JsonValue::List(listed.chain(filters).collect())
}

fn parameter(parameter: &Parameter) -> JsonValue {
    let head = object([
        ("name", parameter.name.into()),
        ("in", "query".into()),
        ("description", parameter.description.into()),
        ("required", parameter.required.into()),
    ]);
    let example = parameter.example;
    match parameter.value {
        ValueType::Name => head.with("schema", text()).with("example", example),
        ValueType::Names => {
            let names = object([("type", "array".into()), ("items", text())]);
            let head = head.with("style", "form").with("explode", false).with("schema", names);
            head.with("example", texts(example.split(',')))
        }
        ValueType::Date => head.with("schema", text().with("format", "date")).with("example", example),
        ValueType::Month => {
            let schema = text().with("pattern", "^([0-9]{4}-[0-9]{2}|previous-mtd)$");
            head.with("schema", schema).with("example", example)
        }
        ValueType::Interval => {
            let all = Interval::ALL.iter();
            let usual = all.clone().filter(|(_, interval)| *interval == Interval::default()).map(|(name, _)| *name);
            let schema = one_of(all.map(|(name, _)| *name));
            let schema = usual.fold(schema, |schema, name| schema.with("default", name));
            head.with("schema", schema).with("example", example)
        }
        ValueType::Filter => {
            let media = object([("schema", reference("schemas", "Filter"))]);
            head.with("content", object([("application/json", media)]))
        }
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

fn text() -> JsonValue {
    object([("type", "string".into())])
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
