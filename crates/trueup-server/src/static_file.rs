//! A file that is part of the program: it is compressed once, and clients may cache it.

use crate::body::{Body, whole};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use hyper::body::Bytes;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use trueup::service::accepts_gzip;

/// A file in both encodings.
pub(crate) struct StaticFile {
    content_type: HeaderValue,
    /// How long clients may use the file without asking again. It changes only with the program.
    cache_control: HeaderValue,
    plain: Representation,
    /// `None` if the file cannot be compressed.
    compressed: Option<Representation>,
}

/// The file in one encoding.
struct Representation {
    body: Bytes,
    /// The entity tag, with its quotation marks. Each encoding has its own.
    tag: String,
}

impl StaticFile {
    pub(crate) fn new(content_type: &'static str, cache_control: &'static str, content: &'static [u8]) -> Self {
        let compressed = compress(content).ok();
        Self {
            content_type: HeaderValue::from_static(content_type),
            cache_control: HeaderValue::from_static(cache_control),
            plain: Representation { body: Bytes::from_static(content), tag: tag(content, "") },
            compressed: compressed.map(|body| Representation { body: body.into(), tag: tag(content, "-gzip") }),
        }
    }

    /// Answers a request, with 304 if the client has the file already.
    pub(crate) fn answer(&self, request: &HeaderMap, accept_encoding: Option<&str>) -> Response<Body> {
        let compressed = accepts_gzip(accept_encoding).then_some(self.compressed.as_ref()).flatten();
        let file = compressed.unwrap_or(&self.plain);
        let is_known = request.get_all(header::IF_NONE_MATCH).iter().any(|tags| lists(tags.as_bytes(), &file.tag));
        let mut response = Response::new(if is_known { whole(Bytes::new()) } else { whole(file.body.clone()) });
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, self.cache_control.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Ok(tag) = HeaderValue::from_str(&file.tag) {
            headers.insert(header::ETAG, tag);
        }
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(header::CONTENT_TYPE, self.content_type.clone());
        if compressed.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// Returns whether a value of `If-None-Match` lists a tag, or is `*`. A weak tag counts as the strong one.
fn lists(value: &[u8], tag: &str) -> bool {
    let mut tags = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    tags.any(|listed| listed == b"*" || listed.strip_prefix(b"W/").unwrap_or(listed) == tag.as_bytes())
}

/// Returns the entity tag of a file. `DefaultHasher::new` has fixed keys, so all servers of one build agree.
fn tag(content: &[u8], encoding: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("\"{:016x}{encoding}\"", hasher.finish())
}

fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
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
