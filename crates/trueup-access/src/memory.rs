//! A directory in memory. [`state`] holds its tables; [`organizations`], [`users`], [`keys`] and [`requests`] implement
//! one trait each.

mod keys;
mod organizations;
mod requests;
mod state;
mod users;

use crate::settings::DirectorySettings;
use state::DirectoryState;
use std::collections::BTreeMap;
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
