//! The OpenAPI 3.1 document of the service, generated from the code.
//!
//! It lists the endpoints and parameters by which the service routes, the errors of its table of errors, the fields of
//! the [dictionary](crate::dictionary), and the default [`Limits`](crate::service::Limits).
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(trueup::openapi::document())?;
//! assert_eq!(document["openapi"], "3.1.0");
//! assert_eq!(document["paths"]["/api/{organization}/events"]["get"]["operationId"], "events");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod error_examples;
mod json_value;
mod operation;
mod schema;

use crate::service::endpoint::ENDPOINTS;
use json_value::{JsonValue, object};
use std::sync::LazyLock;

/// The version of OpenAPI that the document follows.
const VERSION: &str = "3.1.0";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| build().to_string());

/// Returns the document as indented JSON that ends with a line break. It does not depend on any dataset or directory,
/// or on the limits that a service has instead of the default ones.
#[must_use]
pub fn document() -> &'static str {
    &DOCUMENT
}

fn build() -> JsonValue {
    object([
        ("openapi", VERSION.into()),
        ("info", info()),
        ("servers", vec![object([("url", "/".into())])].into()),
        ("security", vec![operation::by_key()].into()),
        ("paths", paths()),
        (
            "components",
            object([
                ("schemas", schema::components()),
                ("responses", operation::shared_responses()),
                ("securitySchemes", operation::security_schemes()),
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
             Every request is a GET. Every answer is JSON in UTF-8, compressed with gzip unless `Accept-Encoding` rules gzip \
             out; only rows of events come as a Parquet file, uncompressed, if `Accept` asks for it. Any other method gets \
             the response `method-not-allowed` of the components, any other path the response `not-found`. One slash at the \
             end of a path is ignored. Names of fields and parameters, and the values of filters, are case-sensitive. The \
             service is in beta: endpoints, fields and responses may change."
                .into(),
        ),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ])
}

fn paths() -> JsonValue {
    let access = ("/api".to_owned(), object([("get", operation::access())]));
    let endpoints = ENDPOINTS.iter().map(|endpoint| {
        let path = format!("/api/{{{}}}/{}", operation::ORGANIZATION, endpoint.name);
        let item = [("parameters", vec![operation::organization()].into()), ("get", operation::endpoint(endpoint))];
        (path, object(item))
    });
    object(std::iter::once(access).chain(endpoints))
}
