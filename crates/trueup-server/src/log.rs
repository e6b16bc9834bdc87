//! The log, which has one line per request, and the id of a request in its line and its response. Of what the client
//! sent, the line contains the id and the names of a known method and endpoint. It contains no path, no query and no
//! other header, because those may contain a key or data of customers.

use crate::body::Body;
use crate::connection_state::InFlightGuard;
use crate::endpoint::endpoint_name;
use crate::operations::Operations;
use http::{HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes};
use hyper::body::{Frame, SizeHint};
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::BuildHasher;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use trueup::service::ServiceError;

/// The header of the id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that a client may give, in bytes.
const MAX_LENGTH: usize = 64;

/// An id with this number of letters and digits in a row, or more, may be a key or a session token, which must not be
/// logged. Usual ids have fewer.
const SECRET_LENGTH: usize = 40;

/// The generator of ids.
#[derive(Debug, Default)]
pub(crate) struct RequestIds {
    /// Random keys, drawn once per server. A keyed hash of a counter is as good as a random number, and cannot fail.
    random: RandomState,
    next: AtomicU64,
}

impl RequestIds {
    /// Returns the id that the client gives in the header [`REQUEST_ID`], if it is valid; otherwise a new one.
    pub(crate) fn of(&self, given: Option<&str>) -> String {
        given.filter(|text| is_id(text)).map_or_else(|| self.fresh(), str::to_owned)
    }

    /// Returns a new id: 16 hexadecimal digits.
    fn fresh(&self) -> String {
        format!("{:016x}", self.random.hash_one(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Converts an id to the value of a header. Every id that [`RequestIds`] returns is a valid value.
pub(crate) fn id_header(id: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(id).ok()
}

/// Returns whether an id of a client may be used: short, of harmless characters, and not like a secret.
fn is_id(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && text.split(['-', '_', '.']).all(|part| part.len() < SECRET_LENGTH)
}

/// The log entry of a request that is being answered. Dropping it ends the request and writes the line.
pub(crate) struct RequestLog {
    id: String,
    method: &'static str,
    endpoint: &'static str,
    begun: Instant,
    /// The status of the answer; 0 if the client disconnects before there is one.
    status: u16,
    /// Bytes of the body that were handed to the connection.
    bytes: u64,
    /// Whether the whole answer was handed to the connection.
    is_complete: bool,
    operations: Arc<Operations>,
    _in_flight: InFlightGuard,
}

impl RequestLog {
    pub(crate) fn new(
        id: String,
        method: &Method,
        path: &str,
        operations: Arc<Operations>,
        in_flight: InFlightGuard,
    ) -> Self {
        let (method, endpoint) = (method_name(method), endpoint_name(path));
        Self {
            id,
            method,
            endpoint,
            begun: Instant::now(),
            status: 0,
            bytes: 0,
            is_complete: false,
            operations,
            _in_flight: in_flight,
        }
    }

    /// Records the status, and returns a body that records what is sent of `body`.
    pub(crate) fn answered(mut self, status: u16, body: Body) -> Body {
        self.status = status;
        self.operations.metrics.answered(self.endpoint, self.begun.elapsed());
        // hyper never polls an empty body, nor the body of an answer to HEAD.
        self.is_complete = self.method == "HEAD" || body.is_end_stream();
        LoggedBody { body, log: self }.boxed_unsync()
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        self.operations.metrics.ended(self.endpoint, self.status, self.bytes);
        let milliseconds = self.begun.elapsed().as_secs_f64() * 1e3;
        tracing::info!(
            id = %self.id,
            method = self.method,
            endpoint = self.endpoint,
            status = self.status,
            bytes = self.bytes,
            milliseconds = (milliseconds * 1e3).round() / 1e3,
            complete = self.is_complete,
            "request"
        );
    }
}

/// A body that counts the bytes that are sent.
struct LoggedBody {
    body: Body,
    log: RequestLog,
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                self.log.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
                self.log.is_complete = self.body.is_end_stream();
            }
            Some(Err(error)) => tracing::error!(id = %self.log.id, cause = %error, "an answer was cut off"),
            None => self.log.is_complete = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the name of a method; `other` for any but the standard ones, because the client may have sent anything.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// Logs the cause of an answer with a status of 500 or more, in the span of the request, which contains its id. The
/// failure of benchmarks that no request waited for has no span. Errors with a lower status are not logged. Give this
/// function to [`ServiceBuilder::on_failure`](trueup::service::ServiceBuilder::on_failure).
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use trueup::access::{Directory, DirectorySettings, MemoryDirectory};
/// # fn service(dataset: trueup::Dataset) -> Result<(), trueup::access::Error> {
/// use trueup::service::Service;
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(DirectorySettings::default())?);
/// let service = Service::builder(Arc::new(dataset), directory).on_failure(trueup_server::log_failure).build();
/// # Ok(())
/// # }
/// ```
pub fn log_failure(error: &ServiceError) {
    let status = error.status();
    match error {
        _ if status < 500 => {}
        ServiceError::Timeout(interruption) => tracing::warn!(status, cause = %interruption, "not answered"),
        ServiceError::Overloaded(_) => tracing::warn!(status, "not answered: out of memory"),
        ServiceError::BenchmarksGathering(_) => {
            tracing::info!(status, "not answered: benchmarks are being computed");
        }
        other => tracing::error!(status, cause = causes(other), "not answered"),
    }
}

/// Joins the sources of an error. The answer to the client does not contain them.
fn causes(error: &ServiceError) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // A transparent error has the message of its source.
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_id_of_a_client_is_kept() {
        let long = ["a-".repeat(32), "a-".repeat(33)];
        for id in ["a", "0af7651916cd43dd8448eb211c80319c", "2b1c7f0e-3a4d-4a6e-9a3b-0d9b8f5f6f10", "a_b.c-1", &long[0]]
        {
            assert!(is_id(id), "{id}");
        }
        let key = format!("tu_{}", "k".repeat(43));
        for id in ["", "a b", "a/b", "ü", "a\n", "a\"", &long[1], &key, &key[3..]] {
            assert!(!is_id(id), "{id}");
        }
    }

    #[test]
    fn new_ids_differ() {
        let ids = RequestIds::default();
        let (first, second) = (ids.of(None), ids.of(Some("not an id")));
        assert_ne!(first, second);
        assert!(is_id(&first) && first.len() == 16, "{first}");
    }
}
