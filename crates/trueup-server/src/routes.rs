//! Which path leads where: what is the server's own, and everything else to the facade.

use crate::Settings;
use crate::connection_state::{ConnectionState, RequestStage};
use crate::facade_request::facade_request;
use crate::http_error::{HttpError, json};
use crate::ignored_body;
use crate::response::ResponseHead;
use crate::workers::Workers;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, header};
use axum::routing::get;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use trueup::service::{Service, ServiceError};
use trueup::{Interrupt, Interruption};

/// The facade, and how many may ask it at once.
#[derive(Clone)]
struct Facade {
    service: Arc<Service>,
    permits: Arc<Semaphore>,
    threads: Arc<Threads>,
    body_limit: usize,
    body_time: Duration,
}

/// The threads that work for requests.
pub(crate) struct Threads {
    /// Ask the facade.
    askers: Workers,
    /// Make what is sent of an answer after its first chunks, which takes little time and should not wait for queries.
    writers: Arc<Workers>,
}

impl Threads {
    pub(crate) fn new(settings: &Settings) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            askers: Workers::new("trueup-query", settings.max_requests_at_once),
            writers: Arc::new(Workers::new("trueup-answer", cores)),
        }
    }

    /// Whether nothing is being done.
    pub(crate) fn are_idle(&self) -> bool {
        self.askers.is_idle() && self.writers.is_idle()
    }
}

pub(crate) fn router(service: Arc<Service>, threads: Arc<Threads>, settings: &Settings) -> Router {
    let facade = Facade {
        service,
        permits: Arc::new(Semaphore::new(settings.max_requests_at_once.clamp(1, Semaphore::MAX_PERMITS))),
        threads,
        body_limit: settings.max_ignored_body_bytes,
        body_time: settings.header_timeout,
    };
    Router::new()
        .route("/health", get(health).fallback(ask))
        .route("/openapi.json", get(openapi).fallback(ask))
        .fallback(ask)
        .with_state(facade)
}

async fn health() -> Response<Body> {
    json(r#"{"status":"ok"}"#)
}

async fn openapi() -> Response<Body> {
    json(trueup::openapi::document())
}

/// Asks the facade, in a thread for blocking work. The time of a request runs while it waits for its turn too.
async fn ask(State(facade): State<Facade>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if !parts.headers.contains_key(header::EXPECT) {
        let activity = parts.extensions.get::<ConnectionState>();
        let enter = |stage| activity.into_iter().for_each(|activity| activity.enter(stage));
        enter(RequestStage::Body);
        ignored_body::read(body, facade.body_limit, facade.body_time).await;
        enter(RequestStage::Work);
    }
    let deadline = facade.service.limits().deadline;
    let interrupt = CancelOnDrop(Interrupt::after(deadline));
    let asked = facade_request(&parts, interrupt.0.clone());
    let permit = match timeout(deadline, Arc::clone(&facade.permits).acquire_owned()).await {
        Ok(Ok(permit)) => permit,
        // Never closed, so that there is always a permit in the end.
        Ok(Err(_)) => return HttpError::Internal.response(),
        Err(_) => {
            let refused = facade.service.refuse(&asked, ServiceError::Timeout(Interruption::Deadline));
            return facade.sent(ResponseHead::new(refused));
        }
    };
    let span = tracing::Span::current();
    let service = Arc::clone(&facade.service);
    let begun = facade.threads.askers.begin(move || {
        let _entered = span.entered();
        let begun = ResponseHead::new(service.handle(&asked));
        // Not before: a query that nobody waits for any more still works until it sees so.
        drop(permit);
        begun
    });
    let begun = match begun {
        Ok(begun) => begun.await,
        Err(error) => {
            tracing::error!(cause = %error, "a request was not answered: there is no thread for it");
            return HttpError::Internal.response();
        }
    };
    match begun {
        Ok(begun) => facade.sent(begun),
        Err(_) => {
            // What the panic said may hold data.
            tracing::error!("a request was not answered: it panicked");
            HttpError::Internal.response()
        }
    }
}

impl Facade {
    fn sent(&self, begun: io::Result<ResponseHead>) -> Response<Body> {
        match begun {
            Ok(begun) => begun.response(&self.threads.writers),
            Err(error) => {
                tracing::error!(cause = %error, "an answer could not be written");
                HttpError::Internal.response()
            }
        }
    }
}

/// Cancels a query when the connection that waits for it is gone; afterwards it does nothing.
struct CancelOnDrop(Interrupt);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
