//! `GET /openapi.json`: the description of the API.

use crate::body::Body;
use crate::static_file::StaticFile;
use http::{HeaderMap, Response};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<StaticFile> = LazyLock::new(|| {
    let content = trueup::openapi::document().as_bytes();
    StaticFile::new("application/json; charset=utf-8", "public, max-age=3600", content)
});

/// Answers a request, with 304 if the client has the document already.
pub(crate) fn answer(request: &HeaderMap, accept_encoding: Option<&str>) -> Response<Body> {
    DOCUMENT.answer(request, accept_encoding)
}
