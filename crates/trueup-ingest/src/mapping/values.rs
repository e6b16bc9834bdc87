//! How a text of an input becomes a value: `TextRules` change the text, then `ValueReader` reads it. This file
//! does not know tables.

use super::canonical::{ColumnType, STAGES};
use super::declaration::{Constant, Unmapped, ValueMap, ValueSource};
use super::error::KeyFault;
use chrono::format::{Item, Numeric, Pad, Parsed, StrftimeItems, parse};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};
use chrono_tz::Tz;
use std::borrow::Cow;
use std::collections::BTreeMap;
use trueup_core::Day;

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
            return Err(KeyFault::new(format!("{key}.unmapped"), "only a column with a `map` can have this key"));
        }
        Ok(Self {
            remove: source.remove.clone().unwrap_or_default(),
            decimal_mark: source.decimal_mark,
            map,
            unmapped: source.unmapped.unwrap_or_default(),
            default: source.default.as_ref().map(|constant| constant.0.clone()),
        })
    }

    /// Returns whether values become others by name.
    pub(super) fn has_map(&self) -> bool {
        self.map.is_some()
    }

    /// Returns whether no text changes.
    pub(super) fn is_plain(&self) -> bool {
        self.remove.is_empty() && self.decimal_mark.is_none() && self.map.is_none() && self.default.is_none()
    }

    /// Returns the text to read; `None` if there is no value.
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

    /// Returns whether a row with this text is left out.
    pub(super) fn skips(&self, text: Option<&str>) -> bool {
        let Some(map) = self.map.as_ref().filter(|_| self.unmapped == Unmapped::Skip) else { return false };
        self.cleaned(text).is_some_and(|text| !map.contains_key(text.as_ref()))
    }

    /// Returns the text without the characters to remove; `None` if nothing is left.
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

/// Reads texts as the values of a column, with the formats and zones of its source.
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
    pub(super) fn new(column_type: ColumnType, source: &ValueSource, key: &str) -> Result<Self, KeyFault> {
        let needless = |name: &str, fields: &str| {
            Err(KeyFault::new(format!("{key}.{name}"), format!("only {fields} can have this key")))
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
        Ok(match column_type {
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

    /// Returns whether it reads every text, and none, too.
    pub(super) const fn reads_everything(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// Reads a cell that has no value, which then has none, or is a fault.
    pub(super) fn read_nothing<T>(&self) -> Result<Option<T>, String> {
        if matches!(self, Self::Key | Self::Stage) { Err("expected a value".to_owned()) } else { Ok(None) }
    }

    /// Checks that a text can be read.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Key | Self::Text => Ok(()),
            Self::Stage => read_stage(text).map(drop),
            Self::Day(format) => read_day(text, format.as_ref()).map(drop),
            Self::Instant(format, zone) => read_instant(text, format.as_ref(), zone.unwrap_or(Tz::UTC)).map(drop),
            Self::Amount => read_amount(text).map(drop),
            Self::Count => read_count(text).map(drop),
            Self::Truth => read_truth(text).map(drop),
        }
    }
}

/// A format of dates, as strftime defines it.
#[derive(Clone, Debug)]
pub(super) struct DateFormat {
    text: String,
    items: Vec<Item<'static>>,
    /// Whether [`DateFormat::parse_digits`] can read most texts.
    has_digits: bool,
}

impl DateFormat {
    /// Parses a format; `None` if the text is not one.
    pub(super) fn new(text: &str) -> Option<Self> {
        let items = StrftimeItems::new(text).parse_to_owned().ok()?;
        let is_plain = |item: &Item<'_>| match item {
            Item::OwnedLiteral(_) | Item::OwnedSpace(_) => true,
            Item::Numeric(number, Pad::Zero) => field(number).is_some(),
            _ => false,
        };
        let has_digits = items.iter().all(is_plain);
        Some(Self { text: text.to_owned(), items, has_digits })
    }

    /// Reads a text that has every number in full, as nearly all texts have, several times as fast as
    /// [`DateFormat::parsed`]. `None` leaves any other text to it. The clock time is `None` if the format has none.
    fn parse_digits(&self, text: &str) -> Option<(NaiveDate, Option<NaiveTime>)> {
        let mut rest = text.as_bytes();
        let mut fields = [None; 6];
        for item in self.items.iter().filter(|_| self.has_digits) {
            match item {
                Item::OwnedLiteral(text) | Item::OwnedSpace(text) => rest = rest.strip_prefix(text.as_bytes())?,
                Item::Numeric(number, _) => {
                    let (at, width) = field(number)?;
                    let (digits, after) = rest.split_at_checked(width)?;
                    // A longer number is another one.
                    let ends = width == 2 || !after.first().is_some_and(u8::is_ascii_digit);
                    if !ends || !digits.iter().all(u8::is_ascii_digit) || fields[at].is_some() {
                        return None;
                    }
                    fields[at] = Some(digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')));
                    rest = after;
                }
                _ => return None,
            }
        }
        let [Some(year), Some(month), Some(day), hour, minute, second] = fields else { return None };
        let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| rest.is_empty())?;
        match (hour, minute) {
            (Some(hour), Some(minute)) => {
                Some((date, Some(NaiveTime::from_hms_opt(hour, minute, second.unwrap_or(0))?)))
            }
            (None, None) if second.is_none() => Some((date, None)),
            _ => None,
        }
    }

    fn parsed(&self, text: &str) -> Result<Parsed, String> {
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, self.items.iter()).map_err(|_| self.expected())?;
        Ok(parsed)
    }

    fn expected(&self) -> String {
        format!("expected a date as `{}`", self.text)
    }
}

/// Returns the place of a number among year, month, day, hour, minute and second, and its digits.
const fn field(number: &Numeric) -> Option<(usize, usize)> {
    match number {
        Numeric::Year => Some((0, 4)),
        Numeric::Month => Some((1, 2)),
        Numeric::Day => Some((2, 2)),
        Numeric::Hour => Some((3, 2)),
        Numeric::Minute => Some((4, 2)),
        Numeric::Second => Some((5, 2)),
        _ => None,
    }
}

/// Reads a date as days since 1970-01-01, and ignores a time of day.
pub(super) fn read_day(text: &str, format: Option<&DateFormat>) -> Result<i32, String> {
    let day = match format {
        None => text.parse::<Day>().map_err(|_| "expected a date as YYYY-MM-DD".to_owned())?,
        Some(format) => {
            let date = match format.parse_digits(text) {
                Some((date, _)) => date,
                None => format.parsed(text)?.to_naive_date().map_err(|_| format.expected())?,
            };
            Day::from_date(date).map_err(|_| out_of_range())?
        }
    };
    Ok(i32::from(day.number()))
}

/// Reads a date in three parts as days since 1970-01-01.
pub(super) fn read_day_of_parts(year: &str, month: &str, day: &str) -> Result<i32, String> {
    let whole = |text: &str, name: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten().ok_or_else(|| format!("expected a whole number as {name}"))
    };
    let (year, month, day) = (whole(year, "year")?, whole(month, "month")?, whole(day, "day")?);
    let date = i32::try_from(year).ok().and_then(|year| NaiveDate::from_ymd_opt(year, month, day));
    let date = date.ok_or("expected year, month and day of a calendar date")?;
    Day::from_date(date).map(|day| i32::from(day.number())).map_err(|_| out_of_range())
}

/// Reads a time as microseconds since 1970-01-01 in UTC. A text without an offset is a clock time of the zone.
pub(super) fn read_instant(text: &str, format: Option<&DateFormat>, zone: Tz) -> Result<i64, String> {
    let Some(format) = format else {
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Ok(instant.timestamp_micros());
        }
        let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .ok_or("expected a time as YYYY-MM-DDTHH:MM:SS")?;
        return clock_time_to_instant(local, zone);
    };
    if let Some((date, Some(time))) = format.parse_digits(text) {
        return clock_time_to_instant(date.and_time(time), zone);
    }
    let parsed = format.parsed(text)?;
    if parsed.offset().is_some() {
        return parsed.to_datetime().map(|instant| instant.timestamp_micros()).map_err(|_| format.expected());
    }
    let local = parsed.to_naive_datetime_with_offset(0).map_err(|_| format.expected())?;
    // Seconds since 1970 do not depend on a zone.
    let zone = if parsed.timestamp().is_some() { Tz::UTC } else { zone };
    clock_time_to_instant(local, zone)
}

/// Returns a clock time as microseconds since 1970-01-01 in UTC. If clocks show it twice, the first one counts.
pub(super) fn clock_time_to_instant(local: NaiveDateTime, zone: Tz) -> Result<i64, String> {
    if zone == Tz::UTC {
        return Ok(local.and_utc().timestamp_micros());
    }
    let instant = zone.from_local_datetime(&local).earliest();
    let instant =
        instant.ok_or_else(|| format!("expected a time that exists in {zone}, where clocks skip this one"))?;
    Ok(instant.timestamp_micros())
}

/// Returns an amount as it is written.
pub(super) fn read_amount(text: &str) -> Result<&str, String> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(whole) && digits(fraction) { Ok(text) } else { Err("expected an amount such as 1234.5".to_owned()) }
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

/// Reads a stage.
pub(super) fn read_stage(text: &str) -> Result<&'static str, String> {
    STAGES.into_iter().find(|stage| *stage == text).ok_or_else(|| format!("expected one of {}", STAGES.join(", ")))
}

fn out_of_range() -> String {
    format!("expected a date from {} to {}", Day::MIN, Day::MAX)
}

#[cfg(test)]
mod tests;
