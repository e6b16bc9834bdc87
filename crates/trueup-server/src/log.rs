//! One line per request, without anything that a caller wrote but the id: a path, a query, a header may hold a key or the data of
//! customers.

use crate::connection_state::InFlightGuard;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::Method;
use http_body::{Frame, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use trueup::service::{ServiceError, Upstream};

/// A request that is being answered; dropping it ends the request and writes its line.
pub(crate) struct RequestLog {
    id: String,
    method: &'static str,
    endpoint: &'static str,
    begun: Instant,
    /// 0 until there is an answer: the caller went away before.
    status: u16,
    bytes: u64,
    /// Whether all of the answer was handed to the connection.
    is_complete: bool,
    _answering: InFlightGuard,
}

impl RequestLog {
    pub(crate) fn new(id: String, method: &Method, path: &str, answering: InFlightGuard) -> Self {
        let (method, endpoint) = (method_name(method), endpoint_name(path));
        Self {
            id,
            method,
            endpoint,
            begun: Instant::now(),
            status: 0,
            bytes: 0,
            is_complete: false,
            _answering: answering,
        }
    }

    /// The answer is about to be sent.
    pub(crate) fn answered(mut self, status: u16, body: Body) -> Body {
        self.status = status;
        // What has no body, or is asked for without it, is never polled.
        self.is_complete = self.method == "HEAD" || body.is_end_stream();
        Body::new(LoggedBody { body, log: self })
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
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

/// A body that counts what is taken of it.
struct LoggedBody {
    body: Body,
    log: RequestLog,
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
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

/// Methods that are none of these are words of the caller.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

fn endpoint_name(path: &str) -> &'static str {
    let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    match segments.as_slice() {
        ["", "health"] => "health",
        ["", "openapi.json"] => "openapi",
        ["", "api"] => "access",
        ["", "api", _, "events"] => "events",
        ["", "api", _, "benchmarks"] => "benchmarks",
        ["", "api", _, "insights"] => "insights",
        _ => "none",
    }
}

/// Logs why a request was answered with a status of 500 or more, in the span of the request, which holds its id. To be given to
/// [`ServiceBuilder::on_failure`](trueup::service::ServiceBuilder::on_failure).
///
/// ```
/// # use std::sync::Arc;
/// # use trueup::access::{Directory, MemoryDirectory, Settings};
/// # fn service(dataset: trueup::Dataset) {
/// use trueup::service::Service;
///
/// let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(Settings::default()));
/// let service = Service::builder(Arc::new(dataset), directory).on_failure(trueup_server::log_failure).build();
/// # }
/// ```
pub fn log_failure(error: &ServiceError) {
    let status = error.status();
    match error {
        _ if status < 500 => {}
        ServiceError::Timeout(interruption) => tracing::warn!(status, cause = %interruption, "not answered"),
        ServiceError::Overloaded { .. } => tracing::warn!(status, "not answered: no memory is left for it"),
        // Whose document it is, is not for logs.
        ServiceError::Upstream(Upstream::Document { date, source, .. }) => tracing::error!(
            status,
            cause = %format_args!("an insight of {date} does not read, at its column {}", source.column()),
            "not answered"
        ),
        other => tracing::error!(status, cause = causes(other), "not answered"),
    }
}

/// What the caller is not told.
fn causes(error: &ServiceError) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // A transparent error says what its source says.
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
    fn an_endpoint_is_told_without_its_path() {
        for (path, name) in [
            ("/api", "access"),
            ("/api/", "access"),
            ("/api/acme/events", "events"),
            ("/api/acme/events/", "events"),
            ("/api/acme/tu_secret", "none"),
            ("/tu_secret", "none"),
            ("/health", "health"),
            ("", "none"),
        ] {
            assert_eq!(endpoint_name(path), name, "{path}");
        }
    }
}
