//! What is kept of a key.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// SHA-256 of a key. It is not `PartialEq`: [`KeyHash::matches`] is the only comparison, and takes the same time wherever two differ.
///
/// Keys are 256 random bits, so that a salt or a slow hash would add nothing.
#[derive(Clone, Copy)]
pub(crate) struct KeyHash([u8; 32]);

/// Where a hash is looked up: its first eight bytes. Finding it says nothing yet; the whole hash is compared.
pub(crate) type Locator = i64;

impl KeyHash {
    pub(crate) fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    #[cfg(feature = "sqlite")]
    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[cfg(feature = "sqlite")]
    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) const fn locator(&self) -> Locator {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        Locator::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Whether both are of the same key, in constant time.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}
