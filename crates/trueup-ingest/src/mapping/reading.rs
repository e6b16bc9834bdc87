//! A source's options, checked and ready: what is done to a text, and how it is then read.

use super::cell::{self, DateFormat};
use super::declaration::{Constant, Unmapped, ValueMap, ValueSource};
use super::error::KeyFault;
use super::field::ColumnType;
use chrono_tz::Tz;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The maps that a mapping names.
pub(super) type NamedMaps = BTreeMap<String, BTreeMap<String, Constant>>;

/// What is done to a text before it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct TextRules {
    remove: String,
    decimal_mark: Option<char>,
    map: Option<BTreeMap<String, Constant>>,
    pub(super) unmapped: Unmapped,
    default: Option<String>,
}

impl TextRules {
    pub(super) fn new(source: &ValueSource, maps: &NamedMaps, key: &str) -> Result<Self, KeyFault> {
        let map = match &source.map {
            None => None,
            Some(ValueMap::Inline(map)) => Some(map.clone()),
            Some(ValueMap::Named(name)) => {
                let found = maps
                    .get(name)
                    .ok_or_else(|| KeyFault::new(format!("{key}.map"), "no [map] has this name").with_value(name))?;
                Some(found.clone())
            }
        };
        if map.is_none() && source.unmapped.is_some() {
            return Err(KeyFault::new(format!("{key}.unmapped"), "there is no `map` beside it"));
        }
        Ok(Self {
            remove: source.remove.clone().unwrap_or_default(),
            decimal_mark: source.decimal_mark,
            map,
            unmapped: source.unmapped.unwrap_or_default(),
            default: source.default.as_ref().map(|constant| constant.0.clone()),
        })
    }

    /// Whether a text stays what it is.
    pub(super) fn is_plain(&self) -> bool {
        self.remove.is_empty() && self.decimal_mark.is_none() && self.map.is_none() && self.default.is_none()
    }

    /// The text to be read; `None`: no value.
    pub(super) fn apply<'a>(&'a self, text: Option<&'a str>) -> Result<Option<Cow<'a, str>>, String> {
        let mut text = self.cleaned(text);
        if let Some(map) = &self.map {
            let value = text.as_deref().unwrap_or("");
            match map.get(value) {
                Some(mapped) => text = Some(Cow::Borrowed(mapped.0.as_str())),
                None if value.is_empty() || self.unmapped == Unmapped::Keep => {}
                None if self.unmapped == Unmapped::Refuse => {
                    return Err("expected a value that the map has".to_owned());
                }
                None => text = None,
            }
        }
        let text = text.filter(|text| !text.is_empty());
        Ok(text.or_else(|| self.default.as_deref().filter(|text| !text.is_empty()).map(Cow::Borrowed)))
    }

    /// Whether a row with this text is left out.
    pub(super) fn skips(&self, text: Option<&str>) -> bool {
        let Some(map) = self.map.as_ref().filter(|_| self.unmapped == Unmapped::Skip) else { return false };
        self.cleaned(text).is_some_and(|text| !map.contains_key(text.as_ref()))
    }

    /// The text without what is to be removed from it; `None`: nothing is left.
    fn cleaned<'a>(&self, text: Option<&'a str>) -> Option<Cow<'a, str>> {
        let text = text.filter(|text| !text.is_empty())?;
        if self.remove.is_empty() && self.decimal_mark.is_none() {
            return Some(Cow::Borrowed(text));
        }
        let kept = text.chars().filter(|char| !self.remove.contains(*char));
        let text: String = kept.map(|char| if Some(char) == self.decimal_mark { '.' } else { char }).collect();
        (!text.is_empty()).then_some(Cow::Owned(text))
    }
}

/// How a text is read.
#[derive(Clone, Debug)]
pub(super) enum ValueReader {
    Key,
    Stage,
    Day(Option<DateFormat>),
    Instant(Option<DateFormat>, Option<Tz>),
    Amount,
    Count,
    Truth,
    Text,
}

impl ValueReader {
    pub(super) fn new(field: ColumnType, source: &ValueSource, key: &str) -> Result<Self, KeyFault> {
        let needless = |name: &str, fields: &str| {
            Err(KeyFault::new(format!("{key}.{name}"), format!("only {fields} can have this key")))
        };
        if source.format.is_some() && !matches!(field, ColumnType::Day | ColumnType::Instant) {
            return needless("format", "`date` and `dateTime`");
        }
        if source.time_zone.is_some() && field != ColumnType::Instant {
            return needless("time_zone", "`dateTime`");
        }
        let number = matches!(field, ColumnType::Amount | ColumnType::Count);
        if source.decimal_mark.is_some() && !number {
            return needless("decimal_mark", "amounts and counts");
        }
        let format = match &source.format {
            None => None,
            Some(text) => Some(DateFormat::new(text).ok_or_else(|| {
                KeyFault::new(format!("{key}.format"), "expected strftime specifiers such as `%Y-%m-%d`")
                    .with_value(text)
            })?),
        };
        let zone = match &source.time_zone {
            None => None,
            Some(name) => Some(name.parse::<Tz>().map_err(|_| {
                KeyFault::new(format!("{key}.time_zone"), "expected an IANA time zone such as `America/New_York`")
                    .with_value(name)
            })?),
        };
        Ok(match field {
            ColumnType::Key => Self::Key,
            ColumnType::Stage => Self::Stage,
            ColumnType::Day => Self::Day(format),
            ColumnType::Instant => Self::Instant(format, zone),
            ColumnType::Amount => Self::Amount,
            ColumnType::Count => Self::Count,
            ColumnType::Truth => Self::Truth,
            ColumnType::Text | ColumnType::Dimension => Self::Text,
        })
    }

    /// Whether a text can be read.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Key | Self::Text => Ok(()),
            Self::Stage => cell::stage(text).map(drop),
            Self::Day(format) => cell::day(text, format.as_ref()).map(drop),
            Self::Instant(format, zone) => cell::instant(text, format.as_ref(), zone.unwrap_or(Tz::UTC)).map(drop),
            Self::Amount => cell::amount(text).map(drop),
            Self::Count => cell::count(text).map(drop),
            Self::Truth => cell::truth(text).map(drop),
        }
    }
}
