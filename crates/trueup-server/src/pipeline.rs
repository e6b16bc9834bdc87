//! What every request passes: its id, the limits, its line in the log.

use crate::Settings;
use crate::connection_state::{ConnectionState, InFlightGuard, RequestStage};
use crate::http_error::HttpError;
use crate::log::RequestLog;
use crate::request_id::{self, REQUEST_ID, RequestIds};
use crate::routes::{Threads, router};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use std::sync::Arc;
use tower_service::Service as _;
use tracing::Instrument as _;
use trueup::service::Service;

/// Answers requests of all connections.
pub(crate) struct Pipeline {
    pub(crate) settings: Settings,
    ids: RequestIds,
    router: Router,
    pub(crate) threads: Arc<Threads>,
}

impl Pipeline {
    pub(crate) fn new(service: Arc<Service>, settings: Settings) -> Self {
        let threads = Arc::new(Threads::new(&settings));
        let router = router(service, Arc::clone(&threads), &settings);
        Self { settings, ids: RequestIds::default(), router, threads }
    }

    /// The answer to a request of a connection. Dropping the future, or the body of the answer, ends the request.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Incoming>,
        activity: &ConnectionState,
        answering: InFlightGuard,
    ) -> Response<Body> {
        let id = self.ids.of(request.headers());
        let log = RequestLog::new(id.clone(), request.method(), request.uri().path(), answering);
        let response = match HttpError::of(&request, &self.settings) {
            Some(refusal) => refusal.response(),
            None => {
                request.extensions_mut().insert(activity.clone());
                let span = tracing::error_span!("request", %id);
                match self.router.clone().call(request).instrument(span).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
        };
        activity.enter(RequestStage::Answer);
        let (mut parts, body) = response.into_parts();
        if let Some(id) = request_id::header(&id) {
            parts.headers.insert(REQUEST_ID, id);
        }
        let body = log.answered(parts.status.as_u16(), body);
        Response::from_parts(parts, body)
    }
}
