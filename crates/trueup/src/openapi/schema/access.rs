//! What credentials reach, and the dictionary.

use super::super::node::{JsonValue, reference};
use super::super::one_of;
use super::{list_of, meant, members, typed};
use crate::dictionary;
use crate::service::endpoint::access::format_name;
use std::collections::BTreeSet;

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let answer = members(
        &["user", "organizations", "endpoints", "dictionary"],
        [
            ("user", meant("string", "The login that the credentials belong to.")),
            ("organizations", list_of("Organization")),
            ("endpoints", list_of("Endpoint")),
            ("dictionary", reference("schemas", "Dictionary")),
        ],
    );
    let organization = members(
        &["organization", "accounts"],
        [
            ("organization", meant("string", "What the path of the endpoints takes.")),
            ("accounts", names("Its account keys within reach, sorted; each works in the path too.")),
        ],
    );
    let endpoint = members(
        &["endpoint", "path", "parameters"],
        [
            ("endpoint", meant("string", "Its name.")),
            ("path", meant("string", "Its path, with `{organization}` for the organization.")),
            ("parameters", names("The names of its parameters.")),
            ("metrics", names("The metrics that it knows.")),
            ("dimensions", names("The dimensions that it knows.")),
            ("notes", meant("string", "What to know besides.")),
        ],
    );
    vec![("AccessAnswer", answer), ("Organization", organization), ("Endpoint", endpoint), ("DictionaryEntry", entry())]
}

fn names(means: &'static str) -> JsonValue {
    meant("array", means).with("items", typed("string"))
}

fn entry() -> JsonValue {
    let formats: BTreeSet<&'static str> = dictionary::fields().map(|field| format_name(field.format)).collect();
    members(
        &["displayName", "definition", "type", "format"],
        [
            ("displayName", meant("string", "The name for people.")),
            ("definition", meant("string", "What the field counts, and how.")),
            ("type", one_of(["dimension", "metric"])),
            ("format", one_of(formats).with("description", "How a value is written for people.")),
            ("benchmarkable", meant("boolean", "True on metrics that have benchmarks; absent on others.")),
            ("benchmarkDimension", meant("boolean", "True on dimensions of benchmarks; absent on others.")),
            ("possibleValues", names("The values, where they can be listed.")),
        ],
    )
}
