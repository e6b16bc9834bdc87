//! Spend of a period, divided over its days: each amount and each count exactly.

use super::canonical::ColumnType;
use super::cells::{RowView, StringCells};
use super::column::{ColumnPlan, ColumnPlanner};
use super::dates::{DateFormat, read_month};
use super::declaration::{SpreadDeclaration, ValueSource};
use super::faults::PickedFaults;
use crate::error::MappingFault;
use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{Array, ArrayRef, Date32Array, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use std::sync::Arc;
use trueup_core::model::amount_from_text;

/// Where the period of a row comes from.
pub(super) enum SpreadPlan {
    /// Its first and its last day.
    Days { from: Box<ColumnPlan>, to: Box<ColumnPlan> },
    /// Its month, and how it is written.
    Month(Box<ColumnPlan>, Option<DateFormat>),
    /// The first day of its week, and the first and the last day of the report, which may cut the week.
    Week { week: Box<ColumnPlan>, from: Option<Box<ColumnPlan>>, to: Option<Box<ColumnPlan>> },
}

/// The days of a row's period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The first day, counted from 1970-01-01.
    first: i32,
    /// The number of days, at least 1.
    days: u32,
}

/// The most days of a period. A longer one is a mistake in a date.
const MAX_DAYS: i64 = 3_660;

impl Period {
    /// Returns the days from the first to the last; `None` if these are none, or too many.
    fn between(first: i32, last: i32) -> Option<Self> {
        let days = i64::from(last) - i64::from(first) + 1;
        let days = u32::try_from(days).ok().filter(|_| (1..=MAX_DAYS).contains(&days))?;
        Some(Self { first, days })
    }

    /// Returns the first day, counted from 1970-01-01.
    pub(super) const fn first(self) -> i32 {
        self.first
    }
}

impl SpreadPlan {
    /// Plans where the periods come from.
    pub(super) fn new(
        spread: &SpreadDeclaration,
        planner: &mut ColumnPlanner<'_>,
        key: &str,
    ) -> Result<Self, MappingFault> {
        let source =
            |column: &String, format| ValueSource { column: Some(column.clone()), format, ..ValueSource::default() };
        let mut day = |name: &str, column: &String| {
            let source = source(column, spread.format.clone());
            planner.plan(&source, ColumnType::Day, &format!("{key}.{name}")).map(Box::new)
        };
        match (&spread.from, &spread.to, &spread.week, &spread.month) {
            (Some(from), Some(to), None, None) => Ok(Self::Days { from: day("from", from)?, to: day("to", to)? }),
            (from, to, Some(week), None) => Ok(Self::Week {
                week: day("week", week)?,
                from: from.as_ref().map(|from| day("from", from)).transpose()?,
                to: to.as_ref().map(|to| day("to", to)).transpose()?,
            }),
            (None, None, None, Some(month)) => {
                let format = month_format(spread, key)?;
                let month = planner.plan(&source(month, None), ColumnType::Text, &format!("{key}.month"))?;
                Ok(Self::Month(Box::new(month), format))
            }
            _ => Err(MappingFault::new(key, "expected `from` and `to`, `month`, or `week`")),
        }
    }

    /// Returns the period of each picked row; `None` for a row with a fault.
    pub(super) fn periods(
        &self,
        view: &RowView<'_>,
        faults: &mut PickedFaults,
    ) -> Result<Vec<Option<Period>>, ArrowError> {
        let none = &StringCells::Absent;
        match self {
            Self::Days { from, to } => {
                let (first, last) = (read_days(from, view, faults)?, read_days(to, view, faults)?);
                let period = |(row, (first, last)): (usize, (&Option<i32>, &Option<i32>))| {
                    let (first, last) = ((*first)?, (*last)?);
                    let period = Period::between(first, last);
                    if period.is_none() {
                        let expected =
                            format!("expected a last day that is 0 to {} days after the first", MAX_DAYS - 1);
                        faults.add(row, to.site.fault(view, row, day_text(last), expected));
                    }
                    period
                };
                Ok(first.iter().zip(&last).enumerate().map(period).collect())
            }
            Self::Week { week, from, to } => {
                let weeks = read_days(week, view, faults)?;
                let mut of_report =
                    |plan: Option<&ColumnPlan>| plan.map(|plan| read_days(plan, view, faults)).transpose();
                let (from, to) = (of_report(from.as_deref())?, of_report(to.as_deref())?);
                let period = |(row, first): (usize, &Option<i32>)| {
                    let first = (*first)?;
                    let day = |days: Option<&[Option<i32>]>, otherwise| days.map_or(Some(otherwise), |days| days[row]);
                    let last = first.saturating_add(6);
                    let (from, to) = (day(from.as_deref(), first)?, day(to.as_deref(), last)?);
                    let period = Period::between(first.max(from), last.min(to));
                    if period.is_none() {
                        let expected =
                            format!("expected a week with a day from {} to {}", day_text(from), day_text(to));
                        faults.add(row, week.site.fault(view, row, day_text(first), expected));
                    }
                    period
                };
                Ok(weeks.iter().enumerate().map(period).collect())
            }
            Self::Month(plan, format) => {
                let texts = StringCells::of(Some(&plan.read(view, none, faults)?))?;
                let period = |row: usize| {
                    let text = texts.get(row).unwrap_or_default();
                    match read_month(text, format.as_ref()) {
                        Ok((first, days)) => Some(Period { first: first.number().into(), days }),
                        Err(expected) => {
                            if !faults.has(row) {
                                faults.add(row, plan.site.fault(view, row, text.to_owned(), expected));
                            }
                            None
                        }
                    }
                };
                Ok((0..view.len()).map(period).collect())
            }
        }
    }
}

/// Reads a column of days, which every row has; `None` for a row with a fault.
fn read_days(plan: &ColumnPlan, view: &RowView<'_>, faults: &mut PickedFaults) -> Result<Vec<Option<i32>>, ArrowError> {
    let days = plan.read(view, &StringCells::Absent, faults)?;
    let days = days.as_primitive::<Date32Type>();
    for row in (0..view.len()).filter(|row| days.is_null(*row)) {
        if !faults.has(row) {
            faults.add(row, plan.site.fault(view, row, String::new(), "expected a date".to_owned()));
        }
    }
    Ok(days.iter().collect())
}

/// Returns a day as text. It was read as a date, whose bounds are checked later.
fn day_text(day: i32) -> String {
    trueup_core::Day::from_number(u16::try_from(day).unwrap_or_default()).to_string()
}

/// Returns the format of months; `None` if the mapping gives none.
pub(super) fn month_format(spread: &SpreadDeclaration, key: &str) -> Result<Option<DateFormat>, MappingFault> {
    let Some(formats) = &spread.format else { return Ok(None) };
    let format = DateFormat::any(formats.texts()).filter(DateFormat::have_month);
    let fault = || {
        let reason = "expected specifiers of a month and a year, such as `%b %Y`";
        MappingFault::new(format!("{key}.format"), reason).with_value(formats.texts().join(", "))
    };
    format.map(Some).ok_or_else(fault)
}

/// Returns how the type of a column changes when its rows are divided.
pub(super) const fn spread_type(column_type: ColumnType) -> Option<DataType> {
    match column_type {
        ColumnType::Amount => Some(DataType::Utf8),
        ColumnType::Count => Some(DataType::Int64),
        _ => None,
    }
}

/// Returns the row of each day.
pub(super) fn rows_of_days(periods: &[Period]) -> Vec<u32> {
    let repeated = |(row, period): (u32, &Period)| std::iter::repeat_n(row, period.days as usize);
    (0..).zip(periods).flat_map(repeated).collect()
}

/// Returns the days of all periods, one after the other.
pub(super) fn dates_of_days(periods: &[Period]) -> ArrayRef {
    let days = |period: &Period| (0..period.days.cast_signed()).map(|day| period.first + day).collect::<Vec<_>>();
    Arc::new(Date32Array::from_iter_values(periods.iter().flat_map(days)))
}

/// Divides a column over the days of its rows: an amount or a count into parts that add up to it, any other value as it
/// is.
pub(super) fn spread_column(
    column: &ArrayRef,
    column_type: ColumnType,
    periods: &[Period],
) -> Result<ArrayRef, ArrowError> {
    let texts = match column_type {
        ColumnType::Amount | ColumnType::Count => StringCells::of(Some(column))?,
        _ => return take(column, &UInt32Array::from(rows_of_days(periods)), None),
    };
    if column_type == ColumnType::Count {
        let mut parts = Int64Builder::new();
        for (row, period) in periods.iter().enumerate() {
            let count = texts.get(row).and_then(|text| text.parse::<i64>().ok());
            (0..period.days).for_each(|day| parts.append_option(count.map(|count| part(count, day, period.days))));
        }
        return Ok(Arc::new(parts.finish()));
    }
    let mut parts = StringBuilder::new();
    for (row, period) in periods.iter().enumerate() {
        let text = texts.get(row);
        let micros = text.map(amount_from_text).transpose();
        for day in 0..period.days {
            match micros {
                Ok(micros) => {
                    parts.append_option(micros.map(|micros| amount_text(part(micros, day, period.days).into())))
                }
                // The rules of spend refuse the whole value, and so the ingest.
                Err(_) => parts.append_option(text),
            }
        }
    }
    Ok(Arc::new(parts.finish()))
}

/// Returns the part of a day, counted from 0, when a number is divided over `days`. The parts of all days add up to the
/// number: each is the difference of two floors, and the floors of neighbors cancel out.
fn part(number: i64, day: u32, days: u32) -> i64 {
    debug_assert!(day < days, "the day is one of the period");
    let floor = |day: u32| (i128::from(number) * i128::from(day)).div_euclid(i128::from(days));
    // It lies between 0 and the number.
    i64::try_from(floor(day + 1) - floor(day)).unwrap_or_default()
}

/// Returns millionths as a decimal number.
pub(super) fn amount_text(micros: i128) -> String {
    const MICROS: u128 = 1_000_000;
    let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
    format!("{sign}{}.{:06}", micros / MICROS, micros % MICROS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_differences_of_floors() {
        let parts = |number, days| (0..days).map(|day| part(number, day, days)).collect::<Vec<_>>();
        assert_eq!(parts(10, 4), [2, 3, 2, 3]);
        assert_eq!(parts(-10, 4), [-3, -2, -3, -2]);
        assert_eq!(parts(2, 3), [0, 1, 1]);
        assert_eq!(parts(7, 1), [7]);
        assert_eq!(amount_text(-1_500_000), "-1.500000");
        assert_eq!(amount_text(1), "0.000001");
    }

    proptest! {
        #[test]
        fn parts_add_up(number: i64, days in 1_u32..400) {
            let sum: i128 = (0..days).map(|day| i128::from(part(number, day, days))).sum();
            prop_assert_eq!(sum, i128::from(number));
        }
    }
}
