//! From credentials to a login whose hour allows the request.

use super::error::ServiceError;
use super::{Request, Service};
use crate::access::{Entity, Error, Login, Refusal, SecretKey};

/// The cookie that carries a session token.
const SESSION: &str = "session";

impl Service {
    /// The login that a key belongs to.
    pub(super) fn authenticate(&self, request: &Request) -> Result<Login, ServiceError> {
        let login = self.directory.authenticate(key(request).as_ref())?.map_err(ServiceError::Unauthorized)?;
        self.counted(login).map_err(ServiceError::Unauthorized)?
    }

    /// The login that a key belongs to, or without one a session.
    pub(super) fn authenticate_or_session(&self, request: &Request) -> Result<Login, ServiceError> {
        let login = match key(request) {
            Some(key) => self.directory.authenticate(Some(&key))?,
            None => self.directory.session(token(request).as_ref(), self.clock.now())?,
        };
        self.counted(login.map_err(ServiceError::SignedOut)?).map_err(ServiceError::SignedOut)?
    }

    /// The login, once its request is counted; refused if the user was removed since.
    fn counted(&self, login: Login) -> Result<Result<Login, ServiceError>, Refusal> {
        match self.directory.count(&login, self.clock.now()) {
            Ok(hourly) => Ok(ServiceError::hourly(hourly).map(|()| login)),
            Err(Error::Unknown { entity: Entity::User, .. }) => Err(Refusal::Unknown),
            Err(error) => Ok(Err(error.into())),
        }
    }
}

fn key(request: &Request) -> Option<SecretKey> {
    let text = request.authorization.as_deref()?.trim();
    (!text.is_empty()).then(|| SecretKey::new(text))
}

fn token(request: &Request) -> Option<SecretKey> {
    let cookies = request.cookie.as_deref()?.split(';');
    let mut named = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    named.find(|(name, _)| *name == SESSION).map(|(_, value)| SecretKey::new(value))
}
