//! Money: an integer number of millionths of a currency unit. The data has one currency, which is not named.
//!
//! Amounts stay integers from ingest to the last sum, because a sum of floats would depend on the order of addition.
//! The amount of one row fits into an `i64`; a sum of amounts is an `i128`.
//!
//! ```
//! use trueup_core::money;
//!
//! let sum: i128 = [1_250_000, 1_000_000].into_iter().sum();
//! assert_eq!(money::format_micros(sum), "2.25");
//! assert_eq!(money::to_f64(money::average(sum, 2)), 1.125);
//! ```

/// The number of millionths in one currency unit.
pub const MICROS_PER_UNIT: i64 = 1_000_000;

/// The largest absolute amount of an event or a spend row, in currency units.
pub const MAX_UNITS: i64 = 9_000_000_000_000;

/// The largest absolute amount of an event or a spend row, in millionths.
pub const MAX_MICROS: i64 = MAX_UNITS * MICROS_PER_UNIT;

/// The largest integer up to which every integer is exact as a double.
pub const MAX_EXACT: i64 = 1 << f64::MANTISSA_DIGITS;

/// Returns the double closest to an amount, in currency units.
///
/// ```
/// assert_eq!(trueup_core::money::to_f64(1_234_500_000), 1234.5);
/// ```
#[must_use]
pub fn to_f64(micros: i128) -> f64 {
    if let Some(micros) = i64::try_from(micros).ok().filter(|micros| (-MAX_EXACT..=MAX_EXACT).contains(micros)) {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53; then one correctly rounded division")]
        return micros as f64 / MICROS_PER_UNIT as f64;
    }
    // Above 2^53 both the conversion and the division would round. The parser rounds once.
    format_micros(micros).parse().unwrap_or(f64::NAN)
}

/// Returns an amount as a decimal text in currency units, without trailing zeros.
///
/// ```
/// use trueup_core::money::format_micros;
///
/// assert_eq!(format_micros(1_234_500_000), "1234.5");
/// assert_eq!(format_micros(-1), "-0.000001");
/// ```
#[must_use]
pub fn format_micros(micros: i128) -> String {
    let unit = i128::from(MICROS_PER_UNIT).unsigned_abs();
    let (whole, fraction) = (micros.unsigned_abs() / unit, micros.unsigned_abs() % unit);
    let sign = if micros < 0 { "-" } else { "" };
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let digits = format!("{fraction:06}");
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

/// Returns the amount, in millionths, of a text as [`format_micros`] writes it; `None` for any other text.
///
/// ```
/// use trueup_core::money::parse_micros;
///
/// assert_eq!(parse_micros("-1234.5"), Some(-1_234_500_000));
/// assert_eq!(parse_micros("0.0000001"), None);
/// ```
#[must_use]
pub fn parse_micros(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let fraction = Some(fraction).filter(|fraction| (1..=6).contains(&fraction.len()))?;
    let (whole, fraction): (i128, i128) = (number(whole)?, number(&format!("{fraction:0<6}"))?);
    whole.checked_mul(MICROS_PER_UNIT.into())?.checked_add(fraction)?.checked_mul(sign)
}

/// Returns `sum / count` in millionths, rounded half away from zero; 0 if `count` is 0.
#[must_use]
pub fn average(sum: i128, count: u64) -> i128 {
    let count = i128::from(count);
    if count == 0 {
        return 0;
    }
    let (quotient, rest) = (sum / count, sum % count);
    if rest.abs() * 2 >= count { quotient + rest.signum() } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_rounds_half_away_from_zero() {
        assert_eq!(average(5, 2), 3);
        assert_eq!(average(-5, 2), -3);
        assert_eq!(average(4, 3), 1);
        assert_eq!(average(-4, 3), -1);
        assert_eq!(average(7, 0), 0);
    }

    #[test]
    fn large_amounts_round_once() {
        let micros = i128::from(i64::MAX) * 1_000 + 7;
        assert_eq!(to_f64(micros), "9223372036854775.807007".parse::<f64>().unwrap_or(0.0));
        assert_eq!(to_f64(-1), -0.000_001);
    }

    #[test]
    fn text_has_no_trailing_zeros() {
        assert_eq!(format_micros(-1), "-0.000001");
        assert_eq!(format_micros(1_500_000), "1.5");
        assert_eq!(format_micros(0), "0");
    }
}
