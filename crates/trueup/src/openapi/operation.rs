//! What is done at a path.

use super::node::{JsonValue, object};
use super::{parameter, response, security};
use crate::ATTRIBUTION_WINDOW_DAYS;
use crate::service::Limits;
use crate::service::endpoint::description::Endpoint;

/// The name of the operation that lists what the credentials reach.
pub(super) const ACCESS: &str = "access";

/// What the credentials reach.
pub(super) fn access() -> JsonValue {
    object([
        ("operationId", ACCESS.into()),
        ("summary", "What the credentials reach".into()),
        (
            "description",
            "The organizations and accounts that the credentials reach, the endpoints, and the dictionary of fields. \
             Parameters are ignored."
                .into(),
        ),
        ("security", vec![security::by_key(), security::by_session()].into()),
        ("responses", response::of(ACCESS)),
    ])
}

/// An endpoint of an organization.
pub(super) fn of(endpoint: &Endpoint) -> JsonValue {
    object([
        ("operationId", endpoint.name.into()),
        ("summary", endpoint.summary.into()),
        ("description", format!("{}{}", endpoint.notes, limits(endpoint.name)).into()),
        ("parameters", parameter::of(endpoint)),
        ("responses", response::of(endpoint.name)),
    ])
}

/// How much one request may ask for, unless the service was set up otherwise.
fn limits(endpoint: &str) -> String {
    let Limits { account_intervals, rows, cells, documents, deadline, benchmarks_wait, .. } = Limits::default();
    let seconds = deadline.as_secs();
    match endpoint {
        "events" => format!(
            " One sub-range has at most {ATTRIBUTION_WINDOW_DAYS} days. Unless the service is set up otherwise, accounts times \
             sub-ranges are at most {account_intervals}, rows before filters on metrics at most {rows}, rows times columns at most \
             {cells}, and a request takes at most {seconds} seconds."
        ),
        "benchmarks" => format!(
            " Unless the service is set up otherwise, a request waits at most {} seconds for figures that are being gathered.",
            benchmarks_wait.as_secs()
        ),
        "insights" => format!(" Unless the service is set up otherwise, at most {documents} documents may match."),
        _ => String::new(),
    }
}
