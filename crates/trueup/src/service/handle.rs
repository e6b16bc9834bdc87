//! One request, from its line to its response.

use super::content::Content;
use super::endpoint::{RequestContext, access};
use super::error::ServiceError;
use super::parameters::Parameters;
use super::route::Route;
use super::{Body, Request, Response, Service, compress};
use std::borrow::Cow;

impl Service {
    /// Answers a request. It is refused for the first fault in this order: method and path, credentials, hour, organization,
    /// accounts, parameters, size; then it is carried out.
    pub fn handle(&self, request: &Request) -> Response {
        self.respond(request, self.answer(request))
    }

    /// Answers a request that does not come as far as [`handle`](Self::handle), such as one that waited for its turn until its time was
    /// over: with an error in the words of the service, which is told of it as of any other.
    pub fn refuse(&self, request: &Request, error: ServiceError) -> Response {
        self.respond(request, Err(error))
    }

    fn respond(&self, request: &Request, answer: Result<Content, ServiceError>) -> Response {
        let gzip = compress::accepts_gzip(request.accept_encoding.as_deref());
        let content = answer.unwrap_or_else(|error| {
            (self.on_failure)(&error);
            Content::of_error(&error)
        });
        let mut headers = vec![
            ("Content-Type", Cow::Borrowed("application/json; charset=utf-8")),
            ("Cache-Control", Cow::Borrowed("no-store")),
            ("Vary", Cow::Borrowed("Accept-Encoding")),
        ];
        if gzip {
            headers.push(("Content-Encoding", Cow::Borrowed("gzip")));
        }
        headers.extend(content.headers);
        Response { status: content.status, headers, body: Body::new(content.answer, gzip) }
    }

    fn answer(&self, request: &Request) -> Result<Content, ServiceError> {
        let snapshot = self.snapshot();
        let interrupt = request.interrupt.within(self.limits.deadline);
        let (path, query) = request.path_and_query.split_once('?').unwrap_or((&request.path_and_query, ""));
        match Route::new(&request.method, path)? {
            Route::Access => {
                let login = self.authenticate_or_session(request)?;
                access::answer(self, &snapshot, &login)
            }
            Route::Endpoint { endpoint, organization, segment } => {
                let login = self.authenticate(request)?;
                let reach = self.directory.reach(&login)?;
                let name = organization.unwrap_or(segment);
                let whole = reach.resolve(&name);
                let whole = whole.ok_or(ServiceError::InaccessibleOrganization { segment: name })?;
                let parameters = Parameters::new(query);
                let accounts = parameters.accounts();
                let scope = if accounts.is_empty() {
                    whole
                } else {
                    whole.narrow(accounts).map_err(ServiceError::InaccessibleAccounts)?
                };
                let (parameters, interrupt) = (&parameters, &interrupt);
                (endpoint.answer)(self, &RequestContext { snapshot, reach: &reach, scope, parameters, interrupt })
            }
        }
    }
}
