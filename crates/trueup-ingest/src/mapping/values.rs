//! How a text of an input becomes a value: [`TextRules`] change the text, then [`ValueReader`] reads it.

use super::amounts::{AmountRules, DecimalMark, WrittenAmount, is_plain};
use super::canonical::{ColumnType, stage_names};
use super::cells::CellForm;
use super::check::{expect, refuse};
use super::dates::{DateFormat, read_day, read_time};
use super::declaration::{Constant, Unmapped, ValueMap, ValueSource};
use super::normal::Normalizer;
use super::times::ClockRule;
use crate::error::MappingFault;
use regex::Regex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use trueup_core::model::{GivenTime, Stage, UtcMicros, Zone};

/// The named maps of a mapping.
pub(super) type NamedMaps = BTreeMap<String, BTreeMap<String, Constant>>;

/// Takes what is wanted out of a text.
#[derive(Clone, Debug)]
pub(super) struct Cleaning {
    extract: Option<Regex>,
    remove: String,
    pub(super) trims: bool,
}

impl Cleaning {
    fn new(source: &ValueSource, key: &str) -> Result<Self, MappingFault> {
        let extract = source.extract.as_deref().map(|text| regex(text, &format!("{key}.extract"))).transpose()?;
        Ok(Self { extract, remove: source.remove.clone().unwrap_or_default(), trims: source.trim.unwrap_or(true) })
    }

    /// Returns the rules for a text whose parts were cleaned.
    fn of_clean_parts(&self) -> Self {
        Self { extract: None, remove: String::new(), trims: self.trims }
    }

    /// Returns the text that the expression extracts, without the characters to remove and without blanks at its ends;
    /// `None` if nothing is left. Of a number, a date or a boolean of the file nothing is removed, because it is always
    /// written in the same way.
    pub(super) fn cleaned<'a>(&self, text: Option<&'a str>, form: CellForm) -> Option<Cow<'a, str>> {
        let mut text = text?;
        if let Some(extract) = &self.extract {
            let found = extract.captures(text)?;
            text = found.get(1).or_else(|| found.get(0))?.as_str();
        }
        if form == CellForm::Text && text.contains(|char| self.remove.contains(char)) {
            let kept: String = text.chars().filter(|char| !self.remove.contains(*char)).collect();
            let kept = if self.trims { kept.trim().to_owned() } else { kept };
            return (!kept.is_empty()).then_some(Cow::Owned(kept));
        }
        let text = if self.trims { text.trim() } else { text };
        (!text.is_empty()).then_some(Cow::Borrowed(text))
    }
}

/// Compiles a regular expression of a mapping.
pub(super) fn regex(text: &str, key: &str) -> Result<Regex, MappingFault> {
    Regex::new(text).map_err(|error| {
        let reason = format!("expected a regular expression: {}", error.to_string().replace('\n', " "));
        MappingFault::new(key, reason)
    })
}

/// Changes a text before it is read: takes what is wanted out of it, maps values, fills in a default.
#[derive(Clone, Debug)]
pub(super) struct TextRules {
    pub(super) cleaning: Cleaning,
    map: Option<BTreeMap<String, Constant>>,
    pub(super) unmapped: Unmapped,
    normalizer: Option<Normalizer>,
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
        let may_lack = map.is_some() || source.unmapped.is_none();
        expect(may_lack, format!("{key}.unmapped"), "only a column with a `map` can have this key")?;
        Ok(Self {
            cleaning: Cleaning::new(source, key)?,
            map,
            unmapped: source.unmapped.unwrap_or_default(),
            normalizer: Normalizer::new(source, key)?,
            default: source.default.as_ref().map(|constant| constant.0.clone()),
            ending: source.ending.clone(),
        })
    }

    /// Returns the rules for texts whose parts the rules of `cleaning` have changed already.
    pub(super) fn of_clean_parts(self) -> Self {
        Self { cleaning: self.cleaning.of_clean_parts(), ..self }
    }

    /// Returns each value that the map has, with the value that it becomes.
    pub(super) fn map(&self) -> impl Iterator<Item = (&str, &str)> {
        self.map.iter().flatten().map(|(from, to)| (from.as_str(), to.0.as_str()))
    }

    /// Returns whether values recur because a map makes them.
    pub(super) const fn has_map(&self) -> bool {
        self.map.is_some() && self.normalizer.is_none()
    }

    /// Returns whether values are brought to one spelling each.
    pub(super) const fn normalizes(&self) -> bool {
        self.normalizer.is_some()
    }

    /// Returns whether no text changes except that it may be trimmed.
    pub(super) fn is_plain(&self) -> bool {
        let Self { cleaning: Cleaning { extract, remove, trims: _ }, map, unmapped: _, normalizer, default, ending } =
            self;
        let is_clean = extract.is_none() && remove.is_empty();
        is_clean && map.is_none() && normalizer.is_none() && default.is_none() && ending.is_empty()
    }

    /// Returns the text to read, and its form; `None` if there is no value. What the mapping itself gives is a text,
    /// whatever the form of the cell. A value that the map does not have is an error if `unmapped` refuses it.
    pub(super) fn apply<'a>(
        &'a self,
        text: Option<&'a str>,
        form: CellForm,
    ) -> Result<Option<(Cow<'a, str>, CellForm)>, String> {
        Ok(self.finished(self.mapped(text, form)?))
    }

    /// Returns the text to read, as [`TextRules::apply`] does, in its one spelling, and whether it is in it; a value
    /// that is no phone number or no address stays as it is.
    pub(super) fn apply_normalized<'a>(
        &'a self,
        text: Option<&'a str>,
        form: CellForm,
    ) -> Result<Option<(Cow<'a, str>, bool)>, String> {
        let (mut found, mut is_normal) = (self.mapped(text, form)?, true);
        if let CellForm::Made { is_normal } = form {
            return Ok(self.finished(found).map(|(text, _)| (text, is_normal)));
        }
        if let (Some((text, form)), Some(normalizer)) = (&mut found, &self.normalizer) {
            match normalizer.normalized(text) {
                Some(normalized) => (*text, *form) = (Cow::Owned(normalized), CellForm::Text),
                None => is_normal = false,
            }
        }
        Ok(self.finished(found).map(|(text, _)| (text, is_normal)))
    }

    /// Returns a text of the mapping, if it has characters.
    fn given(text: &str) -> Option<(Cow<'_, str>, CellForm)> {
        Some((Cow::Borrowed(text), CellForm::Text)).filter(|_| !text.is_empty())
    }

    fn mapped<'a>(&'a self, text: Option<&'a str>, form: CellForm) -> Result<Option<(Cow<'a, str>, CellForm)>, String> {
        if matches!(form, CellForm::Made { .. }) {
            return Ok(text.map(|text| (Cow::Borrowed(text), form)));
        }
        let mut found = self.cleaning.cleaned(text, form).map(|text| (text, form));
        if let Some(map) = &self.map {
            let value = found.as_ref().map_or("", |(text, _)| text.as_ref());
            match map.get(value) {
                Some(mapped) => found = Self::given(&mapped.0),
                None if value.is_empty() || self.unmapped == Unmapped::Keep => {}
                None if self.unmapped == Unmapped::Refuse => {
                    return Err("expected a value that the map has".to_owned());
                }
                None => found = None,
            }
        }
        Ok(found)
    }

    /// Returns the value with what follows the map: the default and the ending.
    fn finished<'a>(&'a self, found: Option<(Cow<'a, str>, CellForm)>) -> Option<(Cow<'a, str>, CellForm)> {
        let found = found.or_else(|| self.default.as_deref().and_then(Self::given));
        if self.ending.is_empty() {
            return found;
        }
        found.map(|(text, form)| (Cow::Owned(format!("{text}{}", self.ending)), form))
    }

    /// Returns whether a row with this text is left out.
    pub(super) fn skips(&self, text: Option<&str>, form: CellForm) -> bool {
        let Some(map) = self.map.as_ref().filter(|_| self.unmapped == Unmapped::Skip) else { return false };
        if matches!(form, CellForm::Made { .. }) {
            return false;
        }
        self.cleaning.cleaned(text, form).is_some_and(|text| !map.contains_key(text.as_ref()))
    }
}

/// Reads texts as the values of a column, with the formats and zones of its source.
#[derive(Clone, Debug)]
pub(super) enum ValueReader {
    Key,
    Stage,
    Day(Option<DateFormat>),
    Instant(Option<DateFormat>, ClockRule),
    Amount(AmountRules),
    /// Whole numbers, and the decimal mark that the mapping says.
    Count(Option<DecimalMark>),
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
        let is_text = matches!(column_type, ColumnType::Key | ColumnType::Text | ColumnType::Dimension);
        let is_number = matches!(column_type, ColumnType::Amount | ColumnType::Count);
        let is_instant = column_type == ColumnType::Instant;
        for (name, is_set, is_right, fields) in [
            ("format", source.format.is_some(), is_instant || column_type == ColumnType::Day, "`date` and `dateTime`"),
            ("time_zone", source.time_zone.is_some(), is_instant, "`dateTime`"),
            ("normalize", source.normalize.is_some(), is_text, "ids and dimensions"),
            ("decimal_mark", source.decimal_mark.is_some(), is_number, "amounts and counts"),
        ] {
            expect(!is_set || is_right, format!("{key}.{name}"), &format!("only {fields} can have this key"))?;
        }
        let format = match &source.format {
            None => None,
            Some(formats) => Some(DateFormat::any(formats.texts()).ok_or_else(|| {
                MappingFault::new(format!("{key}.format"), "expected strftime specifiers such as `%Y-%m-%d`")
                    .with_value(formats.texts().join(", "))
            })?),
        };
        let wanted = if is_instant {
            "expected specifiers of a date and a time of day, such as `%Y-%m-%d %H:%M`"
        } else {
            "expected specifiers of a date, such as `%Y-%m-%d`"
        };
        let incomplete = format.as_ref().and_then(|format| format.incomplete(is_instant));
        refuse(incomplete, format!("{key}.format"), wanted)?;
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
            ColumnType::Amount => Self::Amount(AmountRules::new(source, key)?),
            ColumnType::Count => Self::Count(source.decimal_mark.map(|mark| match mark {
                ',' => DecimalMark::Comma,
                _ => DecimalMark::Point,
            })),
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
            Self::Amount(_) => check_amount(text),
            Self::Count(_) => read_count(text).map(drop),
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
    if is_plain(text) { Ok(()) } else { Err("expected an amount such as 1234.5".to_owned()) }
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

/// Reads a whole number whose thousands may be separated: `1,204` and `1.204` are whole only in one way.
pub(super) fn read_written_count(text: &str, form: CellForm, given: Option<DecimalMark>) -> Result<i64, String> {
    read_count(text).or_else(|expected| {
        let written = WrittenAmount::parse(text).filter(|written| form != CellForm::Value && !written.has_currency());
        let written = written.ok_or_else(|| expected.clone())?;
        let whole = written.with_point(given.unwrap_or(written.mark_of_whole())).ok_or(expected)?;
        read_count(&whole)
    })
}

/// Reads `true` or `false`.
pub(super) fn read_truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "expected true or false".to_owned())
}

/// Checks that a text is a stage.
fn check_stage(text: &str) -> Result<(), String> {
    Stage::from_name(text).map(drop).ok_or_else(|| format!("expected one of {}", stage_names().join(", ")))
}
