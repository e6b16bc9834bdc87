//! One request, from its method and path to its response: routing, authentication, authorization.

use super::Service;
use super::answer_memory::AnswerMemory;
use super::endpoint::description::{Endpoint, RequestContext};
use super::endpoint::{self, access};
use super::error::ServiceError;
use super::negotiation::{AnswerFormat, accepts_gzip};
use super::request::{Parameters, Request, percent_decoded};
use super::response::{Answer, Response};
use crate::access::{Entity, Error, Hourly, Login, LoginScope, Refusal, Scope, SecretKey};
use crate::request::REMAINING;
use std::borrow::Cow;
use tracing::debug_span;

/// The cookie that carries a session token.
const SESSION_COOKIE: &str = "session";

impl Service {
    /// Answers a request.
    ///
    /// Every request is answered, some with an error. The error reports the first fault in this order: method and path,
    /// credentials, hourly limit, organization, accounts, parameters, size of the answer; then what fails while the
    /// query runs. The call blocks until the answer is computed. The rows of an events answer in JSON, and insight
    /// documents, are written while the response's body is read; before the call returns, a Parquet file or the text of
    /// any other answer is written.
    ///
    /// ```
    /// use trueup::service::{Request, Service};
    ///
    /// fn is_alive(service: &Service) -> bool {
    ///     service.handle(&Request::get("/api")).status == 401
    /// }
    /// ```
    pub fn handle(&self, request: &Request) -> Response {
        let mut remaining = None;
        let answer = self.answer(request, &mut remaining);
        self.respond(request, answer, remaining)
    }

    /// Answers a request with an error, for a server that cannot pass the request to [`handle`](Self::handle) in time.
    /// The failure hook is called as for any other error.
    pub fn refuse(&self, request: &Request, error: ServiceError) -> Response {
        self.respond(request, Err(error), None)
    }

    /// Returns the name of the user whom the credentials of a request belong to, for a server that lets the requests of
    /// one user wait for each other. Nothing is counted. `None` if the credentials are absent, are not accepted, or
    /// cannot be looked up; [`handle`](Self::handle) says which.
    ///
    /// ```
    /// use trueup::service::{Request, Service};
    ///
    /// fn is_anonymous(service: &Service) -> bool {
    ///     service.user(&Request::get("/api")).is_none()
    /// }
    /// ```
    #[must_use]
    pub fn user(&self, request: &Request) -> Option<String> {
        let login = self.login(request).ok()?.ok()?;
        Some(login.user().to_owned())
    }

    /// Authenticates the caller of a request by its key, for a server that answers in another protocol than
    /// [`handle`](Self::handle), from [`dataset`](Self::dataset). Nothing is counted.
    ///
    /// # Errors
    /// The key is absent or not accepted, or the directory fails.
    ///
    /// ```
    /// use trueup::service::{Request, Service, ServiceError};
    ///
    /// fn accounts(service: &Service, request: &Request) -> Result<usize, ServiceError> {
    ///     let caller = service.sign_in(request)?;
    ///     service.count(&caller)?;
    ///     Ok(caller.reach.accounts().len())
    /// }
    /// ```
    pub fn sign_in(&self, request: &Request) -> Result<SignedIn, ServiceError> {
        let login = self.directory.authenticate(key(request).as_ref())?.map_err(ServiceError::SignedOut)?;
        let reach = self.directory.reach(&login)?;
        Ok(SignedIn { login, reach })
    }

    /// Counts a request in the hour of a caller who has signed in.
    ///
    /// # Errors
    /// All requests of the hour are used, the user was removed, or the directory fails.
    pub fn count(&self, caller: &SignedIn) -> Result<(), ServiceError> {
        self.counted(caller.login.clone()).map_err(ServiceError::SignedOut)?.map(drop)
    }

    /// Returns the memory for the answers to a caller who has signed in.
    #[must_use]
    pub fn answer_memory(&self, caller: &SignedIn) -> AnswerMemory {
        AnswerMemory::new(self.memory.budget().map(|budget| budget.for_user(caller.user())))
    }

    /// Returns the response with an answer. `remaining` is the number of requests that are left, if the caller asks for
    /// it.
    fn respond(&self, request: &Request, answer: Result<Answer, ServiceError>, remaining: Option<u32>) -> Response {
        let mut answer = answer.unwrap_or_else(|error| {
            (self.on_failure)(&error);
            Answer::error(&error)
        });
        if let Some(remaining) = remaining {
            answer.headers.push(("Trueup-Remaining-Requests", Cow::Owned(remaining.to_string())));
        }
        answer.into_response(accepts_gzip(request.accept_encoding.as_deref()), format_of(request))
    }

    /// Answers a request. Sets `remaining` once the request is counted, if the caller asks for it.
    fn answer(&self, request: &Request, remaining: &mut Option<u32>) -> Result<Answer, ServiceError> {
        let snapshot = self.snapshot();
        let interrupt = request.interrupt.within(self.limits.deadline);
        let (path, query) = request.path_and_query.split_once('?').unwrap_or((&request.path_and_query, ""));
        let mut parameters = Parameters::new(query);
        let asks_remaining = parameters.take_flag(&REMAINING);
        let note = |login: &Login, remaining: &mut Option<u32>| {
            if let Ok(true) = asks_remaining {
                *remaining = Some(self.directory.remaining(login, self.clock.now())?);
            }
            Ok::<(), ServiceError>(())
        };
        match Route::new(&request.method, path)? {
            Route::Access => {
                let login = debug_span!("authorize").in_scope(|| self.authenticate_or_session(request))?;
                note(&login, remaining)?;
                asks_remaining?;
                let _span = debug_span!("answer", endpoint = "access").entered();
                access::answer(self, &snapshot, &login, &parameters, &interrupt)
            }
            Route::Endpoint { endpoint, organization, segment } => {
                let span = debug_span!("authorize").entered();
                let login = self.authenticate(request)?;
                note(&login, remaining)?;
                let reach = self.directory.reach(&login)?;
                let scope = authorize(&reach, organization.unwrap_or(segment), &parameters.accounts())?;
                drop(span);
                asks_remaining?;
                let _span = debug_span!("answer", endpoint = endpoint.name).entered();
                let (reach, parameters, interrupt, format) = (&reach, &parameters, &interrupt, format_of(request));
                let memory = self.memory.for_user(login.user());
                (endpoint.answer)(
                    self,
                    &RequestContext { snapshot, reach, scope, parameters, memory, interrupt, format },
                )
            }
        }
    }

    /// Returns the login that a key belongs to, and counts the request.
    fn authenticate(&self, request: &Request) -> Result<Login, ServiceError> {
        let login = self.directory.authenticate(key(request).as_ref())?.map_err(ServiceError::Unauthorized)?;
        self.counted(login).map_err(ServiceError::Unauthorized)?
    }

    /// Returns the login that a key or, without a key, a session belongs to, and counts the request.
    fn authenticate_or_session(&self, request: &Request) -> Result<Login, ServiceError> {
        let login = self.login(request)?.map_err(ServiceError::SignedOut)?;
        self.counted(login).map_err(ServiceError::SignedOut)?
    }

    /// Returns the login that a key or, without a key, a session belongs to.
    fn login(&self, request: &Request) -> Result<Result<Login, Refusal>, Error> {
        match key(request) {
            Some(key) => self.directory.authenticate(Some(&key)),
            None => self.directory.session(session_token(request).as_ref(), self.clock.now()),
        }
    }

    /// Counts the request in the user's hour. The outer error refuses a user who was removed in the meantime; the
    /// callers report it as they report unknown credentials.
    fn counted(&self, login: Login) -> Result<Result<Login, ServiceError>, Refusal> {
        match self.directory.count(&login, self.clock.now()) {
            Ok(Hourly::Allowed) => Ok(Ok(login)),
            Ok(Hourly::Limited(retry_after_seconds)) => Ok(Err(ServiceError::RateLimited(retry_after_seconds))),
            Err(Error::Unknown { entity: Entity::User, .. }) => Err(Refusal::Unknown),
            Err(error) => Ok(Err(error.into())),
        }
    }
}

/// A caller who has [signed in](Service::sign_in).
#[derive(Clone, Debug)]
pub struct SignedIn {
    login: Login,
    /// The organizations and accounts that the caller may read.
    pub reach: LoginScope,
}

impl SignedIn {
    /// Returns the name of the user.
    #[must_use]
    pub fn user(&self) -> &str {
        self.login.user()
    }
}

/// Returns the accounts that a request may read: those of the organization in its path, or only the named ones of them.
fn authorize(reach: &LoginScope, organization: String, accounts: &[&str]) -> Result<Scope, ServiceError> {
    let Some(scope) = reach.resolve(&organization) else {
        return Err(ServiceError::InaccessibleOrganization(organization));
    };
    if accounts.is_empty() {
        return Ok(scope);
    }
    scope.narrow(accounts.iter().copied()).map_err(ServiceError::InaccessibleAccounts)
}

/// Returns the form of an answer with rows that a request asks for.
fn format_of(request: &Request) -> AnswerFormat {
    AnswerFormat::new(request.accept.as_deref())
}

/// Returns the key of a request; `None` if the header `Authorization` is absent or blank.
fn key(request: &Request) -> Option<SecretKey> {
    let text = request.authorization.as_deref()?.trim();
    (!text.is_empty()).then(|| SecretKey::new(text))
}

/// Returns the value of the first session cookie.
fn session_token(request: &Request) -> Option<SecretKey> {
    let cookies = request.cookie.as_deref()?.split(';');
    let mut named = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    named.find(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| SecretKey::new(value))
}

/// What a method and a path ask for.
enum Route {
    /// What the credentials give access to: `/api`.
    Access,
    /// An endpoint of an organization: `/api/{organization}/{endpoint}`.
    Endpoint {
        endpoint: &'static Endpoint,
        /// The organization, decoded; `None` if it is not UTF-8.
        organization: Option<String>,
        /// The organization as it was sent.
        segment: String,
    },
}

impl Route {
    /// Checks the method first, then the path. One slash at the end of the path is ignored.
    fn new(method: &str, path: &str) -> Result<Self, ServiceError> {
        if method != "GET" {
            return Err(ServiceError::MethodNotAllowed(method.to_owned()));
        }
        let not_found = || ServiceError::NotFound(path.to_owned());
        let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        match segments.as_slice() {
            ["", "api"] => Ok(Self::Access),
            ["", "api", segment, name] if !segment.is_empty() => {
                let endpoint = endpoint::find(name).ok_or_else(not_found)?;
                Ok(Self::Endpoint { endpoint, organization: percent_decoded(segment), segment: (*segment).to_owned() })
            }
            _ => Err(not_found()),
        }
    }
}
