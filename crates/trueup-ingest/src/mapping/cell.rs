//! One cell of text, read as what its column wants. Nothing here knows tables or polars.

use super::field::STAGES;
use chrono::format::{Item, Parsed, StrftimeItems, parse};
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone};
use chrono_tz::Tz;
use trueup_core::Day;

/// A way of writing dates, as strftime has it.
#[derive(Clone, Debug)]
pub(super) struct DateFormat {
    text: String,
    items: Vec<Item<'static>>,
}

impl DateFormat {
    /// `None`: the text is no such format.
    pub(super) fn new(text: &str) -> Option<Self> {
        let items = StrftimeItems::new(text).parse_to_owned().ok()?;
        Some(Self { text: text.to_owned(), items })
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

/// The days since 1970-01-01 of a text; any time in it is passed over.
pub(super) fn day(text: &str, format: Option<&DateFormat>) -> Result<i32, String> {
    let day = match format {
        None => text.parse::<Day>().map_err(|_| "expected a date as YYYY-MM-DD".to_owned())?,
        Some(format) => {
            let date = format.parsed(text)?.to_naive_date().map_err(|_| format.expected())?;
            Day::from_date(date).map_err(|_| out_of_range())?
        }
    };
    Ok(i32::from(day.number()))
}

/// The days since 1970-01-01 of a date in three parts.
pub(super) fn day_of_parts(year: &str, month: &str, day: &str) -> Result<i32, String> {
    let whole = |text: &str, name: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten().ok_or_else(|| format!("expected a whole number as {name}"))
    };
    let (year, month, day) = (whole(year, "year")?, whole(month, "month")?, whole(day, "day")?);
    let date = i32::try_from(year).ok().and_then(|year| NaiveDate::from_ymd_opt(year, month, day));
    let date = date.ok_or("expected year, month and day of a calendar date")?;
    Day::from_date(date).map(|day| i32::from(day.number())).map_err(|_| out_of_range())
}

/// The microseconds since 1970-01-01 in UTC of a text. Without an offset in it, it is a time of the zone.
pub(super) fn instant(text: &str, format: Option<&DateFormat>, zone: Tz) -> Result<i64, String> {
    let Some(format) = format else {
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Ok(instant.timestamp_micros());
        }
        let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .ok_or("expected a time as YYYY-MM-DDTHH:MM:SS")?;
        return instant_of(local, zone);
    };
    let parsed = format.parsed(text)?;
    if parsed.offset().is_some() {
        return parsed.to_datetime().map(|instant| instant.timestamp_micros()).map_err(|_| format.expected());
    }
    let local = parsed.to_naive_datetime_with_offset(0).map_err(|_| format.expected())?;
    // Seconds since 1970 are of no zone.
    let zone = if parsed.timestamp().is_some() { Tz::UTC } else { zone };
    instant_of(local, zone)
}

/// The microseconds since 1970-01-01 in UTC of a local time; where a clock shows it twice, the first.
pub(super) fn instant_of(local: NaiveDateTime, zone: Tz) -> Result<i64, String> {
    let instant = zone.from_local_datetime(&local).earliest();
    let instant = instant.ok_or_else(|| format!("expected a time that clocks in {zone} show"))?;
    Ok(instant.timestamp_micros())
}

/// An amount as it is written, if it is one.
pub(super) fn amount(text: &str) -> Result<&str, String> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(whole) && digits(fraction) { Ok(text) } else { Err("expected an amount such as 1234.5".to_owned()) }
}

/// A whole number that is not negative; `12.0` is one.
pub(super) fn count(text: &str) -> Result<i64, String> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    let digits = whole.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| whole.parse().ok()).flatten().ok_or_else(|| "expected a whole number, 0 or more".to_owned())
}

/// `true` or `false`.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "expected true or false".to_owned())
}

/// A stage of the funnel.
pub(super) fn stage(text: &str) -> Result<&'static str, String> {
    STAGES.into_iter().find(|stage| *stage == text).ok_or_else(|| format!("expected one of {}", STAGES.join(", ")))
}

fn out_of_range() -> String {
    format!("expected a date from {} to {}", Day::MIN, Day::MAX)
}
