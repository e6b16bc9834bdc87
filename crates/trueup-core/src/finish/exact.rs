//! The double closest to an exact quotient.

use crate::money::MAX_EXACT;
use num_bigint::{BigInt, Sign};

/// The bits of a quotient before it is rounded: enough that the bits after them decide only whether it lies halfway
/// between two doubles.
const QUOTIENT_BITS: i64 = 66;

/// Returns the double closest to `numerator` / `denominator`, the even one if two are equally close. The denominator
/// must not be 0. Zero is never negative.
///
/// # Bounds
/// Both integers have fewer than 900 bits: the largest are sums of a few products of at most six factors with at most
/// 128 bits each, and of small constants. The quotient is therefore 0 or a normal double, and scaling by a power of two
/// is exact.
pub(crate) fn nearest_quotient(numerator: &BigInt, denominator: &BigInt) -> f64 {
    let exact = -MAX_EXACT..=MAX_EXACT;
    let small = |number: &BigInt| i64::try_from(number).ok().filter(|number| exact.contains(number));
    if let (Some(numerator), Some(denominator)) = (small(numerator), small(denominator)) {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53; then one correctly rounded division")]
        return numerator as f64 / denominator as f64 + 0.0;
    }
    if numerator.sign() == Sign::NoSign {
        return 0.0;
    }
    let (dividend, divisor) = (numerator.magnitude(), denominator.magnitude());
    let bits = |bits: u64| i64::try_from(bits).unwrap_or(i64::MAX);
    let shift = QUOTIENT_BITS + bits(divisor.bits()) - bits(dividend.bits());
    let (dividend, divisor) =
        if shift < 0 { (dividend.clone(), divisor << -shift) } else { (dividend << shift, divisor.clone()) };
    let quotient = &dividend / &divisor;
    let has_rest = &quotient * &divisor != dividend;
    // At most 67 bits. The last one says whether more bits follow, so that the conversion rounds the whole quotient.
    let quotient = u128::try_from(quotient).unwrap_or(u128::MAX) | u128::from(has_rest);
    #[expect(clippy::cast_precision_loss, reason = "the one rounding")]
    let scaled = quotient as f64 * power_of_two(-shift);
    if numerator.sign() == denominator.sign() { scaled } else { -scaled }
}

/// Returns 2 to the power of `exponent`, which must be that of a normal double.
fn power_of_two(exponent: i64) -> f64 {
    const BIAS: i64 = f64::MAX_EXP as i64 - 1;
    f64::from_bits(((exponent + BIAS).cast_unsigned()) << (f64::MANTISSA_DIGITS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nearest(numerator: i128, denominator: i128) -> f64 {
        nearest_quotient(&numerator.into(), &denominator.into())
    }

    #[test]
    fn a_quotient_is_rounded_once() {
        assert_eq!(nearest(1, 3), 1.0 / 3.0);
        assert_eq!(nearest(-2, 6), -1.0 / 3.0);
        assert_eq!(nearest(i64::MIN.into(), 1), -(2_f64.powi(63)));
        assert_eq!(nearest(2, -6), -1.0 / 3.0);
        assert!(nearest(0, -5).is_sign_positive() && nearest(0, 1 << 100).is_sign_positive());
        // Halfway between two doubles: the even one. The slightest more: the next.
        let half = (1_i128 << 53) + 1;
        assert_eq!(nearest(half, 1), 9_007_199_254_740_992.0);
        assert_eq!(nearest((half << 60) + 1, 1 << 60), 9_007_199_254_740_994.0);
        assert_eq!(nearest((half + 2) << 60, 1 << 60), 9_007_199_254_740_996.0);
    }

    #[test]
    fn a_quotient_of_the_largest_products_is_normal() {
        let large = -BigInt::from(i128::MIN).pow(6);
        assert_eq!(nearest_quotient(&large, &BigInt::from(1)), -(2_f64.powi(762)));
        assert_eq!(nearest_quotient(&BigInt::from(1), &large), -(2_f64.powi(-762)));
    }

    proptest! {
        /// Doubles are parsed with correct rounding, and decimals are quotients.
        #[test]
        fn decimals_are_rounded_like_texts(digits in any::<i128>(), places in 0..38_u32) {
            let text = format!("{digits}e-{places}");
            prop_assert_eq!(nearest(digits, 10_i128.pow(places)), text.parse::<f64>().unwrap_or(f64::NAN));
        }
    }
}
