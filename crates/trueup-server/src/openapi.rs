//! `GET /openapi.json`: the description of the API, which is compressed once and which clients may cache.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::sync::LazyLock;
use trueup::service::accepts_gzip;

/// How long clients may use the document without asking again. It changes only with the program.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The document in one encoding.
struct Representation {
    body: Bytes,
    /// The entity tag, with its quotation marks. Each encoding has its own.
    tag: String,
}

static PLAIN: LazyLock<Representation> =
    LazyLock::new(|| Representation { body: Bytes::from_static(trueup::openapi::document().as_bytes()), tag: tag("") });

/// `None` if the document cannot be compressed.
static COMPRESSED: LazyLock<Option<Representation>> = LazyLock::new(|| {
    let body = compress(trueup::openapi::document()).ok()?;
    Some(Representation { body: body.into(), tag: tag("-gzip") })
});

/// Answers a request, with 304 if the client has the document already.
pub(crate) fn answer(request: &HeaderMap, accept_encoding: Option<&str>) -> Response<Body> {
    let compressed = accepts_gzip(accept_encoding).then(|| COMPRESSED.as_ref()).flatten();
    let document = compressed.unwrap_or(&PLAIN);
    let is_known = request.get_all(header::IF_NONE_MATCH).iter().any(|tags| lists(tags.as_bytes(), &document.tag));
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(document.body.clone()) });
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(tag) = HeaderValue::from_str(&document.tag) {
        headers.insert(header::ETAG, tag);
    }
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    if compressed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns whether a value of `If-None-Match` lists a tag, or is `*`. A weak tag counts as the strong one.
fn lists(value: &[u8], tag: &str) -> bool {
    let mut tags = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    tags.any(|listed| listed == b"*" || listed.strip_prefix(b"W/").unwrap_or(listed) == tag.as_bytes())
}

/// Returns the entity tag of the document. `DefaultHasher::new` has fixed keys, so all servers of one build agree.
fn tag(encoding: &str) -> String {
    let mut hasher = DefaultHasher::new();
    trueup::openapi::document().hash(&mut hasher);
    format!("\"{:016x}{encoding}\"", hasher.finish())
}

fn compress(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_may_have_weak_ones() {
        for value in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " W/\"b\" ,W/\"a\""] {
            assert!(lists(value.as_bytes(), "\"a\""), "{value}");
        }
        for value in ["", "a", "\"b\"", "\"A\"", "w/\"a\"", "\"a-gzip\""] {
            assert!(!lists(value.as_bytes(), "\"a\""), "{value}");
        }
    }
}
