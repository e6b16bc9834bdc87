//! Tokens that are worth something once.

use crate::error::Error;
use crate::secret::{KeyHash, random_text};

/// A token that can be exchanged once. It is neither a key nor a session: no directory knows it, and no request is
/// answered for it. Only [`OneTimeToken::reveal`] shows its text; `Debug` does not.
///
/// ```
/// let token = trueup_access::OneTimeToken::new("0123");
/// assert_eq!(format!("{token:?}"), "OneTimeToken(redacted)");
/// ```
#[derive(Clone)]
pub struct OneTimeToken(String);

/// The tokens that were issued and not used yet, each with what it is worth. They exist in memory alone, as hashes.
///
/// ```
/// use trueup_access::{OneTimeToken, OneTimeTokens};
///
/// let mut tokens = OneTimeTokens::default();
/// let token = tokens.issue("a ticket")?;
/// assert_eq!(tokens.redeem(&OneTimeToken::new("a guess")), None);
/// assert_eq!(tokens.redeem(&token), Some("a ticket"));
/// assert_eq!(tokens.redeem(&token), None);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub struct OneTimeTokens<T> {
    unused: Vec<(KeyHash, T)>,
}

impl OneTimeToken {
    /// Returns a token that a request carried.
    ///
    /// ```
    /// let token = trueup_access::OneTimeToken::new("0123");
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the plain text, for the one who may use the token.
    ///
    /// ```
    /// assert_eq!(trueup_access::OneTimeToken::new("0123").reveal(), "0123");
    /// ```
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> KeyHash {
        KeyHash::of(self.0.as_bytes())
    }
}

impl std::fmt::Debug for OneTimeToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OneTimeToken(redacted)")
    }
}

impl<T> OneTimeTokens<T> {
    /// Issues a token of 256 random bits.
    ///
    /// # Errors
    /// [`Error::NoRandomness`].
    pub fn issue(&mut self, worth: T) -> Result<OneTimeToken, Error> {
        let token = OneTimeToken(random_text()?);
        self.unused.push((token.hash(), worth));
        Ok(token)
    }

    /// Uses a token up, and returns what it is worth; `None` if it was not issued here, or was used before. Hashes are
    /// compared in constant time.
    pub fn redeem(&mut self, token: &OneTimeToken) -> Option<T> {
        let hash = token.hash();
        let place = self.unused.iter().position(|(unused, _)| unused.matches(&hash))?;
        Some(self.unused.swap_remove(place).1)
    }
}

impl<T> Default for OneTimeTokens<T> {
    fn default() -> Self {
        Self { unused: Vec::new() }
    }
}

impl<T> std::fmt::Debug for OneTimeTokens<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OneTimeTokens").field("unused", &self.unused.len()).finish()
    }
}
