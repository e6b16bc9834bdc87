//! The description of the service for programs: OpenAPI 3.1, made from what the service itself is made of.
//!
//! Endpoints and their parameters are those that the service routes to, errors those that it answers with, fields those of the
//! [dictionary](crate::dictionary), and limits the default [`Limits`](crate::service::Limits).
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(trueup::openapi::document())?;
//! assert_eq!(document["openapi"], "3.1.0");
//! assert_eq!(document["paths"]["/api/{organization}/events"]["get"]["operationId"], "events");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod node;
mod operation;
mod parameter;
mod refusal;
mod response;
mod schema;
mod security;

use crate::service::endpoint::ENDPOINTS;
use node::{JsonValue, object, texts};
use std::sync::LazyLock;

/// The version of OpenAPI that the document follows.
const VERSION: &str = "3.1.0";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| described().to_string());

/// The description of the service, as indented JSON that ends with a line break; the same for every dataset, directory and limit.
#[must_use]
pub fn document() -> &'static str {
    &DOCUMENT
}

fn described() -> JsonValue {
    object([
        ("openapi", VERSION.into()),
        ("info", info()),
        ("servers", vec![object([("url", "/".into())])].into()),
        ("security", vec![security::by_key()].into()),
        ("paths", paths()),
        (
            "components",
            object([
                ("schemas", schema::components()),
                ("responses", response::components()),
                ("securitySchemes", security::schemes()),
            ]),
        ),
    ])
}

fn info() -> JsonValue {
    object([
        ("title", "trueup".into()),
        ("summary", "Revenue-reconciled marketing and lead-funnel figures.".into()),
        (
            "description",
            "A read-only service: metrics over funnel events and spend, benchmarks of an industry, and published insights. \
             Every request is a GET, every answer is JSON in UTF-8, compressed with gzip unless `Accept-Encoding` rules that \
             out. Any other method is answered as the component `method-not-allowed` says, any other path as `not-found`; one \
             slash at the end of a path is ignored. Names of fields and of parameters, and the values of filters, are told \
             apart by letter case. The service is in beta: endpoints, fields and responses may change."
                .into(),
        ),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ])
}

fn paths() -> JsonValue {
    let access = ("/api".to_owned(), object([("get", operation::access())]));
    let endpoints = ENDPOINTS.iter().map(|endpoint| {
        let path = format!("/api/{{{}}}/{}", parameter::ORGANIZATION, endpoint.name);
        let item = [("parameters", vec![parameter::organization()].into()), ("get", operation::of(endpoint))];
        (path, object(item))
    });
    object(std::iter::once(access).chain(endpoints))
}

/// A list of distinct names that a value is one of.
fn one_of(names: impl IntoIterator<Item = impl Into<JsonValue>>) -> JsonValue {
    object([("type", "string".into()), ("enum", texts(names))])
}
