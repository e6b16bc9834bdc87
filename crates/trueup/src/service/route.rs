//! Which endpoint a method and a path ask for.

use super::endpoint::{ENDPOINTS, Endpoint};
use super::error::ServiceError;
use super::form::path_text;

/// What is asked for.
pub(super) enum Route {
    /// What the credentials reach.
    Access,
    /// An endpoint of an organization.
    Endpoint {
        endpoint: &'static Endpoint,
        /// The organization as the path names it; `None` if that is not UTF-8.
        organization: Option<String>,
        /// The same as it was sent.
        segment: String,
    },
}

impl Route {
    /// The method is looked at before the path; one slash at the end of the path is nothing.
    pub(super) fn new(method: &str, path: &str) -> Result<Self, ServiceError> {
        if method != "GET" {
            return Err(ServiceError::MethodNotAllowed { method: method.to_owned() });
        }
        let not_found = || ServiceError::NotFound { path: path.to_owned() };
        let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        match segments.as_slice() {
            ["", "api"] => Ok(Self::Access),
            ["", "api", segment, name] if !segment.is_empty() => {
                let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.name == *name).ok_or_else(not_found)?;
                Ok(Self::Endpoint { endpoint, organization: path_text(segment), segment: (*segment).to_owned() })
            }
            _ => Err(not_found()),
        }
    }
}
