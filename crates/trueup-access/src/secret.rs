//! Keys and tokens: how they are created, hashed and compared.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A key or a session token in plain text. Only [`SecretKey::reveal`] shows it; `Debug` does not.
///
/// ```
/// let key = trueup_access::SecretKey::new("tu_0123");
/// assert_eq!(format!("{key:?}"), "SecretKey(redacted)");
/// ```
#[derive(Clone)]
pub struct SecretKey(String);

impl SecretKey {
    /// Returns a key that a request carried.
    ///
    /// ```
    /// let key = trueup_access::SecretKey::new("tu_0123");
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the plain text, for the owner of the key only.
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

    /// Creates a user key: the prefix, an underscore, and 256 random bits.
    pub(crate) fn issue_key(prefix: &str) -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{prefix}_{}", random_text()?)))
    }

    /// Creates a session token: 256 random bits.
    pub(crate) fn issue_token() -> Result<Self, getrandom::Error> {
        Ok(Self(random_text()?))
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(redacted)")
    }
}

/// Returns 256 random bits as text.
pub(crate) fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(base62(bytes))
}

/// The SHA-256 of a key. It is not `PartialEq`, because [`KeyHash::matches`] is the only comparison in constant time.
///
/// A salt or a slow hash would add nothing, because user keys and tokens are 256 random bits, and retired organization
/// keys are refused.
#[derive(Clone, Copy)]
pub(crate) struct KeyHash([u8; 32]);

/// The first eight bytes of a hash, by which candidates are found. The full hash is compared afterwards.
pub(crate) type Locator = i64;

impl KeyHash {
    pub(crate) fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) const fn locator(&self) -> Locator {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        Locator::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Returns whether both are hashes of the same key, in constant time.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// The digits of base 62.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The length of 32 bytes in base 62: 62^43 is the first power of 62 above 2^256, so different values have different
/// texts.
const WIDTH: usize = 43;

/// Writes the bytes as one number, most significant first, in base 62 with leading zeros.
fn base62(bytes: [u8; 32]) -> String {
    let mut number = bytes;
    let mut text = [0_u8; WIDTH];
    for digit in text.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in &mut number {
            let value = remainder * 256 + u16::from(*byte);
            // The quotient is a byte, because value < 62 * 256.
            let [_, quotient] = (value / 62).to_be_bytes();
            *byte = quotient;
            remainder = value % 62;
        }
        *digit = DIGITS[usize::from(remainder)];
    }
    text.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests;
