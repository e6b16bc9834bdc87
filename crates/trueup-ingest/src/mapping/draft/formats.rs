//! The formats of dates and of amounts that fit the sampled values: every one, or else all but a few, which are named.

use super::names;
use super::sample::ColumnSample;
use crate::mapping::amounts::{DecimalMark, WrittenAmount};
use crate::mapping::dates::{DateFormat, read_day, read_time};
use arrow_schema::DataType;
use trueup_core::Day;

/// How a column of dates or times may be written.
#[derive(Clone)]
pub(super) struct DateForm {
    /// The ways to read the values. Several if more than one format fits, such as day before month and month before
    /// day.
    pub(super) readings: Vec<DateReading>,
    pub(super) clock: Clock,
}

/// A way to read dates or times.
#[derive(Clone)]
pub(super) struct DateReading {
    /// The format; `None` if the values can be read without the key `format`.
    pub(super) format: Option<String>,
    /// The values that do not fit.
    pub(super) misfits: Vec<String>,
}

impl DateReading {
    /// Returns whether days come before months; `None` if the format has no number of the month, or begins with the
    /// year.
    fn is_day_first(&self) -> Option<bool> {
        let format = self.format.as_deref()?;
        let (day, month) = (format.find("%d")?, format.find("%m")?);
        (!format.starts_with("%Y")).then_some(day < month)
    }
}

/// The share of a column's distinct values that need not fit: one of this many. In a smaller column all have to.
const VALUES_PER_MISFIT: usize = 10;

/// Returns the values that do not fit; `None` if there are more than `most`.
fn misfits(column: &ColumnSample, most: usize, fits: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let found: Vec<String> = column.texts().filter(|text| !fits(text)).take(most + 1).map(str::to_owned).collect();
    (found.len() <= most).then_some(found)
}

/// Returns two limits on the number of values that do not fit, to be tried in this order: 0, then one in
/// [`VALUES_PER_MISFIT`].
fn most_misfits(column: &ColumnSample) -> [usize; 2] {
    [0, column.values.len() / VALUES_PER_MISFIT]
}

/// Returns the end of a comment that names the values that do not fit; it is empty if all fit.
pub(super) fn fitting(misfits: &[String]) -> String {
    const SHOWN: usize = 3;
    if misfits.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = misfits.iter().take(SHOWN).map(|text| format!("`{}`", trueup_core::Shown(text))).collect();
    let more = if misfits.len() > SHOWN { ", ..." } else { "" };
    format!("; fits every sampled value but {}{more}, which the ingest refuses", shown.join(", "))
}

/// Whether the dates of a column have times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    None,
    /// Times that name no offset.
    Local,
    /// Times that are points in time.
    Zoned,
}

impl Clock {
    /// Returns the canonical column for these dates or times: a point in time is no date.
    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::None | Self::Local => "date",
            Self::Zoned => "dateTime",
        }
    }
}

const DAYS: [&str; 22] = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%m.%d.%Y",
    "%d.%m.%Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
    "%m-%d-%y",
    "%d-%m-%y",
    "%y-%m-%d",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%a %b %d %Y",
    "%A, %B %d, %Y",
];

const TIMES: [(&str, Clock); 17] = [
    ("", Clock::None),
    (" %H:%M", Clock::Local),
    (" %H:%M:%S", Clock::Local),
    (" %H:%M:%S%.f", Clock::Local),
    (" %I:%M %p", Clock::Local),
    (" %I:%M%p", Clock::Local),
    (" %I:%M:%S %p", Clock::Local),
    (", %I:%M %p", Clock::Local),
    (", %H:%M", Clock::Local),
    ("T%H:%M", Clock::Local),
    ("T%H:%M:%S", Clock::Local),
    ("T%H:%M:%S%.f", Clock::Local),
    (" %H:%M:%S%z", Clock::Zoned),
    (" %H:%M:%S %z", Clock::Zoned),
    ("T%H:%M:%S%z", Clock::Zoned),
    ("T%H:%M:%S%.f%z", Clock::Zoned),
    ("T%H:%M%z", Clock::Zoned),
];

impl DateForm {
    /// Returns the form of a column whose values are dates; `None` if they are not.
    pub(super) fn of(column: &ColumnSample) -> Option<Self> {
        let native = |clock| Some(Self::plain(clock, Vec::new()));
        match &column.data_type {
            DataType::Timestamp(_, None) => return native(Clock::Local),
            DataType::Timestamp(_, Some(_)) => return native(Clock::Zoned),
            DataType::Date32 | DataType::Date64 => return native(Clock::None),
            found if !found.is_string() && !found.is_integer() => return None,
            _ => {}
        }
        // A number is a date only where the name of its column says so.
        let numbers = column.texts().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).count();
        if column.filled == 0 || (numbers * 2 > column.values.len() && !names::is_date_name(&column.name)) {
            return None;
        }
        most_misfits(column).into_iter().find_map(|most| Self::with_misfits(column, most))
    }

    /// Returns the form without a format.
    fn plain(clock: Clock, misfits: Vec<String>) -> Self {
        Self { readings: vec![DateReading { format: None, misfits }], clock }
    }

    /// Returns whether days come before months, if the values show it: of `31/01/2026` they do.
    pub(super) fn decided_order(&self) -> Option<bool> {
        let [only] = &self.readings[..] else { return None };
        only.is_day_first()
    }

    /// Returns the form as that of a column of which no value is known.
    pub(super) fn without_misfits(mut self) -> Self {
        self.readings.iter_mut().for_each(|reading| reading.misfits.clear());
        self
    }

    /// Returns the form without the readings that have days and months in the other order, if one is left.
    pub(super) fn in_order(mut self, is_day_first: bool) -> Self {
        let fits = |reading: &DateReading| reading.is_day_first().is_none_or(|order| order == is_day_first);
        if self.readings.iter().any(fits) {
            self.readings.retain(fits);
        }
        self
    }

    /// Returns the first value of the column that fits every format.
    pub(super) fn example<'c>(&self, column: &'c ColumnSample) -> &'c str {
        let fits = |text: &&str| self.readings.iter().flat_map(|reading| &reading.misfits).all(|other| other != text);
        column.texts().find(fits).unwrap_or_default()
    }

    /// Returns the form that fits all values but at most `most`.
    fn with_misfits(column: &ColumnSample, most: usize) -> Option<Self> {
        if let Some(misfits) = misfits(column, most, &|text| text.parse::<Day>().is_ok()) {
            return Some(Self::plain(Clock::None, misfits));
        }
        if let Some(misfits) = misfits(column, most, &|text| chrono::DateTime::parse_from_rfc3339(text).is_ok()) {
            return Some(Self::plain(Clock::Zoned, misfits));
        }
        for (time, clock) in TIMES {
            let written = DAYS.iter().map(|day| format!("{day}{time}"));
            let fitting = written.filter_map(|written| {
                let format = DateFormat::new(&written)?;
                let misfits = misfits(column, most, &|text| match clock {
                    // A zoned time is a date only together with a time zone.
                    Clock::Zoned => read_time(text, Some(&format)).is_ok(),
                    Clock::None | Clock::Local => read_day(text, Some(&format)).is_ok(),
                });
                Some(DateReading { misfits: misfits?, format: Some(written) })
            });
            let mut readings: Vec<DateReading> = fitting.collect();
            let fewest = readings.iter().map(|reading| reading.misfits.len()).min();
            readings.retain(|reading| Some(reading.misfits.len()) == fewest);
            if !readings.is_empty() {
                return Some(Self { readings, clock });
            }
        }
        None
    }
}

/// How a column of amounts may be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmountForm {
    /// The ways to read the values. Two if a point or a comma may be a decimal mark or may separate thousands.
    pub(super) readings: Vec<AmountReading>,
}

/// A way to read amounts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmountReading {
    pub(super) mark: DecimalMark,
    /// Whether the source has to name the mark. An ingest finds it in the values of a column if they show it, but those
    /// of another file may not.
    pub(super) is_named: bool,
    /// The values that do not fit.
    pub(super) misfits: Vec<String>,
}

impl AmountForm {
    /// Returns the form of a column whose values are amounts; `None` if they are not.
    pub(super) fn of(column: &ColumnSample) -> Option<Self> {
        if column.data_type.is_numeric() {
            let reading = AmountReading { mark: DecimalMark::Point, is_named: false, misfits: Vec::new() };
            return Some(Self { readings: vec![reading] });
        }
        if !column.data_type.is_string() || column.filled == 0 {
            return None;
        }
        most_misfits(column).into_iter().find_map(|most| Self::with_misfits(column, most))
    }

    /// Returns the form that fits all values but at most `most`.
    fn with_misfits(column: &ColumnSample, most: usize) -> Option<Self> {
        let has = |mark: char| column.texts().any(|text| text.contains(mark));
        let reading = |mark, is_named| {
            let is_amount = |text: &str| WrittenAmount::parse(text).is_some_and(|it| it.with_point(mark).is_some());
            Some(AmountReading { mark, is_named, misfits: misfits(column, most, &is_amount)? })
        };
        let point = reading(DecimalMark::Point, has(','));
        // If the comma is the decimal mark, points separate thousands, so a value with a point alone may be such an
        // amount, too.
        let comma = reading(DecimalMark::Comma, true).filter(|_| has(',') || has('.'));
        let mut readings: Vec<AmountReading> = point.into_iter().chain(comma).collect();
        let fewest = readings.iter().map(|reading| reading.misfits.len()).min();
        readings.retain(|reading| Some(reading.misfits.len()) == fewest);
        (!readings.is_empty()).then_some(Self { readings })
    }
}
