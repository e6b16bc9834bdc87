//! Rows of metrics.

use super::super::node::{JsonValue, object};
use super::{day, definition, is_metric, list_of, meant, members, typed};
use crate::dictionary;

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let interval = [
        ("start", day("The first day of the sub-range; absent with the interval `total`.")),
        ("end", day("The last day of the sub-range; absent with the interval `total`.")),
    ];
    let fields = dictionary::fields().map(|field| {
        let value = if is_metric(field) { "number" } else { "string" };
        (field.name, meant(value, definition(field)))
    });
    let row = members(&[], interval.into_iter().chain(fields)).with("additionalProperties", typed("string")).with(
        "description",
        "One member for each field that was asked for, in that order: a number for a metric, a text for a dimension. A \
             dimension without a value is the empty text. Any column of the data is a dimension, listed here or not.",
    );
    vec![("EventsAnswer", list_of("EventsRow")), ("EventsRow", row), ("Dictionary", dictionary_schema())]
}

fn dictionary_schema() -> JsonValue {
    typed("object")
        .with(
            "description",
            "What every field means, by its name; those of lead grading only for accounts that have it.",
        )
        .with("additionalProperties", object([("$ref", "#/components/schemas/DictionaryEntry".into())]))
}
