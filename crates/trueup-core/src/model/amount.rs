//! Amounts of money as they are written, in millionths.

use super::fault::{Reason, RowFaults};
use super::render::{PlainColumn, plain_decimal};
use crate::money::{MAX_MICROS, MICROS_PER_UNIT};
use arrow_array::Decimal128Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{ArrowError, DataType};

/// The digits, and the digits after the point, of a stored amount.
pub(super) const STORED: (u8, i8) = (19, 6);

/// An amount in millionths from a plain decimal number (`-?digits[.digits]`); more than six decimals are rounded half away from
/// zero.
///
/// # Errors
/// [`Reason::Amount`] if the text is no such number, [`Reason::AmountRange`] if it is beyond
/// [`MAX_UNITS`](crate::money::MAX_UNITS).
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
    // One digit more than the largest amount is enough to see that a number is larger.
    if whole.len() > 14 {
        return Err(Reason::AmountRange);
    }
    let decimals = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let micros = whole.bytes().chain(decimals).fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let up = fraction.as_bytes().get(6).is_some_and(|digit| *digit >= b'5');
    let micros = micros + i128::from(up);
    within(if negative { -micros } else { micros })
}

/// The stored form of a column of amounts; null and the empty text are null. Rows that are refused are null too, and in `faults`.
pub(super) fn read_amounts(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<Decimal128Array, ArrowError> {
    let values = cells.values.as_ref();
    let micros = match values.data_type() {
        DataType::Null => vec![None; values.len()],
        DataType::Utf8 => {
            let texts = values.as_string::<i32>();
            let read = |(row, text): (usize, Option<&str>)| {
                let text = text.filter(|text| !text.is_empty())?;
                amount_from_text(text).map_err(|reason| faults.add(row, cells.column, text, reason)).ok()
            };
            texts.iter().enumerate().map(read).collect()
        }
        DataType::Int8 => each::<Int8Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::Int16 => each::<Int16Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::Int32 => each::<Int32Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::Int64 => each::<Int64Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::UInt8 => each::<UInt8Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::UInt16 => each::<UInt16Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::UInt32 => each::<UInt32Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::UInt64 => each::<UInt64Type>(cells, faults, |value| scaled(value.into(), 0)),
        DataType::Float32 => each::<Float32Type>(cells, faults, |value| of_float_text(&format!("{value:e}"))),
        DataType::Float64 => each::<Float64Type>(cells, faults, of_f64),
        DataType::Decimal32(_, scale) => {
            each::<Decimal32Type>(cells, faults, |value| scaled(value.into(), -i32::from(*scale)))
        }
        DataType::Decimal64(_, scale) => {
            each::<Decimal64Type>(cells, faults, |value| scaled(value.into(), -i32::from(*scale)))
        }
        DataType::Decimal128(_, scale) => {
            each::<Decimal128Type>(cells, faults, |value| scaled(value, -i32::from(*scale)))
        }
        DataType::Decimal256(_, scale) => each::<Decimal256Type>(cells, faults, |value| match value.to_i128() {
            Some(value) => scaled(value, -i32::from(*scale)),
            None => amount_from_text(&plain_decimal(&value.to_string(), *scale)),
        }),
        other => return Err(ArrowError::SchemaError(format!("amounts cannot be read from {other}"))),
    };
    let stored: Decimal128Array = micros.into_iter().map(|micros| micros.map(i128::from)).collect();
    stored.with_precision_and_scale(STORED.0, STORED.1)
}

fn each<T: ArrowPrimitiveType>(
    cells: &PlainColumn<'_>,
    faults: &mut RowFaults,
    read: impl Fn(T::Native) -> Result<i64, Reason>,
) -> Vec<Option<i64>> {
    let values = cells.values.as_primitive::<T>();
    let keep = |(row, value): (usize, Option<T::Native>)| {
        read(value?).map_err(|reason| faults.add(row, cells.column, &cells.text(row), reason)).ok()
    };
    values.iter().enumerate().map(keep).collect()
}

/// A double's shortest round-trip decimal.
fn of_f64(value: f64) -> Result<i64, Reason> {
    /// Below this, in units, six decimals make at most 15 significant digits.
    const EXACT: f64 = 1e9;
    if value.abs() < EXACT {
        #[expect(clippy::cast_precision_loss, reason = "one million is exact")]
        let unit = MICROS_PER_UNIT as f64;
        let micros = (value * unit).round();
        // No two decimals of 15 digits share a double. So if this one leads back to `value`, the shortest decimal that does, which
        // has no more digits, is the same number.
        if micros / unit == value {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 10^15 in absolute value")]
            return Ok(micros as i64);
        }
    }
    of_float_text(&format!("{value:e}"))
}

/// From a float as Rust writes it in scientific notation, `-1.25e-7`: the shortest digits that lead back to it.
fn of_float_text(text: &str) -> Result<i64, Reason> {
    let (mantissa, exponent) = text.split_once('e').ok_or(Reason::Amount)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimals = i32::try_from(fraction.len()).map_err(|_| Reason::Amount)?;
    let coefficient = format!("{whole}{fraction}").parse().map_err(|_| Reason::Amount)?;
    let exponent: i32 = exponent.parse().map_err(|_| Reason::Amount)?;
    scaled(coefficient, exponent - decimals)
}

/// `coefficient` times ten to the `exponent`, in units.
fn scaled(coefficient: i128, exponent: i32) -> Result<i64, Reason> {
    let shift = exponent + 6;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        if coefficient == 0 {
            return Ok(0);
        }
        return within(power.and_then(|power| coefficient.checked_mul(power)).ok_or(Reason::AmountRange)?);
    }
    // Ten to the power of 39 is more than twice any coefficient: what is divided by it rounds to nothing.
    let Some(power) = power else { return Ok(0) };
    let (quotient, rest) = (coefficient / power, coefficient % power);
    let up = rest.abs() >= power - rest.abs();
    within(quotient + if up { rest.signum() } else { 0 })
}

fn within(micros: i128) -> Result<i64, Reason> {
    i64::try_from(micros).ok().filter(|micros| micros.abs() <= MAX_MICROS).ok_or(Reason::AmountRange)
}

#[cfg(test)]
mod tests;
