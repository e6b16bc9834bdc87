//! Rules that directories in memory and in a file share.

use crate::error::{Entity, Error};
use crate::login::{Login, Refusal};
use crate::secret::{KeyHash, SecretKey};
use crate::time::UnixTime;

/// Checks the id of a new organization, account or user. A request must be able to name organizations and accounts in
/// its path, and accounts in a comma-separated list.
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

/// Returns the hash by which a key or token is looked up; [`Refusal::Missing`] if there is none, or an empty one.
pub(crate) fn credential_hash(secret: Option<&SecretKey>) -> Result<KeyHash, Refusal> {
    secret.filter(|secret| !secret.is_empty()).map(SecretKey::hash).ok_or(Refusal::Missing)
}

/// Returns the login of a known user.
pub(crate) fn login(user: String, active: bool) -> Result<Login, Refusal> {
    if active { Ok(Login::new(&user)) } else { Err(Refusal::Inactive { user }) }
}

/// Returns the login of the user of a known key.
pub(crate) fn login_by_key(user: String, active: bool, revoked: bool) -> Result<Login, Refusal> {
    if revoked { Err(Refusal::Revoked { user }) } else { login(user, active) }
}

/// Returns the login of the user of a known session, which is refused from `expires` on.
pub(crate) fn login_by_session(user: String, active: bool, expires: UnixTime, now: UnixTime) -> Result<Login, Refusal> {
    if expires <= now { Err(Refusal::Expired { user }) } else { login(user, active) }
}

/// Returns the oldest hour whose count is kept: the one before the current hour, because another thread or process may
/// have read the clock a moment earlier.
pub(crate) const fn oldest_counted_hour(now: UnixTime) -> i64 {
    now.hour() - 1
}
