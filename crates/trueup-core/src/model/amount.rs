//! Amounts of money, read from texts and numbers into millionths.

use super::fault::{CellFaults, Reason};
use super::plain_column::{PlainColumn, plain_decimal, read_numbers, read_texts};
use crate::money::{MAX_MICROS, MICROS_PER_UNIT};
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::{ArrowError, DataType};

/// The precision and the scale of a stored amount, as an Arrow decimal.
pub(super) const STORED: (u8, i8) = (19, 6);

/// Returns the amount, in millionths, of a plain decimal number `-?digits[.digits]` in currency units. Decimals after
/// the sixth are rounded half away from zero.
///
/// # Errors
/// Returns [`Reason::Amount`] if the text is not such a number, and [`Reason::AmountRange`] if its absolute value
/// exceeds [`MAX_UNITS`](crate::money::MAX_UNITS).
///
/// ```
/// use trueup_core::model::{Reason, amount_from_text};
///
/// assert_eq!(amount_from_text("-1234.5"), Ok(-1_234_500_000));
/// assert_eq!(amount_from_text("$1,200.00"), Err(Reason::Amount));
/// ```
pub fn amount_from_text(text: &str) -> Result<i64, Reason> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(Reason::Amount);
    }
    let whole = whole.trim_start_matches('0');
    // A number with more digits than this is above the largest amount.
    if whole.len() > 14 {
        return Err(Reason::AmountRange);
    }
    let decimals = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let micros = whole.bytes().chain(decimals).fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let up = fraction.as_bytes().get(6).is_some_and(|digit| *digit >= b'5');
    let micros = micros + i128::from(up);
    within(if negative { -micros } else { micros })
}

/// Reads amounts into their stored form. Null and the empty text are null. A rejected row is null and is added to
/// `faults`.
pub(super) fn read_amounts(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<Decimal128Array, ArrowError> {
    let values = column.values.as_ref();
    let micros = match values.data_type() {
        DataType::Utf8 => read_texts(column, faults, amount_from_text),
        DataType::Int8 => read_numbers::<Int8Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::Int16 => read_numbers::<Int16Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::Int32 => read_numbers::<Int32Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::Int64 => read_numbers::<Int64Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::UInt8 => read_numbers::<UInt8Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::UInt16 => read_numbers::<UInt16Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::UInt32 => read_numbers::<UInt32Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::UInt64 => read_numbers::<UInt64Type, _>(column, faults, |value| scaled(value.into(), 0)),
        DataType::Float32 => {
            read_numbers::<Float32Type, _>(column, faults, |value| of_float_text(&format!("{value:e}")))
        }
        DataType::Float64 => read_numbers::<Float64Type, _>(column, faults, of_f64),
        DataType::Decimal32(_, scale) => {
            read_numbers::<Decimal32Type, _>(column, faults, |value| scaled(value.into(), -i32::from(*scale)))
        }
        DataType::Decimal64(_, scale) => {
            read_numbers::<Decimal64Type, _>(column, faults, |value| scaled(value.into(), -i32::from(*scale)))
        }
        DataType::Decimal128(_, scale) => {
            read_numbers::<Decimal128Type, _>(column, faults, |value| scaled(value, -i32::from(*scale)))
        }
        DataType::Decimal256(_, scale) => {
            read_numbers::<Decimal256Type, _>(column, faults, |value| match value.to_i128() {
                Some(value) => scaled(value, -i32::from(*scale)),
                None => amount_from_text(&plain_decimal(&value.to_string(), *scale)),
            })
        }
        other => return Err(ArrowError::SchemaError(format!("amounts cannot be read from {other}"))),
    };
    let stored: Decimal128Array = micros.into_iter().map(|micros| micros.map(i128::from)).collect();
    stored.with_precision_and_scale(STORED.0, STORED.1)
}

/// Returns the amount of each row, in millionths, of rows that need not keep the rules: `None` for an amount that
/// cannot be read. Null is 0.
///
/// # Errors
/// The column has a type that amounts cannot be read from.
pub fn readable_amounts(name: &str, column: &ArrayRef) -> Result<Vec<Option<i64>>, ArrowError> {
    let mut faults = CellFaults::default();
    let amounts = read_amounts(&PlainColumn::new(name, column)?, &mut faults)?;
    let amount = |(row, amount): (usize, Option<i128>)| match amount {
        Some(amount) => i64::try_from(amount).ok(),
        None => (!faults.has(row)).then_some(0),
    };
    Ok(amounts.iter().enumerate().map(amount).collect())
}

/// Reads a double as the shortest decimal number that parses to the double.
fn of_f64(value: f64) -> Result<i64, Reason> {
    /// The amount in currency units below which six decimals have at most 15 significant digits.
    const EXACT: f64 = 1e9;
    if value.abs() < EXACT {
        #[expect(clippy::cast_precision_loss, reason = "one million is exact")]
        let unit = MICROS_PER_UNIT as f64;
        let micros = (value * unit).round();
        // Different decimals of at most 15 digits are different doubles. So if this decimal is `value`, it is also the
        // shortest decimal that parses to `value`, because that has no more digits.
        if micros / unit == value {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 10^15 in absolute value")]
            return Ok(micros as i64);
        }
    }
    of_float_text(&format!("{value:e}"))
}

/// Reads a float in the scientific notation of Rust, such as `-1.25e-7`, which has the shortest digits that parse to
/// the float.
fn of_float_text(text: &str) -> Result<i64, Reason> {
    let (mantissa, exponent) = text.split_once('e').ok_or(Reason::Amount)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimals = i32::try_from(fraction.len()).map_err(|_| Reason::Amount)?;
    let coefficient = format!("{whole}{fraction}").parse().map_err(|_| Reason::Amount)?;
    let exponent: i32 = exponent.parse().map_err(|_| Reason::Amount)?;
    scaled(coefficient, exponent - decimals)
}

/// Returns the amount, in millionths, of `coefficient` times ten to the power of `exponent` currency units.
fn scaled(coefficient: i128, exponent: i32) -> Result<i64, Reason> {
    let shift = exponent + 6;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        if coefficient == 0 {
            return Ok(0);
        }
        return within(power.and_then(|power| coefficient.checked_mul(power)).ok_or(Reason::AmountRange)?);
    }
    // A power of ten that overflows is more than twice any coefficient, so that the quotient rounds to 0.
    let Some(power) = power else { return Ok(0) };
    let (quotient, rest) = (coefficient / power, coefficient % power);
    let up = rest.abs() >= power - rest.abs();
    within(quotient + if up { rest.signum() } else { 0 })
}

/// Returns an amount in millionths that is in range, or [`Reason::AmountRange`].
fn within(micros: i128) -> Result<i64, Reason> {
    let allowed = -MAX_MICROS..=MAX_MICROS;
    i64::try_from(micros).ok().filter(|micros| allowed.contains(micros)).ok_or(Reason::AmountRange)
}

#[cfg(test)]
mod tests;
