//! Keys and tokens: made here, hashed here, compared here.

mod base62;
mod hash;

use crate::error::Error;
pub(crate) use hash::{KeyHash, Locator};

/// A key or a session token as its bearer holds it. It is shown by [`SecretKey::reveal`] alone, never by `Debug`.
///
/// ```
/// let key = trueup_access::SecretKey::new("tu_0123");
/// assert_eq!(format!("{key:?}"), "SecretKey(redacted)");
/// ```
#[derive(Clone)]
pub struct SecretKey(String);

impl SecretKey {
    /// A key as a request brought it.
    ///
    /// ```
    /// let key = trueup_access::SecretKey::new("tu_0123");
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key itself, to be handed to its owner and to nobody else.
    ///
    /// ```
    /// assert_eq!(trueup_access::SecretKey::new("tu_0123").reveal(), "tu_0123");
    /// ```
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn hash(&self) -> KeyHash {
        KeyHash::of(self.0.as_bytes())
    }

    /// A new user key: the prefix, an underscore, and 256 random bits.
    pub(crate) fn issue_key(prefix: &str) -> Result<Self, Error> {
        Ok(Self(format!("{prefix}_{}", random_text()?)))
    }

    /// A new session token: 256 random bits.
    pub(crate) fn issue_token() -> Result<Self, Error> {
        Ok(Self(random_text()?))
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(redacted)")
    }
}

fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::NoRandomness)?;
    Ok(base62::encode(bytes))
}

#[cfg(test)]
mod tests;
