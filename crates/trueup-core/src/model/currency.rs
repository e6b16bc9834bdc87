//! Currencies.

use std::fmt;
use std::str::FromStr;

/// A currency, by its code of ISO 4217: three capital letters. Whether ISO has assigned the code is not checked,
/// because currencies come and go.
///
/// ```
/// use trueup_core::model::Currency;
///
/// let currency: Currency = "CAD".parse()?;
/// assert_eq!(currency.to_string(), "CAD");
/// assert!("cad".parse::<Currency>().is_err() && "$".parse::<Currency>().is_err());
/// # Ok::<(), trueup_core::model::ParseCurrencyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// A text that is not the code of a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a currency as three capital letters, such as `USD`")]
pub struct ParseCurrencyError;

impl Currency {
    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> &str {
        // The code has ASCII letters alone.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Currency {
    type Err = ParseCurrencyError;

    fn from_str(text: &str) -> Result<Self, ParseCurrencyError> {
        let code: [u8; 3] = text.as_bytes().try_into().map_err(|_| ParseCurrencyError)?;
        if code.iter().all(u8::is_ascii_uppercase) { Ok(Self(code)) } else { Err(ParseCurrencyError) }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
