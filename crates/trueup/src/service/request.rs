//! What a caller sends.

use crate::Interrupt;
use std::fmt;

/// One request, as plain texts; a server over HTTP fills it from what arrives and adds nothing to its meaning.
///
/// ```
/// use trueup::service::Request;
///
/// let request = Request { authorization: Some("tu_0123".into()), ..Request::get("/api") };
/// assert!(!format!("{request:?}").contains("tu_0123"));
/// ```
#[derive(Clone, Default)]
pub struct Request {
    /// The method, in capitals: `GET`.
    pub method: String,
    /// The path, with the query after `?`; both as they are sent, percent-encoded.
    pub path_and_query: String,
    /// The header `Authorization`: the key alone.
    pub authorization: Option<String>,
    /// The header `Accept-Encoding`; several are joined by commas. `None` if there is none.
    pub accept_encoding: Option<String>,
    /// The header `Cookie`.
    pub cookie: Option<String>,
    /// Ends the request early, when the caller is gone; the deadline of the service's [`Limits`](super::Limits) holds besides.
    pub interrupt: Interrupt,
}

impl Request {
    /// A `GET` without headers.
    pub fn get(path_and_query: impl Into<String>) -> Self {
        Self { method: "GET".to_owned(), path_and_query: path_and_query.into(), ..Self::default() }
    }
}

impl fmt::Debug for Request {
    /// Without the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path_and_query", &self.path_and_query)
            .field("accept_encoding", &self.accept_encoding)
            .finish_non_exhaustive()
    }
}
