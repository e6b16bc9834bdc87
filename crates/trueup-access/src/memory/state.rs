//! What a directory in memory holds.

use super::shelf::KeyIndex;
use crate::error::{Entity, Error};
use crate::model::{Grant, KeyId};
use crate::time::UnixTime;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct DirectoryState {
    pub(super) organizations: BTreeMap<String, OrganizationNode>,
    pub(super) accounts: BTreeSet<String>,
    pub(super) users: BTreeMap<String, UserEntry>,
    pub(super) keys: BTreeMap<KeyId, UserKey>,
    pub(super) user_keys: KeyIndex<KeyId>,
    pub(super) organization_keys: KeyIndex<String>,
    pub(super) sessions: KeyIndex<Session>,
    /// The number of the last key that was made.
    pub(super) last_key: i64,
}

#[derive(Default)]
pub(super) struct OrganizationNode {
    pub(super) parent: Option<String>,
    pub(super) umbrella: bool,
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

    pub(super) fn user(&self, login: &str) -> Result<&UserEntry, Error> {
        self.users.get(login).ok_or_else(|| Error::unknown(Entity::User, login))
    }

    pub(super) fn user_mut(&mut self, login: &str) -> Result<&mut UserEntry, Error> {
        self.users.get_mut(login).ok_or_else(|| Error::unknown(Entity::User, login))
    }

    /// Takes a grant from everybody.
    pub(super) fn forget_grant(&mut self, grant: &Grant) {
        for person in self.users.values_mut() {
            person.grants.remove(grant);
        }
    }
}
