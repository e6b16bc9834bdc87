//! Reads texts as dates and times, by a format or as ISO 8601.

use chrono::format::{Fixed, Item, Numeric, Pad, Parsed, StrftimeItems, parse};
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime};
use trueup_core::Day;
use trueup_core::model::{ClockTime, GivenTime, Reason, UtcMicros, day_from_text};

/// A format of dates, as strftime defines it.
#[derive(Clone, Debug)]
pub(super) struct DateFormat {
    text: String,
    items: Vec<Item<'static>>,
    /// Whether [`DateFormat::parse_digits`] can read most texts.
    has_digits: bool,
    /// The other formats that a text may have.
    others: Vec<Self>,
}

impl DateFormat {
    /// Parses a format; `None` if the text is not one, such as `YYYY-MM-DD`, which has no specifier.
    pub(super) fn new(text: &str) -> Option<Self> {
        let items = StrftimeItems::new(text).parse_to_owned().ok()?;
        if !items.iter().any(|item| matches!(item, Item::Numeric(..) | Item::Fixed(_))) {
            return None;
        }
        let is_plain = |item: &Item<'_>| match item {
            Item::OwnedLiteral(_) | Item::OwnedSpace(_) => true,
            Item::Numeric(number, Pad::Zero) => field(number).is_some(),
            _ => false,
        };
        let has_digits = items.iter().all(is_plain);
        Some(Self { text: text.to_owned(), items, has_digits, others: Vec::new() })
    }

    /// Parses several formats; a value has one of them. `None` if `texts` is empty, or if one of them is not a format.
    pub(super) fn any(texts: &[String]) -> Option<Self> {
        let mut formats = texts.iter().map(|text| Self::new(text)).collect::<Option<Vec<Self>>>()?.into_iter();
        let first = formats.next()?;
        Some(Self { others: formats.collect(), ..first })
    }

    /// Returns whether a month can be read from each of the formats.
    pub(super) fn have_month(&self) -> bool {
        let is_month = |item: &Item<'_>| {
            matches!(item, Item::Numeric(Numeric::Month, _) | Item::Fixed(Fixed::ShortMonthName | Fixed::LongMonthName))
        };
        let is_year = |item: &Item<'_>| matches!(item, Item::Numeric(Numeric::Year | Numeric::YearMod100, _));
        let mut all = [self].into_iter().chain(&self.others);
        all.all(|format| format.items.iter().any(is_month) && format.items.iter().any(is_year))
    }

    /// Returns the first of the formats from which nothing can be read, because it lacks the year or the day or, for
    /// points in time, the hour or the minute. Seconds since 1970 are a point in time, and no date.
    pub(super) fn incomplete(&self, is_instant: bool) -> Option<&str> {
        let lacks = |format: &&Self| !format.has_date_and_time(is_instant);
        [self].into_iter().chain(&self.others).find(lacks).map(|format| format.text.as_str())
    }

    /// Returns whether this format alone has what chrono needs to find a date or, for a point in time, a date and a
    /// time of day.
    fn has_date_and_time(&self, is_instant: bool) -> bool {
        use Numeric::{
            Day, Hour, Hour12, IsoWeek, IsoYear, IsoYearMod100, Minute, Month, NumDaysFromSun, Ordinal, Timestamp,
            WeekFromMon, WeekFromSun, WeekdayFromMon, Year, YearMod100,
        };
        let number = |wanted: &[Numeric]| {
            self.items.iter().any(|item| matches!(item, Item::Numeric(found, _) if wanted.contains(found)))
        };
        let fixed = |wanted: &[Fixed]| {
            self.items.iter().any(|item| matches!(item, Item::Fixed(found) if wanted.contains(found)))
        };
        if fixed(&[Fixed::RFC2822, Fixed::RFC3339]) || is_instant && number(&[Timestamp]) {
            return true;
        }
        let month = number(&[Month]) || fixed(&[Fixed::ShortMonthName, Fixed::LongMonthName]);
        let weekday =
            number(&[NumDaysFromSun, WeekdayFromMon]) || fixed(&[Fixed::ShortWeekdayName, Fixed::LongWeekdayName]);
        let day = month && number(&[Day]) || number(&[Ordinal]) || weekday && number(&[WeekFromSun, WeekFromMon]);
        let date =
            day && number(&[Year, YearMod100]) || weekday && number(&[IsoWeek]) && number(&[IsoYear, IsoYearMod100]);
        let half = fixed(&[Fixed::LowerAmPm, Fixed::UpperAmPm]);
        let time = number(&[Minute]) && (number(&[Hour]) || number(&[Hour12]) && half);
        date && (time || !is_instant)
    }

    /// Reads a text in the format that it has. A text that fits several formats and means something else in one of them
    /// cannot be read.
    fn read<T: PartialEq>(&self, read: impl Fn(&Self) -> Result<T, String>) -> Result<T, String> {
        if self.others.is_empty() {
            return read(self);
        }
        let all = || [self].into_iter().chain(&self.others);
        let names = || all().map(|format| format!("`{}`", format.text)).collect::<Vec<_>>().join(" or ");
        let mut found = all().filter_map(|format| read(format).ok());
        let Some(first) = found.next() else {
            // A date of one of the formats that is out of range has a reason of its own.
            let mut reasons =
                all().filter_map(|format| read(format).err().filter(|reason| *reason != format.expected()));
            return Err(reasons.next().unwrap_or_else(|| format!("expected a date as {}", names())));
        };
        if found.all(|other| other == first) {
            Ok(first)
        } else {
            Err(format!("expected a date that is the same day whether it is read as {}", names()))
        }
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
                    if !digits.iter().all(u8::is_ascii_digit) || fields[at].is_some() {
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

/// Returns the place of a number among year, month, day, hour, minute and second, and how many digits it has; `None`
/// for any other number.
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

/// Reads a date as days since 1970-01-01, and ignores a time of day. Without a format, the text is a date of ISO 8601,
/// or a time without an offset.
pub(super) fn read_day(text: &str, format: Option<&DateFormat>) -> Result<i32, String> {
    let day = match format {
        None => day_from_text(text).map_err(|reason| match reason {
            Reason::TimeOfDay => reason.to_string(),
            _ => "expected a date as YYYY-MM-DD".to_owned(),
        })?,
        Some(format) => format.read(|format| {
            let date = match format.parse_digits(text) {
                Some((date, _)) => date,
                None => format.parsed(text)?.to_naive_date().map_err(|_| format.expected())?,
            };
            Day::from_date(date).map_err(|_| out_of_range())
        })?,
    };
    Ok(i32::from(day.number()))
}

/// Reads a month: its first day, and the number of its days. Without a format, the text is
/// `YYYY-MM`; a date is one of its month, whatever the format.
pub(super) fn read_month(text: &str, format: Option<&DateFormat>) -> Result<(Day, u32), String> {
    let month = |date: NaiveDate| {
        let first = date.with_day(1).ok_or_else(out_of_range)?;
        let days = first.num_days_in_month();
        let last = first.with_day(days.into()).ok_or_else(out_of_range)?;
        let [first, _] = [first, last].map(|day| Day::from_date(day).map_err(|_| out_of_range()));
        Ok((first?, u32::from(days)))
    };
    if let Ok(day) = text.parse::<Day>() {
        return month(day.date());
    }
    match format {
        None => {
            let date = NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d");
            month(date.map_err(|_| "expected a month as YYYY-MM".to_owned())?)
        }
        Some(format) => format.read(|format| {
            let mut parsed = format.parsed(text)?;
            if parsed.day().is_none() {
                parsed.set_day(1).map_err(|_| format.expected())?;
            }
            month(parsed.to_naive_date().map_err(|_| format.expected())?)
        }),
    }
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

/// Reads a time. A text without an offset is a clock time, unless its format is that of seconds since 1970.
pub(super) fn read_time(text: &str, format: Option<&DateFormat>) -> Result<GivenTime, String> {
    let Some(format) = format else {
        return GivenTime::parse(text).map_err(|_| "expected a time as YYYY-MM-DDTHH:MM:SS".to_owned());
    };
    format.read(|format| read_time_in(text, format))
}

fn read_time_in(text: &str, format: &DateFormat) -> Result<GivenTime, String> {
    let clock = |time: NaiveDateTime| GivenTime::Clock(ClockTime(time.and_utc().timestamp_micros()));
    if let Some((date, Some(time))) = format.parse_digits(text) {
        return Ok(clock(date.and_time(time)));
    }
    let parsed = format.parsed(text)?;
    if parsed.offset().is_some() {
        let instant = parsed.to_datetime().map_err(|_| format.expected())?;
        return Ok(GivenTime::Instant(UtcMicros(instant.timestamp_micros())));
    }
    let time = parsed.to_naive_datetime_with_offset(0).map_err(|_| format.expected())?;
    // Seconds since 1970 do not depend on a time zone.
    let is_instant = parsed.timestamp().is_some();
    Ok(if is_instant { GivenTime::Instant(UtcMicros(time.and_utc().timestamp_micros())) } else { clock(time) })
}

fn out_of_range() -> String {
    format!("expected a date from {} to {}", Day::MIN, Day::MAX)
}

#[cfg(test)]
mod tests;
