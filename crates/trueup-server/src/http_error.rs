//! The errors that the server answers without the facade.

use crate::body::Body;
use crate::head_reader::HeadReader;
use crate::response::ResponseHead;
use crate::settings::Settings;
use http::uri::Authority;
use http::{HeaderMap, Request, Response, StatusCode, Version, header};
use trueup::service::Response as FacadeResponse;

/// Why a request is not passed to the facade, or not answered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpError {
    /// The bytes are not a request of HTTP/1.1.
    Malformed,
    /// This and the following have the limit.
    UrlTooLong(usize),
    HeadersTooLarge(usize),
    TooManyHeaders(usize),
    /// The header `Host` does not follow RFC 9112, section 3.2.
    Host(HostFault),
    /// The body of a request to a door is larger than this, or has not arrived in time.
    Body(usize),
    /// The listener of operators has no such path.
    NotForOperators,
    /// trueup is at fault.
    Internal,
}

/// The fault of the header `Host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostFault {
    Missing,
    Repeated,
    Invalid,
}

impl HostFault {
    fn of(version: Version, headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::HOST).iter();
        let Some(value) = values.next() else {
            // HTTP/1.0 does not have this header.
            return (version >= Version::HTTP_11).then_some(Self::Missing);
        };
        if values.next().is_some() {
            return Some(Self::Repeated);
        }
        // A target without a host requires an empty value.
        let is_host = |bytes: &[u8]| {
            let host = Authority::try_from(bytes);
            bytes.is_empty() || !bytes.contains(&b'@') && host.is_ok_and(|host| !host.host().is_empty())
        };
        (!is_host(value.as_bytes())).then_some(Self::Invalid)
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Missing => "the header `Host` is missing; send it once, as HTTP/1.1 asks",
            Self::Repeated => "the header `Host` is given more than once; send it once",
            Self::Invalid => {
                "the header `Host` is not a host; send a name or an address, with `:` and the port if there is one"
            }
        }
    }
}

/// The longest URL that hyper reads, in bytes.
const MAX_TARGET_BYTES: usize = 65_534;

impl HttpError {
    /// Checks a request against the limits, and its header `Host`. Returns `None` if it may be passed to the facade.
    pub(crate) fn of<B>(request: &Request<B>, settings: &Settings) -> Option<Self> {
        let (uri, headers) = (request.uri(), request.headers());
        let url = uri.path_and_query().map_or(0, |both| both.as_str().len());
        let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>();
        if url > settings.max_url_bytes {
            Some(Self::UrlTooLong(settings.max_url_bytes))
        } else if headers.len() > settings.max_headers {
            Some(Self::TooManyHeaders(settings.max_headers))
        } else if bytes > settings.max_header_bytes {
            Some(Self::HeadersTooLarge(settings.max_header_bytes))
        } else {
            HostFault::of(request.version(), headers).map(Self::Host)
        }
    }

    /// Returns why hyper has refused a request with a status, as far as the head of the request shows it.
    pub(crate) fn of_refused(status: StatusCode, head: &HeadReader, settings: &Settings) -> Self {
        let too_long = Self::UrlTooLong(settings.max_url_bytes.min(MAX_TARGET_BYTES));
        match status {
            StatusCode::URI_TOO_LONG => too_long,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE if head.is_in_target() => too_long,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE if head.headers() > settings.max_headers => {
                Self::TooManyHeaders(settings.max_headers)
            }
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Self::HeadersTooLarge(settings.max_header_bytes),
            _ => Self::Malformed,
        }
    }

    /// Returns the status, the code and the message.
    fn parts(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::Malformed => (
                StatusCode::BAD_REQUEST,
                "malformed-request",
                "the request is not valid HTTP/1.1; send a first line such as `GET /api HTTP/1.1`, and headers such as \
                 `Host: localhost`"
                    .to_owned(),
            ),
            Self::UrlTooLong(limit) => (
                StatusCode::URI_TOO_LONG,
                "url-too-long",
                format!("path and query are too long, and the limit is {limit} bytes; ask for fewer fields or filters"),
            ),
            Self::HeadersTooLarge(limit) => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers-too-large",
                format!("the headers are too large, and the limit is {limit} bytes; send fewer of them"),
            ),
            Self::TooManyHeaders(limit) => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers-too-large",
                format!("there are too many headers, and the limit is {limit}; send fewer of them"),
            ),
            Self::Host(fault) => (StatusCode::BAD_REQUEST, "invalid-host", fault.message().to_owned()),
            Self::Body(limit) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-large",
                format!("the body is too large or did not arrive in time, and the limit is {limit} bytes; send a smaller one"),
            ),
            Self::NotForOperators => (
                StatusCode::NOT_FOUND,
                "not-found",
                "there is no such path at this address; ask for `/metrics`, `/health` or `/ready`, and for everything else \
                 at the address of the service"
                    .to_owned(),
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal-error",
                "the service failed; retry later, and tell the operator the request id".to_owned(),
            ),
        }
    }

    /// Returns the response in the form of the facade's errors.
    pub(crate) fn facade_response(self, accept_encoding: Option<&str>) -> FacadeResponse {
        let (status, code, message) = self.parts();
        FacadeResponse::error(status.as_u16(), code, &message, accept_encoding)
    }

    /// Returns the response to send.
    pub(crate) fn response(self, accept_encoding: Option<&str>) -> Response<Body> {
        // Neither an error nor its compressed form can fail to be written to memory, and either is a single chunk.
        let head = ResponseHead::new(self.facade_response(accept_encoding)).ok();
        head.and_then(ResponseHead::whole).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Version, hosts: &[&[u8]]) -> Option<HttpError> {
        let request =
            hosts.iter().fold(Request::get("/api").version(version), |request, host| request.header("Host", *host));
        HttpError::of(&request.body(()).unwrap(), &Settings::default())
    }

    #[test]
    fn the_header_host_must_name_one_host() {
        let hosts: [&[u8]; 8] = [
            b"",
            b"h",
            b"example.com",
            b"example.com:8080",
            b"127.0.0.1:1",
            b"[::1]:8080",
            b"xn--bcher-kva.example",
            b"a_b",
        ];
        for host in hosts {
            assert_eq!(check(Version::HTTP_11, &[host]), None, "{}", String::from_utf8_lossy(host));
        }
        let invalid: [&[u8]; 8] = [b"a b", b"a/b", b"u@h", b"h:1:2", b":80", b"\xff", b"a?b", b"http://h"];
        for host in invalid {
            let found = check(Version::HTTP_11, &[host]);
            assert_eq!(found, Some(HttpError::Host(HostFault::Invalid)), "{}", String::from_utf8_lossy(host));
        }
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(check(version, &[b"h", b"h"]), Some(HttpError::Host(HostFault::Repeated)));
        }
        assert_eq!(check(Version::HTTP_11, &[]), Some(HttpError::Host(HostFault::Missing)));
        assert_eq!(check(Version::HTTP_10, &[]), None);
    }
}
