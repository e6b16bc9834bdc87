//! Users, keys and sessions in memory.

use super::MemoryDirectory;
use super::state::{DirectoryState, Session, UserEntry, UserKey};
use crate::directory::{Keys, Users, check_id};
use crate::error::{Entity, Error};
use crate::model::{Grant, IssuedKey, KeyEntry, KeyId, User};
use crate::secret::SecretKey;
use crate::time::UnixTime;
use std::collections::BTreeSet;

impl Users for MemoryDirectory {
    fn add_user(&self, user: &str) -> Result<(), Error> {
        check_id(Entity::User, user)?;
        let mut state = self.write();
        if state.users.contains_key(user) {
            return Err(Error::duplicate(Entity::User, user));
        }
        state.users.insert(user.to_owned(), UserEntry { active: true, grants: BTreeSet::new() });
        Ok(())
    }

    fn set_active(&self, user: &str, active: bool) -> Result<(), Error> {
        self.write().user_mut(user)?.active = active;
        Ok(())
    }

    fn remove_user(&self, user: &str) -> Result<(), Error> {
        let mut state = self.write();
        state.user(user)?;
        state.users.remove(user);
        state.keys.retain(|_, key| key.user != user);
        let state = &mut *state;
        state.user_keys.retain(|id| state.keys.contains_key(id));
        state.sessions.retain(|session| session.user != user);
        self.counts().remove(user);
        Ok(())
    }

    fn users(&self) -> Result<Vec<User>, Error> {
        let user = |(name, entry): (&String, &UserEntry)| User { name: name.clone(), active: entry.active };
        Ok(self.read().users.iter().map(user).collect())
    }

    fn grant(&self, user: &str, grant: &Grant) -> Result<(), Error> {
        let mut state = self.write();
        state.user(user)?;
        match grant {
            Grant::Organization(id) => state.organization(id).map(drop)?,
            Grant::Account(key) => state.account(key)?,
        }
        let added = state.user_mut(user)?.grants.insert(grant.clone());
        added.then_some(()).ok_or_else(|| Error::AlreadyGranted { user: user.to_owned(), grant: grant.clone() })
    }

    fn withdraw(&self, user: &str, grant: &Grant) -> Result<(), Error> {
        let removed = self.write().user_mut(user)?.grants.remove(grant);
        removed.then_some(()).ok_or_else(|| Error::NotGranted { user: user.to_owned(), grant: grant.clone() })
    }

    fn grants(&self, user: &str) -> Result<Vec<Grant>, Error> {
        Ok(self.read().user(user)?.grants.iter().cloned().collect())
    }
}

impl Keys for MemoryDirectory {
    fn create_key(&self, user: &str, now: UnixTime) -> Result<IssuedKey, Error> {
        let secret = SecretKey::issue_key(&self.settings.key_prefix)?;
        let mut state = self.write();
        state.user(user)?;
        Ok(insert_key(&mut state, user, secret, now))
    }

    fn rotate_key(&self, user: &str, key: KeyId, now: UnixTime) -> Result<IssuedKey, Error> {
        let secret = SecretKey::issue_key(&self.settings.key_prefix)?;
        let mut state = self.write();
        revoke(&mut state, user, key)?;
        Ok(insert_key(&mut state, user, secret, now))
    }

    fn delete_key(&self, user: &str, key: KeyId, _now: UnixTime) -> Result<(), Error> {
        revoke(&mut self.write(), user, key)
    }

    fn keys(&self, user: &str) -> Result<Vec<KeyEntry>, Error> {
        let state = self.read();
        state.user(user)?;
        let live = state.keys.iter().filter(|(_, key)| key.user == user && !key.revoked);
        Ok(live.map(|(id, key)| KeyEntry { id: *id, created: key.created }).collect())
    }

    fn retire_organization_key(&self, organization: &str, key: &SecretKey) -> Result<(), Error> {
        let hash = key.hash();
        let mut state = self.write();
        state.organization(organization)?;
        let known = state.user_keys.find(&hash).is_some() || state.organization_keys.find(&hash).is_some();
        if key.is_empty() || known {
            return Err(Error::KeyTaken { organization: organization.to_owned() });
        }
        state.organization_keys.insert(hash, organization.to_owned());
        Ok(())
    }

    fn open_session(&self, user: &str, now: UnixTime, expires: UnixTime) -> Result<SecretKey, Error> {
        let token = SecretKey::issue_token()?;
        let mut state = self.write();
        state.user(user)?;
        state.sessions.retain(|session| now < session.expires);
        state.sessions.insert(token.hash(), Session { user: user.to_owned(), expires });
        Ok(token)
    }

    fn close_session(&self, token: &SecretKey) -> Result<(), Error> {
        self.write().sessions.remove(&token.hash());
        Ok(())
    }
}

fn insert_key(state: &mut DirectoryState, user: &str, secret: SecretKey, now: UnixTime) -> IssuedKey {
    state.last_key += 1;
    let id = KeyId(state.last_key);
    state.keys.insert(id, UserKey { user: user.to_owned(), created: now, revoked: false });
    state.user_keys.insert(secret.hash(), id);
    IssuedKey { id, secret }
}

fn revoke(state: &mut DirectoryState, user: &str, id: KeyId) -> Result<(), Error> {
    state.user(user)?;
    let live = state.keys.get_mut(&id).filter(|key| key.user == user && !key.revoked);
    live.ok_or_else(|| Error::UnknownKey { user: user.to_owned(), key: id })?.revoked = true;
    Ok(())
}
