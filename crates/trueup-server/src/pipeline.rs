//! The path of a request through the server: id and log, limits, routing, the facade, and back.

use crate::body::Body;
use crate::connection_state::{ConnectionState, InFlightGuard, RequestStage};
use crate::door::{Door, DoorBody, bare_key};
use crate::endpoint::NO_ENDPOINT;
use crate::explorer;
use crate::head_reader::HeadReader;
use crate::http_error::HttpError;
use crate::log::{REQUEST_ID, RequestIds, RequestLog, id_header};
use crate::openapi;
use crate::operations::{Operations, RefreshReport, health};
use crate::refusal::Refusal;
use crate::request_queue::{RequestPermit, RequestQueue};
use crate::response::ResponseHead;
use crate::settings::Settings;
use crate::sign_in_links::SignInLinks;
use crate::slots::ConnectionSlots;
use crate::workers::Workers;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Body as HttpBody;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::Instrument as _;
use trueup::service::{Request as FacadeRequest, Service, ServiceError};
use trueup::{Interrupt, Interruption};

/// The place of the status in the first line of a response.
const STATUS: Range<usize> = "HTTP/1.1 ".len().."HTTP/1.1 400".len();

/// What all requests of a listener pass through.
pub(crate) struct Pipeline {
    pub(crate) settings: Settings,
    ids: RequestIds,
    facade: FacadeCaller,
    links: Option<SignInLinks>,
    doors: Vec<Arc<dyn Door>>,
    /// Whether this is the listener of operators.
    is_for_operators: bool,
}

impl Pipeline {
    /// Creates the pipeline of a service.
    ///
    /// # Errors
    /// As [`Operations::new`].
    pub(crate) fn new(
        service: Arc<Service>,
        settings: Settings,
        slots: Arc<ConnectionSlots>,
        refreshes: RefreshReport,
        links: Option<SignInLinks>,
        doors: Vec<Arc<dyn Door>>,
    ) -> Result<Self, prometheus::Error> {
        let queue = Arc::new(RequestQueue::new(settings.max_requests_at_once));
        let operations = Arc::new(Operations::new(Arc::clone(&service), Arc::clone(&queue), slots, refreshes)?);
        let facade = FacadeCaller::new(service, &settings, queue, operations);
        Ok(Self { settings, ids: RequestIds::default(), facade, links, doors, is_for_operators: false })
    }

    /// Creates the pipeline of the listener of operators, who ask about the same server.
    pub(crate) fn for_operators(&self) -> Self {
        Self {
            settings: self.settings.clone(),
            ids: RequestIds::default(),
            facade: self.facade.clone(),
            links: None,
            doors: Vec::new(),
            is_for_operators: true,
        }
    }

    /// Returns what operators see of the server.
    pub(crate) fn operations(&self) -> &Operations {
        &self.facade.operations
    }

    /// Answers a request of a connection. Dropping the future or the body of the response ends the request.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Incoming>,
        state: &ConnectionState,
        in_flight: InFlightGuard,
    ) -> Response<Body> {
        let id = self.ids.of(request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()));
        let operations = Arc::clone(&self.facade.operations);
        let log = RequestLog::new(id.clone(), request.method(), request.uri().path(), operations, in_flight);
        let response = match HttpError::of(&request, &self.settings) {
            Some(error) => error.response(accept_encoding(request.headers()).as_deref()),
            None => {
                request.extensions_mut().insert(state.clone());
                let span = tracing::error_span!("request", %id);
                if self.is_for_operators {
                    self.answer_operator(&request).instrument(span).await
                } else {
                    self.route(request).instrument(span).await
                }
            }
        };
        state.enter(RequestStage::Answer);
        let (mut parts, body) = response.into_parts();
        if let Some(id) = id_header(&id) {
            parts.headers.insert(REQUEST_ID, id);
        }
        let body = log.answered(parts.status.as_u16(), body);
        Response::from_parts(parts, body)
    }

    /// Answers a request by its method and path. A path with another method than it has is the facade's, as is any
    /// unknown path: it answers both as it answers all faults.
    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        let (path, headers) = (request.uri().path(), request.headers());
        let encoding = accept_encoding(headers);
        let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
        if let Some(door) = self.doors.iter().find(|door| door.path() == path) {
            let response = answer_at_door(&self.facade, &**door, request).await;
            return response.unwrap_or_else(|| HttpError::Internal.response(encoding.as_deref()));
        }
        match path {
            "/health" if is_get => health(),
            "/ready" if is_get => self.ready(headers).await,
            "/openapi.json" if is_get => openapi::answer(headers, encoding.as_deref()),
            "/explore/key" if request.method() == Method::POST && self.settings.explorer => match &self.links {
                Some(links) => exchange(links.clone(), headers.clone()).await,
                None => self.facade.call(request).await,
            },
            "/explore" if is_get && self.settings.explorer => explorer::page(headers, encoding.as_deref()),
            "/explore/" if is_get && self.settings.explorer => explorer::moved(),
            _ if is_get && self.settings.explorer => match explorer::file(path, headers, encoding.as_deref()) {
                Some(response) => response,
                None => self.facade.call(request).await,
            },
            _ => self.facade.call(request).await,
        }
    }

    /// Answers a request to the listener of operators.
    async fn answer_operator(&self, request: &Request<Incoming>) -> Response<Body> {
        let headers = request.headers();
        match request.uri().path() {
            "/health" | "/ready" | "/metrics" if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                let mut response = Response::new(Body::default());
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
                response
            }
            "/health" => health(),
            "/ready" => self.ready(headers).await,
            "/metrics" => {
                let metrics = |operations: &Operations| {
                    let written = operations.metrics();
                    written
                        .inspect_err(|error| tracing::error!(cause = %error, "the metrics could not be written"))
                        .ok()
                };
                self.facade.operate(headers, metrics).await
            }
            _ => not_for_operators(headers),
        }
    }

    async fn ready(&self, headers: &HeaderMap) -> Response<Body> {
        self.facade.operate(headers, |operations| Some(operations.ready())).await
    }

    /// Answers a request that hyper refuses because of its head. `replaced` is hyper's own response.
    pub(crate) fn refuse(&self, head: &HeadReader, replaced: &[u8]) -> io::Result<Refusal> {
        let id = self.ids.of(head.header(REQUEST_ID.as_str()).as_deref());
        let status = replaced.get(STATUS).and_then(|status| StatusCode::from_bytes(status).ok()).unwrap_or_default();
        let error = HttpError::of_refused(status, head, &self.settings);
        let response = error.facade_response(head.header(header::ACCEPT_ENCODING.as_str()).as_deref());
        let status = response.status;
        let refusal = Refusal::new(response, &id, head.is_head(), replaced)?;
        self.operations().metrics.ended(NO_ENDPOINT, status, refusal.body_bytes());
        tracing::info!(%id, status, "a request that is not valid HTTP/1.1, or far too large, was refused");
        Ok(refusal)
    }

    /// Returns whether no thread works for a request.
    pub(crate) fn is_idle(&self) -> bool {
        self.facade.query_threads.is_idle() && self.facade.answer_threads.is_idle()
    }
}

fn not_for_operators(headers: &HeaderMap) -> Response<Body> {
    HttpError::NotForOperators.response(accept_encoding(headers).as_deref())
}

/// Exchanges the token of a link for a key, on a thread that may wait for the directory.
async fn exchange(links: SignInLinks, headers: HeaderMap) -> Response<Body> {
    let accept_encoding = accept_encoding(&headers);
    let answer = spawn_blocking(move || links.answer(&headers)).await;
    answer.ok().flatten().unwrap_or_else(|| HttpError::Internal.response(accept_encoding.as_deref()))
}

/// The service, and the threads that work for its requests.
#[derive(Clone)]
struct FacadeCaller {
    service: Arc<Service>,
    queue: Arc<RequestQueue>,
    operations: Arc<Operations>,
    /// Answers operators, one at a time, even while all other threads are busy.
    operator_thread: Arc<Workers>,
    /// Run the requests.
    query_threads: Arc<Workers>,
    /// Look up users, and produce the chunks of an answer after the first two. This takes little time and should not
    /// wait for queries.
    answer_threads: Arc<Workers>,
    max_body_bytes: usize,
    body_timeout: Duration,
}

impl FacadeCaller {
    fn new(service: Arc<Service>, settings: &Settings, queue: Arc<RequestQueue>, operations: Arc<Operations>) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            service,
            queue,
            operations,
            operator_thread: Arc::new(Workers::new("trueup-operator", 1)),
            query_threads: Arc::new(Workers::new("trueup-query", settings.max_requests_at_once)),
            answer_threads: Arc::new(Workers::new("trueup-answer", cores)),
            max_body_bytes: settings.max_ignored_body_bytes,
            body_timeout: settings.header_timeout,
        }
    }

    /// Answers an operator on a thread that may block. Returns an error of the server if there is no answer.
    async fn operate(
        &self,
        headers: &HeaderMap,
        answer: impl FnOnce(&Operations) -> Option<Response<Body>> + Send + 'static,
    ) -> Response<Body> {
        let operations = Arc::clone(&self.operations);
        let answered = match self.operator_thread.start(move || answer(&operations)) {
            Ok(answer) => answer.await.ok().flatten(),
            Err(error) => {
                tracing::error!(cause = %error, "no thread could be started to answer an operator");
                None
            }
        };
        answered.unwrap_or_else(|| HttpError::Internal.response(accept_encoding(headers).as_deref()))
    }

    /// Passes a request to the facade. Returns an error of the server if the service is at fault.
    async fn call(&self, request: Request<Incoming>) -> Response<Body> {
        let accept_encoding = accept_encoding(request.headers());
        let response = try_facade(self, request).await;
        response.unwrap_or_else(|| HttpError::Internal.response(accept_encoding.as_deref()))
    }

    /// Returns the user of a request, who is looked up on a thread that may wait for the directory.
    async fn user(&self, request: &FacadeRequest) -> Option<String> {
        let (service, request) = (Arc::clone(&self.service), request.clone());
        self.answer_threads.start(move || service.user(&request)).ok()?.await.ok().flatten()
    }

    /// Waits for the turn of a request of a user, until its deadline.
    async fn enter(&self, user: Option<String>) -> Option<Result<RequestPermit, ServiceError>> {
        match timeout(self.service.limits().deadline, self.queue.enter(user)).await {
            Ok(permit) => permit.map(Ok),
            Err(_) => Some(Err(ServiceError::Timeout(Interruption::Deadline))),
        }
    }

    /// Returns the response to a request that is refused.
    fn refuse(&self, request: &FacadeRequest, error: ServiceError) -> Option<Response<Body>> {
        self.response(ResponseHead::new(self.service.refuse(request, error)))
    }

    /// Returns the response with the answer of a door to `request`, which has `permit`; a refusal if there is no memory
    /// for the answer.
    async fn sent(
        &self,
        request: &FacadeRequest,
        answer: Response<DoorBody>,
        permit: Option<RequestPermit>,
    ) -> Option<Response<Body>> {
        let (parts, body) = answer.into_parts();
        match body.into_body(&self.answer_threads, permit).await {
            Ok(body) => Some(Response::from_parts(parts, body)),
            Err(error) => self.refuse(request, error),
        }
    }

    /// Returns the response to send; `None` if there is none, because the service is at fault.
    fn response(&self, head: io::Result<ResponseHead>) -> Option<Response<Body>> {
        match head {
            Ok(head) => head.response(&self.answer_threads),
            Err(error) => {
                tracing::error!(cause = %error, "an answer could not be written");
                None
            }
        }
    }
}

/// Passes a request to the facade, on a thread that may block. The deadline includes time spent queued. Returns `None`,
/// and logs the cause, if the service is at fault.
async fn try_facade(facade: &FacadeCaller, request: Request<Incoming>) -> Option<Response<Body>> {
    let (parts, body) = request.into_parts();
    // hyper sends `100 Continue` only if the body is read. Without it, a client that sends `Expect` keeps its body.
    if !parts.headers.contains_key(header::EXPECT) {
        let state = parts.extensions.get::<ConnectionState>();
        let enter = |stage| state.into_iter().for_each(|state| state.enter(stage));
        enter(RequestStage::Body);
        ignore_body(body, facade.max_body_bytes, facade.body_timeout).await;
        enter(RequestStage::Work);
    }
    let interrupt = CancelOnDrop(Interrupt::after(facade.service.limits().deadline));
    let request = facade_request(&parts, interrupt.0.clone());
    let user = facade.user(&request).await;
    let permit = match facade.enter(user).await? {
        Ok(permit) => permit,
        Err(error) => return facade.refuse(&request, error),
    };
    let span = tracing::Span::current();
    let service = Arc::clone(&facade.service);
    let started = facade.query_threads.start(move || {
        let _entered = span.entered();
        let head = ResponseHead::new(service.handle(&request));
        // Released only now: a canceled query works until it notices, and must keep its permit.
        drop(permit);
        head
    });
    let head = match started {
        Ok(head) => head.await,
        Err(error) => {
            tracing::error!(cause = %error, "a request was not answered: no thread could be started for it");
            return None;
        }
    };
    match head {
        Ok(head) => facade.response(head),
        Err(_) => {
            // The message of the panic is not logged, because it may contain data.
            tracing::error!("a request was not answered: it panicked");
            None
        }
    }
}

/// Answers a request to the path of a door. Returns `None`, and logs the cause, if the service is at fault.
async fn answer_at_door(facade: &FacadeCaller, door: &dyn Door, request: Request<Incoming>) -> Option<Response<Body>> {
    let (mut parts, body) = request.into_parts();
    if !parts.headers.contains_key(header::AUTHORIZATION)
        && let Some(answer) = door.without_key(&parts)
    {
        return facade.sent(&facade_request(&parts, Interrupt::default()), answer, None).await;
    }
    let state = parts.extensions.get::<ConnectionState>().cloned();
    let enter = |stage| state.iter().for_each(|state| state.enter(stage));
    enter(RequestStage::Body);
    let body = timeout(facade.body_timeout, Limited::new(body, facade.max_body_bytes).collect()).await;
    enter(RequestStage::Work);
    let Ok(Ok(body)) = body else {
        return Some(HttpError::Body(facade.max_body_bytes).response(accept_encoding(&parts.headers).as_deref()));
    };
    bare_key(&mut parts.headers);
    let asked = facade_request(&parts, Interrupt::default());
    let (service, request) = (Arc::clone(&facade.service), asked.clone());
    let caller = match facade.answer_threads.start(move || service.sign_in(&request)) {
        Ok(caller) => caller.await.ok()?,
        Err(error) => {
            tracing::error!(cause = %error, "no thread could be started to sign a user in");
            return None;
        }
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return facade.refuse(&asked, error),
    };
    let permit = match facade.enter(Some(caller.user().to_owned())).await? {
        Ok(permit) => permit,
        Err(error) => return facade.refuse(&asked, error),
    };
    let answer = door.answer(caller, Request::from_parts(parts, Full::new(body.to_bytes()))).await;
    facade.sent(&asked, answer, Some(permit)).await
}

/// Cancels a request when its connection is gone. Has no effect on a request that has been answered.
#[derive(Debug)]
pub struct CancelOnDrop(pub Interrupt);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Reads the body of a request and ignores it, because no request has a meaningful body. After the body, the connection
/// can be used again, and its end is noticed while the request runs. Stops after `max_bytes` or `time`; then hyper
/// closes the connection after the answer.
async fn ignore_body(mut body: Incoming, max_bytes: usize, time: Duration) {
    if body.is_end_stream() {
        return;
    }
    let reading = async {
        let mut read = 0;
        while read <= max_bytes {
            match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                Some(Ok(frame)) => read += frame.data_ref().map_or(0, |data| data.len()),
                Some(Err(_)) | None => break,
            }
        }
    };
    if timeout(time, reading).await.is_err() {
        tracing::debug!("the body of a request did not arrive in time");
    }
}

/// Converts a request for [`Service::handle`].
fn facade_request(parts: &Parts, interrupt: Interrupt) -> FacadeRequest {
    FacadeRequest {
        method: parts.method.as_str().to_owned(),
        path_and_query: parts.uri.path_and_query().map(|both| both.as_str().to_owned()).unwrap_or_default(),
        authorization: joined(&parts.headers, &header::AUTHORIZATION, ", "),
        accept: joined(&parts.headers, &header::ACCEPT, ", "),
        accept_encoding: accept_encoding(&parts.headers),
        cookie: joined(&parts.headers, &header::COOKIE, "; "),
        interrupt,
    }
}

fn accept_encoding(headers: &HeaderMap) -> Option<String> {
    joined(headers, &header::ACCEPT_ENCODING, ", ")
}

/// Joins all values of a header. Replaces invalid UTF-8, because a header that is present must not be treated as
/// absent, and no key and no encoding contains such bytes.
fn joined(headers: &HeaderMap, name: &HeaderName, separator: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let first = values.next()?.into_owned();
    Some(values.fold(first, |joined, value| joined + separator + &value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facade_request(request: http::request::Builder) -> FacadeRequest {
        super::facade_request(&request.body(()).unwrap().into_parts().0, Interrupt::default())
    }

    #[test]
    fn path_and_query_are_unchanged() {
        for sent in ["/api/a%2Cb/events/?fields=a%2Cb&x=+%20&x=%5B%22or%22%5D", "/api?", "/", "*"] {
            assert_eq!(facade_request(Request::get(sent)).path_and_query, sent);
        }
        let absolute = facade_request(Request::get("http://host:1/api/a/events?b=c"));
        assert_eq!(absolute.path_and_query, "/api/a/events?b=c");
    }

    #[test]
    fn repeated_headers_are_joined() {
        let request = Request::get("/")
            .header("Accept", "application/vnd.apache.parquet")
            .header("Accept", "*/*;q=0.1")
            .header("Accept-Encoding", "br")
            .header("accept-encoding", "gzip;q=0")
            .header("Cookie", "a=b")
            .header("Cookie", "session=c");
        let request = facade_request(request);
        assert_eq!(request.accept.as_deref(), Some("application/vnd.apache.parquet, */*;q=0.1"));
        assert_eq!(request.accept_encoding.as_deref(), Some("br, gzip;q=0"));
        assert_eq!(request.cookie.as_deref(), Some("a=b; session=c"));
        assert_eq!(request.authorization, None);
    }

    #[test]
    fn a_header_with_invalid_utf8_is_still_present() {
        let request = facade_request(Request::get("/").header("Authorization", &b"tu_\xff"[..]));
        assert_eq!(request.authorization.as_deref(), Some("tu_\u{fffd}"));
    }
}
