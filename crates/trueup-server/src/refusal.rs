//! What the server answers by itself.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};

use crate::Settings;

/// Why a request is not handed on, or not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    UrlTooLong {
        limit: usize,
    },
    HeadersTooLarge {
        limit: usize,
    },
    TooManyHeaders {
        limit: usize,
    },
    /// trueup is at fault.
    Internal,
}

impl Refusal {
    /// What is too large, if anything is.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> Option<Self> {
        let url = uri.path_and_query().map_or(0, |both| both.as_str().len());
        let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>();
        if url > settings.max_url_bytes {
            Some(Self::UrlTooLong { limit: settings.max_url_bytes })
        } else if headers.len() > settings.max_headers {
            Some(Self::TooManyHeaders { limit: settings.max_headers })
        } else if bytes > settings.max_header_bytes {
            Some(Self::HeadersTooLarge { limit: settings.max_header_bytes })
        } else {
            None
        }
    }

    fn told(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::UrlTooLong { limit } => (
                StatusCode::URI_TOO_LONG,
                "url-too-long",
                format!("path and query are too long, and the limit is {limit} bytes; ask for fewer fields or filters"),
            ),
            Self::HeadersTooLarge { limit } => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers-too-large",
                format!("the headers are too large, and the limit is {limit} bytes; send fewer of them"),
            ),
            Self::TooManyHeaders { limit } => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers-too-large",
                format!("there are too many headers, and the limit is {limit}; send fewer of them"),
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal-error",
                "the service failed; retry later, and tell the operator the request id".to_owned(),
            ),
        }
    }

    /// The answer, in the form of the facade's errors.
    pub(crate) fn response(self) -> Response<Body> {
        let (status, code, words) = self.told();
        let mut response = json(serde_json::json!({ "error": words, "code": code }).to_string());
        *response.status_mut() = status;
        response
    }
}

/// A JSON text, not to be stored by anybody.
pub(crate) fn json(text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
