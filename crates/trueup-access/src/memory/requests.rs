//! Requests put to a directory in memory.

use super::MemoryDirectory;
use super::state::DirectoryState;
use crate::directory::Requests;
use crate::error::Error;
use crate::login::{Hourly, Login, Refusal};
use crate::model::{Grant, Organization};
use crate::reach::{GrantedRows, LoginScope};
use crate::secret::SecretKey;
use crate::time::UnixTime;
use std::collections::{BTreeMap, BTreeSet};

impl Requests for MemoryDirectory {
    fn authenticate(&self, key: Option<&SecretKey>) -> Result<Result<Login, Refusal>, Error> {
        let Some(key) = key.filter(|key| !key.is_empty()) else { return Ok(Err(Refusal::Missing)) };
        let hash = key.hash();
        let state = self.read();
        Ok(match state.user_keys.find(&hash).and_then(|id| state.keys.get(id)) {
            Some(key) if key.revoked => Err(Refusal::Revoked { user: key.user.clone() }),
            Some(key) => admit(&state, &key.user),
            None => Err(match state.organization_keys.find(&hash) {
                Some(organization) => Refusal::OrganizationKey { organization: organization.clone() },
                None => Refusal::Unknown,
            }),
        })
    }

    fn session(&self, token: Option<&SecretKey>, now: UnixTime) -> Result<Result<Login, Refusal>, Error> {
        let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(Err(Refusal::Missing)) };
        let state = self.read();
        Ok(match state.sessions.find(&token.hash()) {
            None => Err(Refusal::Unknown),
            Some(session) if session.expires <= now => Err(Refusal::Expired { user: session.user.clone() }),
            Some(session) => admit(&state, &session.user),
        })
    }

    fn login(&self, user: &str) -> Result<Result<Login, Refusal>, Error> {
        Ok(admit(&self.read(), user))
    }

    fn reach(&self, login: &Login) -> Result<LoginScope, Error> {
        Ok(LoginScope::assemble(&below(&self.read(), login.user())))
    }

    fn count(&self, login: &Login, now: UnixTime) -> Result<Hourly, Error> {
        let state = self.read();
        state.user(login.user())?;
        let mut counts = self.counts();
        let hours = counts.entry(login.user().to_owned()).or_default();
        // The hour before is kept for threads that read the clock a moment ago.
        hours.retain(|hour, _| *hour >= now.hour() - 1);
        let requests = hours.entry(now.hour()).or_default();
        if *requests >= self.settings.hourly_limit {
            return Ok(Hourly::Limited { retry_after_seconds: now.until_next_hour() });
        }
        *requests += 1;
        Ok(Hourly::Allowed)
    }
}

fn admit(state: &DirectoryState, user: &str) -> Result<Login, Refusal> {
    match state.users.get(user) {
        None => Err(Refusal::Unknown),
        Some(person) if !person.active => Err(Refusal::Inactive { user: user.to_owned() }),
        Some(_) => Ok(Login::new(user)),
    }
}

fn below(state: &DirectoryState, user: &str) -> GrantedRows {
    let mut found = GrantedRows::default();
    let Some(person) = state.users.get(user) else { return found };
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, node) in &state.organizations {
        if let Some(parent) = &node.parent {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut seen = BTreeSet::new();
    let mut open = Vec::new();
    for grant in &person.grants {
        match grant {
            Grant::Organization(id) => open.push(id.as_str()),
            Grant::Account(key) => found.accounts.push(key.clone()),
        }
    }
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(node) = state.organizations.get(id) {
            found.organizations.push(Organization {
                id: id.to_owned(),
                parent: node.parent.clone(),
                umbrella: node.umbrella,
            });
            found.placements.extend(node.accounts.iter().map(|account| (id.to_owned(), account.clone())));
        }
        open.extend(children.get(id).into_iter().flatten());
    }
    found
}
