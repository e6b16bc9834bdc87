//! The OpenAPI 3.1 document of the service.
//!
//! What does not follow from the code is in `openapi/document.json`; there, `@` and a name stand for a part that does:
//! the endpoints and parameters by which the service routes, the errors of its table of errors, the fields of the
//! [dictionary](crate::dictionary), and the default [`Limits`](crate::service::Limits).
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(trueup::openapi::document())?;
//! assert_eq!(document["openapi"], "3.1.0");
//! assert_eq!(document["paths"]["/api/{organization}/events"]["get"]["operationId"], "events");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod error_examples;
mod json_value;
mod parts;

use json_value::JsonValue;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let document = serde_json::from_str(include_str!("openapi/document.json"));
    // The tests read the document: one that is not JSON is never published.
    document.map_or_else(|error| error.to_string(), |document: JsonValue| document.fill(parts::part).to_string())
});

/// Returns the document as indented JSON that ends with a line break. It does not depend on any dataset or directory,
/// or on the limits that a service has instead of the default ones.
#[must_use]
pub fn document() -> &'static str {
    &DOCUMENT
}
