//! Users in memory.

use super::MemoryDirectory;
use super::state::UserEntry;
use crate::directory::Users;
use crate::error::{Entity, Error};
use crate::model::{Grant, User};
use crate::rules::check_id;
use std::collections::BTreeSet;

impl Users for MemoryDirectory {
    fn add_user(&self, login: &str) -> Result<(), Error> {
        check_id(Entity::User, login)?;
        let mut state = self.write();
        if state.users.contains_key(login) {
            return Err(Error::duplicate(Entity::User, login));
        }
        state.users.insert(login.to_owned(), UserEntry { active: true, grants: BTreeSet::new() });
        Ok(())
    }

    fn set_active(&self, login: &str, active: bool) -> Result<(), Error> {
        self.write().user_mut(login)?.active = active;
        Ok(())
    }

    fn remove_user(&self, login: &str) -> Result<(), Error> {
        let mut state = self.write();
        state.user(login)?;
        state.users.remove(login);
        state.keys.retain(|_, key| key.user != login);
        let state = &mut *state;
        state.user_keys.retain(|id| state.keys.contains_key(id));
        state.sessions.retain(|session| session.user != login);
        self.counts().remove(login);
        Ok(())
    }

    fn users(&self) -> Result<Vec<User>, Error> {
        let user = |(login, entry): (&String, &UserEntry)| User { login: login.clone(), active: entry.active };
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
