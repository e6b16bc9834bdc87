//! The parameters of endpoints.

use super::node::{JsonValue, object, reference, texts};
use super::one_of;
use crate::query::Interval;
use crate::service::endpoint::description::Endpoint;
use crate::service::endpoint::description::{OtherParameters, Parameter, ValueType};

/// The name that paths give the segment of the organization.
pub(super) const ORGANIZATION: &str = "organization";

/// The segment of the organization.
pub(super) fn organization() -> JsonValue {
    object([
        ("name", ORGANIZATION.into()),
        ("in", "path".into()),
        (
            "description",
            "An organization, or an account key in place of one; GET /api lists both. An id that is both means the \
             organization."
                .into(),
        ),
        ("required", true.into()),
        ("schema", text()),
    ])
}

/// The parameters of a query to an endpoint.
pub(super) fn of(endpoint: &Endpoint) -> JsonValue {
    let listed = endpoint.parameters.iter().map(one);
    let filters = match endpoint.other_parameters {
        OtherParameters::Ignored => None,
        OtherParameters::AnyField(means) => {
            Some(filters(means, object([("type", "object".into()), ("additionalProperties", text())])))
        }
        OtherParameters::Dimensions(means) => {
            let dimensions = super::schema::dimensions(endpoint).map(|field| (field.name, text()));
            let schema = object([("type", "object".into()), ("properties", object(dimensions))]);
            Some(filters(means, schema.with("additionalProperties", false)))
        }
    };
    JsonValue::List(listed.chain(filters).collect())
}

fn one(parameter: &Parameter) -> JsonValue {
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

/// Parameters that are named by what they filter on.
fn filters(means: &'static str, schema: JsonValue) -> JsonValue {
    object([
        // Exploded, each member of the object is a parameter; this name is sent nowhere.
        ("name", "filters".into()),
        ("in", "query".into()),
        ("description", means.into()),
        ("required", false.into()),
        ("style", "form".into()),
        ("explode", true.into()),
        ("schema", schema),
    ])
}

fn text() -> JsonValue {
    object([("type", "string".into())])
}
