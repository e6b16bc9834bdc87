//! A request of HTTP as the facade takes it.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use trueup::Interrupt;
use trueup::service::Request;

/// The same request for [`Service::handle`](trueup::service::Service::handle).
pub(crate) fn facade_request(parts: &Parts, interrupt: Interrupt) -> Request {
    Request {
        method: parts.method.as_str().to_owned(),
        path_and_query: parts.uri.path_and_query().map(|both| both.as_str().to_owned()).unwrap_or_default(),
        authorization: joined(&parts.headers, &header::AUTHORIZATION, ", "),
        accept_encoding: joined(&parts.headers, &header::ACCEPT_ENCODING, ", "),
        cookie: joined(&parts.headers, &header::COOKIE, "; "),
        interrupt,
    }
}

/// All values of a header. Bytes that are no UTF-8 are replaced: no key and no encoding has any, and a header that is there must not
/// be taken for none.
fn joined(headers: &HeaderMap, name: &HeaderName, between: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let first = values.next()?.into_owned();
    Some(values.fold(first, |all, value| all + between + &value))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use axum::http;

    fn parts(request: http::request::Builder) -> Parts {
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn path_and_query_are_those_that_were_sent() {
        for sent in ["/api/a%2Cb/events/?fields=a%2Cb&x=+%20&x=%5B%22or%22%5D", "/api?", "/", "*"] {
            let parts = parts(http::Request::get(sent));
            assert_eq!(facade_request(&parts, Interrupt::default()).path_and_query, sent);
        }
        let absolute = parts(http::Request::get("http://host:1/api/a/events?b=c"));
        assert_eq!(facade_request(&absolute, Interrupt::default()).path_and_query, "/api/a/events?b=c");
    }

    #[test]
    fn headers_given_several_times_are_joined() {
        let request = http::Request::get("/")
            .header("Accept-Encoding", "br")
            .header("accept-encoding", "gzip;q=0")
            .header("Cookie", "a=b")
            .header("Cookie", "session=c");
        let request = facade_request(&parts(request), Interrupt::default());
        assert_eq!(request.accept_encoding.as_deref(), Some("br, gzip;q=0"));
        assert_eq!(request.cookie.as_deref(), Some("a=b; session=c"));
        assert_eq!(request.authorization, None);
    }

    #[test]
    fn a_header_that_is_no_text_is_still_there() {
        let request = http::Request::get("/").header("Authorization", &b"tu_\xff"[..]);
        let request = facade_request(&parts(request), Interrupt::default());
        assert_eq!(request.authorization.as_deref(), Some("tu_\u{fffd}"));
    }
}
