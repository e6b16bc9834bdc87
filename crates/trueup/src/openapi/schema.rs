//! What the bodies of answers are made of.

mod access;
mod benchmarks;
mod error;
mod events;
mod filter;
mod insights;

use super::node::{JsonValue, object, reference};
use crate::dictionary::{self, Field, FieldKind};
use crate::service::endpoint::description::Endpoint;

/// Every schema, by name.
pub(super) fn components() -> JsonValue {
    let schemas = [
        access::schemas(),
        events::schemas(),
        benchmarks::schemas(),
        insights::schemas(),
        filter::schemas(),
        error::schemas(),
    ];
    object(schemas.into_iter().flatten())
}

/// The dimensions that an endpoint knows.
pub(super) fn dimensions(endpoint: &Endpoint) -> impl Iterator<Item = &'static Field> {
    let knows = endpoint.fields;
    dictionary::fields().filter(move |field| !is_metric(field) && knows.is_some_and(|knows| knows(field)))
}

fn is_metric(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Metric(_))
}

/// What the dictionary says of a field, in a sentence or more.
fn definition(field: &Field) -> String {
    format!("{}. {}", field.display_name, field.definition)
}

/// Values of one type.
fn typed(name: &'static str) -> JsonValue {
    object([("type", name.into())])
}

/// Values of one type, and what they mean.
fn meant(name: &'static str, means: impl Into<JsonValue>) -> JsonValue {
    typed(name).with("description", means)
}

/// A day as text.
fn day(means: &'static str) -> JsonValue {
    typed("string").with("format", "date").with("description", means)
}

/// A list of what a schema describes.
fn list_of(name: &str) -> JsonValue {
    typed("array").with("items", reference("schemas", name))
}

/// An object: the names that it always has, and its members.
fn members(required: &[&'static str], properties: impl IntoIterator<Item = (&'static str, JsonValue)>) -> JsonValue {
    let required: Vec<JsonValue> = required.iter().map(|name| (*name).into()).collect();
    let object_type = typed("object");
    let schema = if required.is_empty() { object_type } else { object_type.with("required", required) };
    schema.with("properties", object(properties))
}
