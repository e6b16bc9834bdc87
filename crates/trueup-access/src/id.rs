//! Which texts can be ids.

use crate::error::{Entity, Error};

/// An id that is new to the directory: a request must be able to name it in its path, and accounts in a list with commas too.
pub(crate) fn check(entity: Entity, id: &str) -> Result<(), Error> {
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
