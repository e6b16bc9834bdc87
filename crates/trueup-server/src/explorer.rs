//! `GET /explore`: the page of the explorer, and the files that it loads. They are built from `web` and are part of the
//! program.

use crate::body::{Body, whole};
use crate::static_file::StaticFile;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use hyper::body::Bytes;
use std::sync::LazyLock;

/// What a browser allows the page: files and answers of its own server, and images in `data:` URLs. The page may load
/// nothing else, and must not run a text as a program.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of the page and of its files, besides those of every static file.
static HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// The page. Browsers ask for it every time, because it names the files of the newest build.
static PAGE: LazyLock<StaticFile> =
    LazyLock::new(|| StaticFile::new("text/html; charset=utf-8", "no-cache", include_bytes!("../web/dist/page.html")));

/// The names and contents of the files that the page loads. A name contains the hash of the content.
static ASSETS: &[(&str, &[u8])] = &include!("../web/dist/assets.rs");

/// The files that the page loads, in the order of [`ASSETS`].
static FILES: LazyLock<Vec<(&str, StaticFile)>> = LazyLock::new(|| {
    let file = |&(name, content): &(&'static str, &'static [u8])| {
        let content_type =
            if name.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        (name, StaticFile::new(content_type, "public, max-age=31536000, immutable", content))
    };
    ASSETS.iter().map(file).collect()
});

/// Answers a request for the page.
pub(crate) fn page(request: &HeaderMap, accept_encoding: Option<&str>) -> Response<Body> {
    with_headers(PAGE.answer(request, accept_encoding))
}

/// Sends a client to the page, whose links are relative to its address without a slash at the end. The new address is
/// relative too, because a proxy may serve the page below another path.
pub(crate) fn moved() -> Response<Body> {
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("../explore"));
    response
}

/// Answers a request for a file of the page; `None` if there is no such file.
pub(crate) fn file(path: &str, request: &HeaderMap, accept_encoding: Option<&str>) -> Option<Response<Body>> {
    let name = path.strip_prefix("/explore/")?;
    let (_, file) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(with_headers(file.answer(request, accept_encoding)))
}

fn with_headers(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().extend(HEADERS.iter().cloned());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_files_that_exist() {
        let page = std::str::from_utf8(include_bytes!("../web/dist/page.html")).unwrap();
        let named = page.split('"').filter_map(|part| part.strip_prefix("explore/"));
        assert_eq!(named.collect::<Vec<_>>(), ASSETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
