//! Hashes of keys, and what they stand for.

use crate::secret::{KeyHash, Locator};
use std::collections::HashMap;

/// Entries by the hash of a key. The locator leads to candidates; which of them it is, is told in constant time.
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

    pub(super) fn put(&mut self, hash: KeyHash, entry: T) {
        self.0.entry(hash.locator()).or_default().push((hash, entry));
    }

    pub(super) fn take(&mut self, hash: &KeyHash) {
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
