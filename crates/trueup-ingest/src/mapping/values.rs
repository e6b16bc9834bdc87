//! How a text of an input becomes a value: [`TextRules`] change the text, then [`ValueReader`] reads it.

use super::canonical::{ColumnType, stage_names};
use super::cells::CellForm;
use super::dates::{DateFormat, read_day, read_time};
use super::declaration::{Constant, Unmapped, ValueMap, ValueSource};
use super::times::ClockRule;
use crate::error::MappingFault;
use std::borrow::Cow;
use std::collections::BTreeMap;
use trueup_core::model::{GivenTime, Stage, UtcMicros, Zone};

/// The named maps of a mapping.
pub(super) type NamedMaps = BTreeMap<String, BTreeMap<String, Constant>>;

/// Changes a text before it is read: removes characters, maps values, fills in a default.
#[derive(Clone, Debug, Default)]
pub(super) struct TextRules {
    remove: String,
    decimal_mark: Option<char>,
    map: Option<BTreeMap<String, Constant>>,
    pub(super) unmapped: Unmapped,
    default: Option<String>,
    ending: String,
}

impl TextRules {
    pub(super) fn new(source: &ValueSource, maps: &NamedMaps, key: &str) -> Result<Self, MappingFault> {
        let map = match &source.map {
            None => None,
            Some(ValueMap::Inline(map)) => Some(map.clone()),
            Some(ValueMap::Named(name)) => {
                let found = maps.get(name).ok_or_else(|| {
                    MappingFault::new(format!("{key}.map"), "no [map] has this name").with_value(name)
                })?;
                Some(found.clone())
            }
        };
        if map.is_none() && source.unmapped.is_some() {
            return Err(MappingFault::new(format!("{key}.unmapped"), "only a column with a `map` can have this key"));
        }
        Ok(Self {
            remove: source.remove.clone().unwrap_or_default(),
            decimal_mark: source.decimal_mark,
            map,
            unmapped: source.unmapped.unwrap_or_default(),
            default: source.default.as_ref().map(|constant| constant.0.clone()),
            ending: source.ending.clone(),
        })
    }

    /// Returns each value that the map has, with the value that it becomes.
    pub(super) fn map(&self) -> impl Iterator<Item = (&str, &str)> {
        self.map.iter().flatten().map(|(from, to)| (from.as_str(), to.0.as_str()))
    }

    /// Returns whether the source has a map.
    pub(super) fn has_map(&self) -> bool {
        self.map.is_some()
    }

    /// Returns whether no text changes.
    pub(super) fn is_plain(&self) -> bool {
        let Self { remove, decimal_mark, map, unmapped: _, default, ending } = self;
        remove.is_empty() && decimal_mark.is_none() && map.is_none() && default.is_none() && ending.is_empty()
    }

    /// Returns the text to read, and its form; `None` if there is no value. What the mapping itself gives is a text,
    /// whatever the form of the cell. A value that the map does not have is an error if `unmapped` refuses it.
    pub(super) fn apply<'a>(
        &'a self,
        text: Option<&'a str>,
        form: CellForm,
    ) -> Result<Option<(Cow<'a, str>, CellForm)>, String> {
        let given = |text: &'a str| Some((Cow::Borrowed(text), CellForm::Text)).filter(|_| !text.is_empty());
        let mut found = self.cleaned(text, form).map(|text| (text, form));
        if let Some(map) = &self.map {
            let value = found.as_ref().map_or("", |(text, _)| text.as_ref());
            match map.get(value) {
                Some(mapped) => found = given(&mapped.0),
                None if value.is_empty() || self.unmapped == Unmapped::Keep => {}
                None if self.unmapped == Unmapped::Refuse => {
                    return Err("expected a value that the map has".to_owned());
                }
                None => found = None,
            }
        }
        let found = found.or_else(|| self.default.as_deref().and_then(given));
        if self.ending.is_empty() {
            return Ok(found);
        }
        Ok(found.map(|(text, form)| (Cow::Owned(format!("{text}{}", self.ending)), form)))
    }

    /// Returns whether a row with this text is left out.
    pub(super) fn skips(&self, text: Option<&str>, form: CellForm) -> bool {
        let Some(map) = self.map.as_ref().filter(|_| self.unmapped == Unmapped::Skip) else { return false };
        self.cleaned(text, form).is_some_and(|text| !map.contains_key(text.as_ref()))
    }

    /// Returns the text without the characters to remove, and with a point for the decimal mark; `None` if nothing is
    /// left. A number, a date or a boolean of the file stays as it is, because the point of a number is a decimal point
    /// however the texts of the column are written.
    fn cleaned<'a>(&self, text: Option<&'a str>, form: CellForm) -> Option<Cow<'a, str>> {
        let text = text.filter(|text| !text.is_empty())?;
        if form == CellForm::Value || self.remove.is_empty() && self.decimal_mark.is_none() {
            return Some(Cow::Borrowed(text));
        }
        let kept = text.chars().filter(|char| !self.remove.contains(*char));
        let text: String = kept.map(|char| if Some(char) == self.decimal_mark { '.' } else { char }).collect();
        (!text.is_empty()).then_some(Cow::Owned(text))
    }
}

/// Reads texts as the values of a column, with the formats and zones of its source.
#[derive(Clone, Debug)]
pub(super) enum ValueReader {
    Key,
    Stage,
    Day(Option<DateFormat>),
    Instant(Option<DateFormat>, ClockRule),
    Amount,
    Count,
    Truth,
    Text,
}

impl ValueReader {
    /// Returns the reader of a column. `clock` is the rule of times without an offset, unless the source has its own.
    pub(super) fn new(
        column_type: ColumnType,
        source: &ValueSource,
        clock: &ClockRule,
        key: &str,
    ) -> Result<Self, MappingFault> {
        let needless = |name: &str, fields: &str| {
            Err(MappingFault::new(format!("{key}.{name}"), format!("only {fields} can have this key")))
        };
        if source.format.is_some() && !matches!(column_type, ColumnType::Day | ColumnType::Instant) {
            return needless("format", "`date` and `dateTime`");
        }
        if source.time_zone.is_some() && column_type != ColumnType::Instant {
            return needless("time_zone", "`dateTime`");
        }
        let number = matches!(column_type, ColumnType::Amount | ColumnType::Count);
        if source.decimal_mark.is_some() && !number {
            return needless("decimal_mark", "amounts and counts");
        }
        let format = match &source.format {
            None => None,
            Some(formats) => Some(DateFormat::any(formats.texts()).ok_or_else(|| {
                MappingFault::new(format!("{key}.format"), "expected strftime specifiers such as `%Y-%m-%d`")
                    .with_value(formats.texts().join(", "))
            })?),
        };
        let is_instant = column_type == ColumnType::Instant;
        if let Some(incomplete) = format.as_ref().and_then(|format| format.incomplete(is_instant)) {
            let wanted = if is_instant {
                "expected specifiers of a date and a time of day, such as `%Y-%m-%d %H:%M`"
            } else {
                "expected specifiers of a date, such as `%Y-%m-%d`"
            };
            return Err(MappingFault::new(format!("{key}.format"), wanted).with_value(incomplete));
        }
        let clock = match &source.time_zone {
            None => clock.clone(),
            Some(name) => ClockRule::Zone(name.parse::<Zone>().map_err(|_| {
                MappingFault::new(format!("{key}.time_zone"), "expected an IANA time zone such as `America/New_York`")
                    .with_value(name)
            })?),
        };
        Ok(match column_type {
            ColumnType::Key => Self::Key,
            ColumnType::Stage => Self::Stage,
            ColumnType::Day => Self::Day(format),
            ColumnType::Instant => Self::Instant(format, clock),
            ColumnType::Amount => Self::Amount,
            ColumnType::Count => Self::Count,
            ColumnType::Truth => Self::Truth,
            ColumnType::Text | ColumnType::Dimension => Self::Text,
        })
    }

    /// Returns whether any text can be read, and a cell without a text, too.
    pub(super) const fn reads_everything(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// Reads a cell without a value: it stays without one, or is a fault if every row needs a value.
    pub(super) fn read_nothing<T>(&self) -> Result<Option<T>, String> {
        if matches!(self, Self::Key | Self::Stage) { Err("expected a value".to_owned()) } else { Ok(None) }
    }

    /// Checks that a text can be read on every row.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Key | Self::Text => Ok(()),
            Self::Stage => check_stage(text),
            Self::Day(format) => read_day(text, format.as_ref()).map(drop),
            Self::Instant(format, clock) => read_constant_time(text, format.as_ref(), clock).map(drop),
            Self::Amount => check_amount(text),
            Self::Count => read_count(text).map(drop),
            Self::Truth => read_truth(text).map(drop),
        }
    }
}

/// Reads a time that is the same on every row, as microseconds since 1970-01-01 in UTC.
pub(super) fn read_constant_time(text: &str, format: Option<&DateFormat>, clock: &ClockRule) -> Result<i64, String> {
    let UtcMicros(instant) = match read_time(text, format)? {
        GivenTime::Instant(instant) => instant,
        GivenTime::Clock(_) if clock.depends_on_account() => {
            return Err("expected a time with an offset, because it is the same for every account".to_owned());
        }
        GivenTime::Clock(time) => clock.instant(time, None)?,
    };
    Ok(instant)
}

/// Checks that a text is an amount.
fn check_amount(text: &str) -> Result<(), String> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(whole) && digits(fraction) { Ok(()) } else { Err("expected an amount such as 1234.5".to_owned()) }
}

/// Reads a whole number that is not negative; `12.0` is one.
pub(super) fn read_count(text: &str) -> Result<i64, String> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    let digits = whole.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| whole.parse().ok()).flatten().ok_or_else(|| "expected a whole number, 0 or more".to_owned())
}

/// Reads `true` or `false`.
pub(super) fn read_truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "expected true or false".to_owned())
}

/// Checks that a text is a stage.
fn check_stage(text: &str) -> Result<(), String> {
    Stage::from_name(text).map(drop).ok_or_else(|| format!("expected one of {}", stage_names().join(", ")))
}
