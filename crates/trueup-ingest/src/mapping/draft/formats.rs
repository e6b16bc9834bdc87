//! The formats of dates and of amounts that fit every sampled value.

use super::names;
use super::sample::ColumnSample;
use crate::mapping::dates::{DateFormat, read_day, read_time};
use arrow_schema::DataType;

/// How a column of dates or times may be written.
pub(super) struct DateForm {
    /// The formats that fit every value; `None` is the one without `format`. Two if day and month may be either.
    pub(super) formats: Vec<Option<String>>,
    pub(super) clock: Clock,
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

const DAYS: [&str; 19] = [
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
    /// Returns the form of a column whose values are all dates; `None` if they are not.
    pub(super) fn of(column: &ColumnSample) -> Option<Self> {
        let native = |clock| Some(Self { formats: vec![None], clock });
        match &column.data_type {
            DataType::Timestamp(_, None) => return native(Clock::Local),
            DataType::Timestamp(_, Some(_)) => return native(Clock::Zoned),
            DataType::Date32 | DataType::Date64 => return native(Clock::None),
            found if !found.is_string() && !found.is_integer() => return None,
            _ => {}
        }
        // A number is a date only where the name of its column says so.
        let are_numbers = column.texts().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        if column.filled == 0 || (are_numbers && !names::is_date_name(&column.name)) {
            return None;
        }
        let fits = |read: &dyn Fn(&str) -> bool| column.texts().all(read);
        if fits(&|text| read_day(text, None).is_ok()) {
            return native(Clock::None);
        }
        if fits(&|text| chrono::DateTime::parse_from_rfc3339(text).is_ok()) {
            return native(Clock::Zoned);
        }
        for (time, clock) in TIMES {
            let written = DAYS.iter().map(|day| format!("{day}{time}"));
            let fitting = written.filter(|format| {
                let format = DateFormat::new(format);
                let reads = |text: &str| match clock {
                    // A zoned time is a date only together with a time zone.
                    Clock::Zoned => read_time(text, format.as_ref()).is_ok(),
                    Clock::None | Clock::Local => read_day(text, format.as_ref()).is_ok(),
                };
                format.is_some() && fits(&reads)
            });
            let formats: Vec<Option<String>> = fitting.map(Some).collect();
            if !formats.is_empty() {
                return Some(Self { formats, clock });
            }
        }
        None
    }
}

/// How a column of amounts may be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmountForm {
    /// The ways to read every value. Two if a point may be a decimal mark or may separate thousands.
    pub(super) readings: Vec<AmountReading>,
}

/// A way to read amounts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmountReading {
    /// The characters to remove.
    pub(super) remove: String,
    /// Whether the comma is the decimal mark.
    pub(super) has_decimal_comma: bool,
}

impl AmountForm {
    /// Returns the form of a column whose values are all amounts; `None` if they are not.
    pub(super) fn of(column: &ColumnSample) -> Option<Self> {
        if column.data_type.is_numeric() {
            return Some(Self { readings: vec![AmountReading { remove: String::new(), has_decimal_comma: false }] });
        }
        if !column.data_type.is_string() || column.filled == 0 {
            return None;
        }
        let has = |mark: char| column.texts().any(|text| text.contains(mark));
        let mut signs: Vec<char> = column.texts().flat_map(str::chars).filter(|char| SIGNS.contains(*char)).collect();
        signs.sort_unstable();
        signs.dedup();
        let signs: String = signs.into_iter().collect();
        let readings = [('.', ','), (',', '.')].into_iter().filter_map(|(decimal, group)| {
            let is_needed = decimal == '.' || has(',');
            let fits = is_needed && column.texts().all(|text| reads(text, &signs, decimal, group));
            let remove = if has(group) { format!("{signs}{group}") } else { signs.clone() };
            // Points that are left out stand in groups of thousands, so a comma need not be there.
            fits.then_some(AmountReading { remove, has_decimal_comma: decimal == ',' })
        });
        let mut readings: Vec<AmountReading> = readings.collect();
        if has('.') && !has(',') && column.texts().all(|text| reads(text, &signs, ',', '.')) {
            readings.push(AmountReading { remove: format!("{signs}."), has_decimal_comma: true });
        }
        (!readings.is_empty()).then_some(Self { readings })
    }
}

/// Characters that amounts may have besides digits, a minus and marks.
const SIGNS: &str = "$\u{20ac}\u{a3}\u{a5} \u{a0}'";

/// Returns whether a text is an amount with this decimal mark, whose thousands may be grouped by the other mark.
fn reads(text: &str, signs: &str, decimal: char, group: char) -> bool {
    let text: String = text.chars().filter(|char| !signs.contains(*char)).collect();
    let unsigned = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = unsigned.split_once(decimal).unwrap_or((unsigned, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(group);
    let first = groups.next().unwrap_or_default();
    let is_grouped = whole.contains(group);
    are_digits(first)
        && are_digits(fraction)
        && (!is_grouped || first.len() <= 3)
        && groups.all(|digits| digits.len() == 3 && are_digits(digits))
}
