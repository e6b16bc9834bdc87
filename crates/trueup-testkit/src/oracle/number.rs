//! Exact amounts and their one step into floating point (sections 1 and 6).

/// An exact whole number of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// So many of them.
    Count(i128),
    /// Millionths of a currency unit.
    Money(i128),
}

impl Amount {
    /// Section 6: "each is turned into a double by value (money: millionths / 10^6)". The decimal text is exact and the
    /// standard parser rounds it correctly, so this is the double nearest to the value.
    pub(super) fn double(self) -> f64 {
        match self {
            Self::Count(count) => nearest_double(&count.to_string()),
            Self::Money(micros) => nearest_double(&decimal(micros)),
        }
    }

    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Money(0))
    }
}

/// Millionths as decimal text in currency units.
fn decimal(micros: i128) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let magnitude = micros.unsigned_abs();
    format!("{sign}{}.{:06}", magnitude / 1_000_000, magnitude % 1_000_000)
}

fn nearest_double(text: &str) -> f64 {
    // Digits with at most one sign and one point always parse.
    text.parse().unwrap_or(f64::NAN)
}

/// Section 6, `estimatedRevenue`: the average, "rounded half away from zero to the millionth"; none: 0.
pub(super) fn average(amounts: &[i64]) -> i128 {
    let mut count: i128 = 0;
    let mut sum: i128 = 0;
    for amount in amounts {
        count += 1;
        sum += i128::from(*amount);
    }
    if count == 0 {
        return 0;
    }
    // Half away from zero: add half a divisor to the magnitude, then cut; doubled so that odd counts have a half.
    let magnitude = (2 * sum.abs() + count) / (2 * count);
    if sum < 0 { -magnitude } else { magnitude }
}

/// Section 8: "A decimal number is `-?[0-9]+(\.[0-9]+)?`, in ASCII, compared as a double." `None` if the text is none.
pub(super) fn decimal_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = match unsigned.split_once('.') {
        None => digits(unsigned),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    };
    if well_formed { text.parse().ok() } else { None }
}
