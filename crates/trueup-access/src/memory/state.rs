//! The tables of a directory in memory.

use crate::error::{Entity, Error};
use crate::model::{Grant, KeyId};
use crate::secret::{KeyHash, Locator};
use crate::time::UnixTime;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Everything that a directory in memory holds, except the hourly counts.
#[derive(Default)]
pub(super) struct DirectoryState {
    /// By id.
    pub(super) organizations: BTreeMap<String, OrganizationNode>,
    /// The keys of all accounts.
    pub(super) accounts: BTreeSet<String>,
    /// By name.
    pub(super) users: BTreeMap<String, UserEntry>,
    /// The keys of users, including the revoked ones.
    pub(super) keys: BTreeMap<KeyId, UserKey>,
    /// The numbers in `keys`, by the hash of the key.
    pub(super) user_keys: KeyIndex<KeyId>,
    /// The organizations of retired keys, by the hash of the key.
    pub(super) organization_keys: KeyIndex<String>,
    /// By the hash of the token; expired sessions stay until the next one is opened.
    pub(super) sessions: KeyIndex<Session>,
    /// The number of the newest key.
    pub(super) last_key: i64,
}

#[derive(Default)]
pub(super) struct OrganizationNode {
    pub(super) parent: Option<String>,
    pub(super) umbrella: bool,
    /// The accounts directly under the organization.
    pub(super) accounts: BTreeSet<String>,
}

pub(super) struct UserEntry {
    pub(super) active: bool,
    pub(super) grants: BTreeSet<Grant>,
}

pub(super) struct UserKey {
    pub(super) user: String,
    pub(super) created: UnixTime,
    pub(super) revoked: bool,
}

pub(super) struct Session {
    pub(super) user: String,
    pub(super) expires: UnixTime,
}

/// Each function that takes an id fails with [`Error::Unknown`] if the directory lacks the id.
impl DirectoryState {
    pub(super) fn organization(&self, id: &str) -> Result<&OrganizationNode, Error> {
        self.organizations.get(id).ok_or_else(|| Error::unknown(Entity::Organization, id))
    }

    pub(super) fn organization_mut(&mut self, id: &str) -> Result<&mut OrganizationNode, Error> {
        self.organizations.get_mut(id).ok_or_else(|| Error::unknown(Entity::Organization, id))
    }

    pub(super) fn account(&self, key: &str) -> Result<(), Error> {
        self.accounts.contains(key).then_some(()).ok_or_else(|| Error::unknown(Entity::Account, key))
    }

    pub(super) fn user(&self, name: &str) -> Result<&UserEntry, Error> {
        self.users.get(name).ok_or_else(|| Error::unknown(Entity::User, name))
    }

    pub(super) fn user_mut(&mut self, name: &str) -> Result<&mut UserEntry, Error> {
        self.users.get_mut(name).ok_or_else(|| Error::unknown(Entity::User, name))
    }

    /// Withdraws a grant from all users.
    pub(super) fn withdraw_from_all(&mut self, grant: &Grant) {
        for user in self.users.values_mut() {
            user.grants.remove(grant);
        }
    }
}

/// Entries by the hash of a key or a token. The locator selects candidates; the full hash is then compared in constant
/// time.
pub(super) struct KeyIndex<T>(HashMap<Locator, Vec<(KeyHash, T)>>);

impl<T> Default for KeyIndex<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> KeyIndex<T> {
    pub(super) fn find(&self, hash: &KeyHash) -> Option<&T> {
        let candidates = self.0.get(&hash.locator())?;
        candidates.iter().find(|(stored, _)| stored.matches(hash)).map(|(_, entry)| entry)
    }

    pub(super) fn insert(&mut self, hash: KeyHash, entry: T) {
        self.0.entry(hash.locator()).or_default().push((hash, entry));
    }

    pub(super) fn remove(&mut self, hash: &KeyHash) {
        if let Some(candidates) = self.0.get_mut(&hash.locator()) {
            candidates.retain(|(stored, _)| !stored.matches(hash));
        }
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|_, candidates| {
            candidates.retain(|(_, entry)| keep(entry));
            !candidates.is_empty()
        });
    }
}
