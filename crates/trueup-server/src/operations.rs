//! What operators ask of a server: `GET /metrics`, `GET /ready` and `GET /health`.

use crate::body::{Body, whole};
use crate::metrics::{self, Metrics, Sample};
use crate::readiness::Readiness;
use crate::request_queue::RequestQueue;
use crate::slots::ConnectionSlots;
use http::{HeaderValue, Response, StatusCode, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trueup::service::Service;

/// How the attempts of a program to open newer versions of the dataset end. Operators see it in `/metrics`. Clones
/// share one report. [`Server::refresh_report`](crate::Server::refresh_report) has an example.
#[derive(Clone, Debug, Default)]
pub struct RefreshReport(Arc<RefreshState>);

#[derive(Debug, Default)]
struct RefreshState {
    is_failing: AtomicBool,
    failures: AtomicU64,
}

impl RefreshReport {
    /// Records that the service uses the newest version.
    pub fn succeeded(&self) {
        self.0.is_failing.store(false, Ordering::Relaxed);
    }

    /// Records that the newest version cannot be opened, so that the service uses an older one.
    pub fn failed(&self) {
        self.0.is_failing.store(true, Ordering::Relaxed);
        self.0.failures.fetch_add(1, Ordering::Relaxed);
    }
}

/// What operators see of a server.
pub(crate) struct Operations {
    service: Arc<Service>,
    queue: Arc<RequestQueue>,
    slots: Arc<ConnectionSlots>,
    refreshes: RefreshReport,
    pub(crate) metrics: Metrics,
    readiness: Readiness,
}

impl Operations {
    /// # Errors
    /// As [`Metrics::new`].
    pub(crate) fn new(
        service: Arc<Service>,
        queue: Arc<RequestQueue>,
        slots: Arc<ConnectionSlots>,
        refreshes: RefreshReport,
    ) -> Result<Self, prometheus::Error> {
        let (metrics, readiness) = (Metrics::new()?, Readiness::default());
        Ok(Self { service, queue, slots, refreshes, metrics, readiness })
    }

    /// Records that the server stops.
    pub(crate) fn drain(&self) {
        self.readiness.drain();
    }

    /// Answers `/ready`. Reads files, so it must not run on a thread of the asynchronous runtime.
    pub(crate) fn ready(&self) -> Response<Body> {
        match self.readiness.check(&self.service) {
            Ok(()) => json(StatusCode::OK, r#"{"status":"ready"}"#),
            Err(not_ready) => json(StatusCode::SERVICE_UNAVAILABLE, not_ready.body()),
        }
    }

    /// Answers `/metrics`. Reads files, so it must not run on a thread of the asynchronous runtime.
    ///
    /// # Errors
    /// As [`Metrics::text`].
    pub(crate) fn metrics(&self) -> Result<Response<Body>, prometheus::Error> {
        Ok(uncached(StatusCode::OK, metrics::CONTENT_TYPE, whole(self.metrics.text(&self.sample())?)))
    }

    fn sample(&self) -> Sample<'_> {
        Sample {
            is_ready: self.readiness.check(&self.service).is_ok(),
            slots: &self.slots,
            queue: &self.queue,
            service: &self.service,
            dataset: self.service.dataset(),
            is_refresh_failing: self.refreshes.0.is_failing.load(Ordering::Relaxed),
            refresh_failures: self.refreshes.0.failures.load(Ordering::Relaxed),
        }
    }
}

/// Answers `/health`: a server that answers is alive.
pub(crate) fn health() -> Response<Body> {
    json(StatusCode::OK, r#"{"status":"ok"}"#)
}

fn json(status: StatusCode, body: &'static str) -> Response<Body> {
    uncached(status, "application/json; charset=utf-8", whole(body))
}

fn uncached(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
