//! Rules that every directory follows, wherever it is kept.

use crate::error::{Entity, Error};
use crate::login::{Login, Refusal};
use crate::secret::{KeyHash, SecretKey};
use crate::time::UnixTime;

/// Checks the id of something new. A request must be able to name it in its path, and an account in a comma-separated
/// list.
pub(crate) fn check_id(entity: Entity, id: &str) -> Result<(), Error> {
    let forbidden: &[char] = match entity {
        Entity::Account => &[',', '/'],
        Entity::Organization => &['/'],
        Entity::User => &[],
    };
    if id.is_empty() {
        return Err(Error::EmptyId { entity });
    }
    match id.chars().find(|character| forbidden.contains(character)) {
        None => Ok(()),
        Some(character) => Err(Error::ForbiddenCharacter { entity, id: id.to_owned(), character }),
    }
}

/// Refuses an organization that would be its own parent.
pub(crate) fn check_parent(organization: &str, parent: &str) -> Result<(), Error> {
    if organization == parent {
        return Err(Error::Cycle { organization: organization.to_owned(), parent: parent.to_owned() });
    }
    Ok(())
}

/// Returns the hash by which a key or token is looked up. An empty text is no credential.
pub(crate) fn presented(secret: Option<&SecretKey>) -> Result<KeyHash, Refusal> {
    secret.filter(|secret| !secret.is_empty()).map(SecretKey::hash).ok_or(Refusal::Missing)
}

/// Returns the login of a known user.
pub(crate) fn login(user: String, active: bool) -> Result<Login, Refusal> {
    if active { Ok(Login::new(&user)) } else { Err(Refusal::Inactive { user }) }
}

/// Returns the login of a known key's user.
pub(crate) fn login_by_key(user: String, active: bool, revoked: bool) -> Result<Login, Refusal> {
    if revoked { Err(Refusal::Revoked { user }) } else { login(user, active) }
}

/// Returns the login of a known session's user. A session ends just before `expires`.
pub(crate) fn login_by_session(user: String, active: bool, expires: UnixTime, now: UnixTime) -> Result<Login, Refusal> {
    if expires <= now { Err(Refusal::Expired { user }) } else { login(user, active) }
}

/// Returns the oldest hour whose count is kept. The hour before the current one is, because another thread or process
/// may have read the clock a moment earlier.
pub(crate) const fn oldest_counted_hour(now: UnixTime) -> i64 {
    now.hour() - 1
}
