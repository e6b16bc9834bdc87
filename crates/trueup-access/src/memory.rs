//! A directory in memory. [`state`] holds its tables. [`organizations`] and [`users`] implement the traits that change
//! them; [`Requests`] is implemented here.

mod organizations;
mod state;
mod users;

use crate::directory::{self, Requests};
use crate::error::Error;
use crate::login::{Hourly, Login, Refusal};
use crate::model::{Grant, Organization};
use crate::scope::{GrantedRows, LoginScope};
use crate::secret::SecretKey;
use crate::settings::DirectorySettings;
use crate::time::UnixTime;
use state::DirectoryState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A [`Directory`](crate::Directory) in memory: for tests, and for services that embed trueup without the feature
/// `sqlite`.
///
/// It begins empty and ends with the process, so such a service adds its users and grants when it starts. It is shared
/// between threads, not between processes.
///
/// ```
/// use trueup_access::{DirectorySettings, MemoryDirectory, Users as _};
///
/// let directory = MemoryDirectory::new(DirectorySettings::default());
/// directory.add_user("anna")?;
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub struct MemoryDirectory {
    settings: DirectorySettings,
    state: RwLock<DirectoryState>,
    /// Requests per clock hour, per user. Locked after `state`, never before.
    counts: Mutex<BTreeMap<String, BTreeMap<i64, u32>>>,
}

impl MemoryDirectory {
    /// Returns an empty directory.
    ///
    /// ```
    /// let directory = trueup_access::MemoryDirectory::new(trueup_access::DirectorySettings::default());
    /// ```
    #[must_use]
    pub fn new(settings: DirectorySettings) -> Self {
        Self { settings, state: RwLock::default(), counts: Mutex::default() }
    }

    // A poisoned lock is ignored: every change checks first, and then inserts or removes without a panic.

    fn read(&self) -> RwLockReadGuard<'_, DirectoryState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, DirectoryState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<i64, u32>>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for MemoryDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryDirectory").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Requests for MemoryDirectory {
    fn authenticate(&self, key: Option<&SecretKey>) -> Result<Result<Login, Refusal>, Error> {
        let Some(hash) = directory::credential_hash(key) else { return Ok(Err(Refusal::Missing)) };
        let state = self.read();
        let Some(key) = state.user_keys.find(&hash).and_then(|id| state.keys.get(id)) else {
            return Ok(Err(match state.organization_keys.find(&hash) {
                Some(organization) => Refusal::OrganizationKey { organization: organization.clone() },
                None => Refusal::Unknown,
            }));
        };
        let user = state.users.get(&key.user).ok_or(Refusal::Unknown);
        Ok(user.and_then(|user| directory::login_by_key(key.user.clone(), user.active, key.revoked)))
    }

    fn session(&self, token: Option<&SecretKey>, now: UnixTime) -> Result<Result<Login, Refusal>, Error> {
        let Some(hash) = directory::credential_hash(token) else { return Ok(Err(Refusal::Missing)) };
        let state = self.read();
        let Some(session) = state.sessions.find(&hash) else { return Ok(Err(Refusal::Unknown)) };
        let user = state.users.get(&session.user).ok_or(Refusal::Unknown);
        Ok(user.and_then(|user| directory::login_by_session(session.user.clone(), user.active, session.expires, now)))
    }

    fn login(&self, user: &str) -> Result<Result<Login, Refusal>, Error> {
        let state = self.read();
        let entry = state.users.get(user).ok_or(Refusal::Unknown);
        Ok(entry.and_then(|entry| directory::login(user.to_owned(), entry.active)))
    }

    fn reach(&self, login: &Login) -> Result<LoginScope, Error> {
        Ok(LoginScope::assemble(&granted_rows(&self.read(), login.user())))
    }

    fn count(&self, login: &Login, now: UnixTime) -> Result<Hourly, Error> {
        let state = self.read();
        state.user(login.user())?;
        let mut counts = self.counts();
        let hours = counts.entry(login.user().to_owned()).or_default();
        hours.retain(|hour, _| *hour >= directory::oldest_counted_hour(now));
        let requests = hours.entry(now.hour()).or_default();
        if *requests >= self.settings.hourly_limit {
            return Ok(Hourly::Limited { retry_after_seconds: now.until_next_hour() });
        }
        *requests += 1;
        Ok(Hourly::Allowed)
    }
}

/// Collects what is at and below the grants of a user.
fn granted_rows(state: &DirectoryState, user: &str) -> GrantedRows {
    let mut rows = GrantedRows::default();
    let Some(user) = state.users.get(user) else { return rows };
    let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, node) in &state.organizations {
        if let Some(parent) = &node.parent {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut seen = BTreeSet::new();
    let mut open = Vec::new();
    for grant in &user.grants {
        match grant {
            Grant::Organization(id) => open.push(id.as_str()),
            Grant::Account(key) => rows.accounts.push(key.clone()),
        }
    }
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(node) = state.organizations.get(id) {
            rows.organizations.push(Organization {
                id: id.to_owned(),
                parent: node.parent.clone(),
                umbrella: node.umbrella,
            });
            rows.placements.extend(node.accounts.iter().map(|account| (id.to_owned(), account.clone())));
        }
        open.extend(children.get(id).into_iter().flatten());
    }
    rows
}
