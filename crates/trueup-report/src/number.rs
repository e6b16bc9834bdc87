//! Numbers formatted for people: `1,234.50`, `32.1%`, `12,345`.

use std::fmt::Write;
use trueup::benchmarks::BenchmarkComparison;
use trueup::definitions::Definitions;
use trueup::dictionary::ValueFormat;
use trueup::query::ComparedColumn;
use trueup::targets::TargetColumn;
use trueup::{Column, Value, money};

/// Shown in place of a ratio whose denominator is 0, and of a number that a row does not have.
pub const NOTHING: &str = "–";

/// Formats a value of the field `name` as the dictionary specifies.
#[must_use]
pub fn readable(name: &str, value: Value<'_>) -> String {
    readable_with(&Definitions::default(), name, value)
}

/// Formats a value of the field `name` as the dictionary or the definitions specify.
#[must_use]
pub fn readable_with(definitions: &Definitions, name: &str, value: Value<'_>) -> String {
    let mut text = String::new();
    push_readable(&mut text, format_of(definitions, name), value);
    text
}

/// Formats the value of a column in a row, a ratio over nothing as [`NOTHING`].
#[must_use]
pub fn readable_at(column: &Column, row: usize) -> String {
    match column.value(row) {
        Some(value) if !column.is_over_nothing(row) => readable(&column.name, value),
        _ => NOTHING.to_owned(),
    }
}

/// Returns the format of a column by its name: that of its field in the dictionary or the definitions or, in a
/// comparison or next to a target, of the metric that it is about; `None` if there is no such field.
#[must_use]
pub fn format_of(definitions: &Definitions, column: &str) -> Option<ValueFormat> {
    if let Some(metric) = BenchmarkComparison::metric_of(column) {
        return definitions.format(metric);
    }
    if let Some((metric, part)) = TargetColumn::split(column) {
        let format = definitions.format(metric)?;
        return Some(if part == TargetColumn::Pace { ValueFormat::Percent } else { format });
    }
    let (name, part) = ComparedColumn::split_with(column, definitions).unwrap_or((column, ComparedColumn::Current));
    let format = definitions.format(name)?;
    Some(if part == ComparedColumn::Ratio { ValueFormat::Percent } else { format })
}

/// How people read the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnStyle {
    format: Option<ValueFormat>,
    /// Whether the numbers are changes or effects, which have a sign.
    is_signed: bool,
    /// Whether a percentage is one of percentage points: a change of a percentage by a part of it has another number.
    is_points: bool,
}

impl ColumnStyle {
    /// Returns the style of a column by its name, as [`format_of`] finds its format.
    #[must_use]
    pub fn of(definitions: &Definitions, column: &str) -> Self {
        let part = ComparedColumn::split_with(column, definitions).map(|(_, part)| part);
        let is_difference = column.ends_with(".difference") && BenchmarkComparison::metric_of(column).is_some();
        let is_points = is_difference
            || matches!(part, Some(ComparedColumn::Change | ComparedColumn::RateEffect | ComparedColumn::MixEffect));
        let is_signed = is_points || part == Some(ComparedColumn::Ratio);
        Self { format: format_of(definitions, column), is_signed, is_points }
    }

    /// Appends a value: a change with its sign, and that of a percentage in percentage points, as in `+2.37 pp`.
    pub fn push(self, out: &mut String, value: Value<'_>) {
        let start = out.len();
        push_readable(out, self.format, value);
        if !self.is_signed || value == Value::Null {
            return;
        }
        if self.is_points && out.ends_with('%') {
            out.pop();
            out.push_str(" pp");
        }
        // A number that is shown as zero has no sign.
        let shown = &out[start..];
        if !shown.starts_with('-') && shown.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
            out.insert(start, '+');
        }
    }
}

/// Appends a value. `format` is that of its field in the dictionary or the definitions; `None` if neither has it.
pub fn push_readable(out: &mut String, format: Option<ValueFormat>, value: Value<'_>) {
    match value {
        Value::Day(day) => push(out, day),
        Value::Text(text) => out.push_str(text),
        Value::Count(count) => push_grouped(out, u128::from(count)),
        Value::Money(micros) => push_amount(out, micros),
        Value::Ratio(ratio) if format == Some(ValueFormat::Percent) => {
            push_fixed(out, ratio * 100.0, 1);
            out.push('%');
        }
        // One more decimal, because a change or an effect is mostly smaller than the percentage that it is about.
        Value::Number(number) if format == Some(ValueFormat::Percent) => {
            push_fixed(out, number * 100.0, 2);
            out.push('%');
        }
        Value::Ratio(number) | Value::Number(number) => push_fixed(out, number, 2),
        Value::Integer(integer) => {
            if integer < 0 {
                out.push('-');
            }
            push_grouped(out, u128::from(integer.unsigned_abs()));
        }
        Value::Null => out.push_str(NOTHING),
    }
}

/// Appends money, given in millionths, to the cent; half a cent is rounded away from zero.
fn push_amount(out: &mut String, micros: i128) {
    let cent = u128::try_from(money::MICROS_PER_UNIT / 100).unwrap_or(1);
    let cents = (micros.unsigned_abs() + cent / 2) / cent;
    if micros < 0 && cents > 0 {
        out.push('-');
    }
    push_grouped(out, cents / 100);
    push(out, format_args!(".{:02}", cents % 100));
}

/// Appends a number with `decimals` digits after the point. A number that is rounded to zero has no sign.
fn push_fixed(out: &mut String, value: f64, decimals: usize) {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        out.push('-');
    }
    push_groups(out, whole);
    out.push('.');
    out.push_str(fraction);
}

fn push_grouped(out: &mut String, number: u128) {
    let start = out.len();
    push(out, number);
    if out.len() - start > 3 {
        let digits = out.split_off(start);
        push_groups(out, &digits);
    }
}

/// Appends digits with a comma between groups of three.
fn push_groups(out: &mut String, digits: &str) {
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string never fails.
    let _ = write!(out, "{value}");
}

/// Separates groups of three digits before the decimal point by commas, as in `-1,234.5678`.
#[must_use]
pub fn grouped(number: &str) -> String {
    let start = usize::from(number.starts_with('-'));
    let end = number.find('.').unwrap_or(number.len());
    let mut text = number[..start].to_owned();
    push_groups(&mut text, &number[start..end]);
    text.push_str(&number[end..]);
    text
}

/// Formats a count with its noun: `1 file`, `12 files`.
#[must_use]
pub fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(&count.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueup::Values;

    #[test]
    fn digits_are_grouped_before_the_point_alone() {
        for (number, shown) in [
            ("999", "999"),
            ("-100000", "-100,000"),
            ("936281677.29", "936,281,677.29"),
            ("-1234.567891", "-1,234.567891"),
            ("12.3456", "12.3456"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!(readable("spend", Value::Money(1_234_500_000)), "1,234.50");
        assert_eq!(readable("spend", Value::Money(-1_999_995_000)), "-2,000.00");
        assert_eq!(readable("spend", Value::Money(-4_999)), "0.00");
        assert_eq!(readable("leads", Value::Count(1_234_567)), "1,234,567");
        assert_eq!(readable("leads", Value::Count(999)), "999");
        assert_eq!(readable("bookRate", Value::Ratio(0.3214)), "32.1%");
        assert_eq!(readable("roasClosed", Value::Ratio(1234.567)), "1,234.57");
        assert_eq!(readable("avgCostPerLead", Value::Ratio(-0.001)), "0.00");
    }

    #[test]
    fn a_ratio_over_nothing_is_a_dash() {
        let ratios = [Some(0.25), Some(0.0), None].into_iter().collect();
        let column = Column { name: "bookRate".to_owned(), values: Values::Ratios(ratios) };
        assert_eq!([0, 1, 2].map(|row| readable_at(&column, row)), ["25.0%", "0.0%", NOTHING]);
    }

    #[test]
    fn a_change_has_a_sign_and_that_of_a_percentage_is_in_points() {
        let shown = |column: &str, value: Value<'_>| {
            let mut text = String::new();
            ColumnStyle::of(&Definitions::default(), column).push(&mut text, value);
            text
        };
        assert_eq!(shown("bookRate.change", Value::Number(0.0237)), "+2.37 pp");
        assert_eq!(shown("bookRate.mixEffect", Value::Number(-0.0237)), "-2.37 pp");
        assert_eq!(shown("bookRate.ratio", Value::Number(0.0962)), "+9.62%");
        assert_eq!(shown("bookRate.difference", Value::Number(-0.01)), "-1.00 pp");
        assert_eq!(shown("leads.change", Value::Integer(1_200)), "+1,200");
        assert_eq!(shown("leads.change", Value::Integer(0)), "0");
        assert_eq!(shown("spend.change", Value::Money(-4_999)), "0.00");
        assert_eq!(shown("leads.ratio", Value::Null), NOTHING);
        assert_eq!(shown("bookRate.target", Value::Number(0.35)), "35.00%");
        assert_eq!(shown("spend.target", Value::Number(1_234.5)), "1,234.50");
        assert_eq!(shown("spend.pace", Value::Number(0.9722)), "97.22%");
        // Values have no sign.
        assert_eq!(shown("bookRate.previous", Value::Ratio(0.3)), "30.0%");
        assert_eq!(shown("bookRate", Value::Ratio(0.3)), "30.0%");
    }

    #[test]
    fn a_count_of_one_is_singular() {
        assert_eq!(
            (counted(1, "row"), counted(0, "row"), counted(1_000, "row")),
            ("1 row".into(), "0 rows".into(), "1,000 rows".into())
        );
    }
}
