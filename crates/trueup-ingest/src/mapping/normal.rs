//! One spelling for each phone number and each address.

use super::declaration::{NormalForm, ValueSource};
use crate::error::MappingFault;
use phonelib::PhoneNumber;
use std::borrow::Cow;

/// What values are brought to.
#[derive(Clone, Debug)]
pub(super) enum Normalizer {
    /// Phone numbers, as E.164. The region, such as `US`, is that of numbers without a country code.
    Phone { region: String },
    /// Addresses of mail, in small letters.
    Email,
}

impl Normalizer {
    /// Returns the normalizer that a source names; `None` if it names none.
    ///
    /// # Errors
    /// The region is missing, needless, or no region.
    pub(super) fn new(source: &ValueSource, key: &str) -> Result<Option<Self>, MappingFault> {
        let of_region = |reason: &str| MappingFault::new(format!("{key}.region"), reason);
        match (source.normalize, &source.region) {
            (None, None) => Ok(None),
            (Some(NormalForm::Email), None) => Ok(Some(Self::Email)),
            (Some(NormalForm::Phone), None) => {
                Err(of_region("expected the region of numbers without a country code, such as `US`"))
            }
            (Some(NormalForm::Phone), Some(region)) if phonelib::country_by_code(region).is_some() => {
                Ok(Some(Self::Phone { region: region.clone() }))
            }
            (Some(NormalForm::Phone), Some(region)) => {
                Err(of_region("expected the two letters of a region, such as `US`").with_value(region))
            }
            (_, Some(_)) => Err(of_region("only a column with `normalize = \"phone\"` can have this key")),
        }
    }

    /// Returns the one spelling of a value; `None` if it is no phone number or no address.
    pub(super) fn normalized(&self, text: &str) -> Option<String> {
        match self {
            Self::Phone { region } => {
                let number = PhoneNumber::parse_with_country(&plain_separators(text), region)?;
                Some(number.e164().to_owned())
            }
            Self::Email => email(text),
        }
    }
}

/// Returns a phone number with a hyphen for each kind of dash, and a blank for each that does not break. Programs for
/// texts and spreadsheets write them, and the library does not know them.
fn plain_separators(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = |char| match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        char => char,
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// Returns an address of mail in small letters; `None` if the text is none.
fn email(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let (local, domain) = text.split_once('@')?;
    let of_local = |char: char| !char.is_whitespace() && !char.is_control() && !"@,;<>()[]\"\\".contains(char);
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|char| char.is_alphanumeric() || char == '-');
    let is_sound =
        !local.is_empty() && local.chars().all(of_local) && domain.contains('.') && domain.split('.').all(is_label);
    is_sound.then_some(text)
}
