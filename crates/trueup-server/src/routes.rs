//! Which path leads where: what is the server's own, and everything else to the facade.

use crate::Settings;
use crate::activity::{Activity, Stage};
use crate::answer::Begun;
use crate::facade_request::facade_request;
use crate::ignored_body;
use crate::refusal::{Refusal, json};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, header};
use axum::routing::get;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use trueup::service::{Service, ServiceError};
use trueup::{Interrupt, Interruption};

/// The facade, and how many may ask it at once.
#[derive(Clone)]
struct Facade {
    service: Arc<Service>,
    permits: Arc<Semaphore>,
    body_limit: usize,
    body_time: Duration,
}

pub(crate) fn router(service: Arc<Service>, settings: &Settings) -> Router {
    let facade = Facade {
        service,
        permits: Arc::new(Semaphore::new(settings.max_requests_at_once.clamp(1, Semaphore::MAX_PERMITS))),
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
        let activity = parts.extensions.get::<Activity>();
        let enter = |stage| activity.into_iter().for_each(|activity| activity.enter(stage));
        enter(Stage::Body);
        ignored_body::read(body, facade.body_limit, facade.body_time).await;
        enter(Stage::Work);
    }
    let deadline = facade.service.limits().deadline;
    let interrupt = CancelOnDrop(Interrupt::after(deadline));
    let asked = facade_request(&parts, interrupt.0.clone());
    let permit = match timeout(deadline, facade.permits.acquire_owned()).await {
        Ok(Ok(permit)) => permit,
        // Never closed, so that there is always a permit in the end.
        Ok(Err(_)) => return Refusal::Internal.response(),
        Err(_) => {
            let refused = facade.service.refuse(&asked, ServiceError::Timeout(Interruption::Deadline));
            return sent(Begun::new(refused));
        }
    };
    let span = tracing::Span::current();
    let begun = spawn_blocking(move || {
        let _entered = span.entered();
        let begun = Begun::new(facade.service.handle(&asked));
        // Not before: a query that nobody waits for any more still works until it sees so.
        drop(permit);
        begun
    });
    match begun.await {
        Ok(begun) => sent(begun),
        Err(error) => {
            // What the panic said may hold data.
            tracing::error!(panicked = error.is_panic(), "a request was not answered");
            Refusal::Internal.response()
        }
    }
}

fn sent(begun: io::Result<Begun>) -> Response<Body> {
    match begun {
        Ok(begun) => begun.response(),
        Err(error) => {
            tracing::error!(cause = %error, "an answer could not be written");
            Refusal::Internal.response()
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
