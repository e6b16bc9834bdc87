//! The contributions of groups to the change of a ratio, split into rate and mix.

use super::exact::nearest_quotient;
use super::exact_values::{ExactValue, scale};
use num_bigint::BigInt;

/// Returns the rate effect and the mix effect of each part of a ratio. A part has a value in the earlier range and one
/// in the range that is asked for. `is_money` says it of the numerator and of the denominator. `None` if the
/// denominators of all parts add up to 0 in one range.
pub(crate) fn effects_of_parts(parts: &[[ExactValue; 2]], is_money: [bool; 2]) -> Option<Vec<[f64; 2]>> {
    let all = [0, 1].map(|range| ExactValue {
        numerator: parts.iter().map(|part| part[range].numerator).sum(),
        denominator: parts.iter().map(|part| part[range].denominator).sum(),
    });
    let ratio = RatioOfAll::new(all, scale(is_money))?;
    Some(parts.iter().map(|part| [ratio.rate_effect(*part), ratio.mix_effect(*part)]).collect())
}

/// A ratio over all groups of two ranges, against which the effects of one group are computed.
///
/// With the ratio `n` / `d` of a group and `N` / `D` of all groups, each with 0 for the earlier range and 1 for the
/// range that is asked for, `w` = `d` / `D` is the share of the group. Means and changes are over the two ranges.
///
/// | effect | definition |
/// |---|---|
/// | rate | mean(`w`) x change(`n` / `d`) |
/// | mix | change(`n` / `D`) - rate - change(`w`) x mean(`N` / `D`) |
///
/// The `w` of all groups add up to 1 in both ranges, and their `n` / `D` to `N` / `D`. The effects of all groups
/// therefore add up to the change of `N` / `D`.
pub(super) struct RatioOfAll {
    denominators: [BigInt; 2],
    /// `D0 D1`
    product: BigInt,
    /// `N0 D1 + N1 D0`: twice the mean of `N` / `D`, times `D0 D1`.
    sum: BigInt,
    /// What a quotient of exact values is multiplied and divided by to have the unit of the metric.
    scale: [BigInt; 2],
}

/// What both effects of a group are made of.
struct GroupTerms {
    /// The rate effect is this number divided by the product of `2 D0 D1` and the divisor.
    rate: BigInt,
    /// `d0 d1`
    divisor: BigInt,
}

impl RatioOfAll {
    /// Returns the ratio over all groups, given the sums of its numerators and denominators in both ranges, the earlier
    /// one first; `None` if a denominator is 0.
    pub(super) fn new(sums: [ExactValue; 2], scale: [i64; 2]) -> Option<Self> {
        let [n, d] = [sums.map(ExactValue::wide_numerator), sums.map(ExactValue::wide_denominator)];
        sums.iter().all(|sum| sum.denominator != 0).then(|| Self {
            product: &d[0] * &d[1],
            sum: &n[0] * &d[1] + &n[1] * &d[0],
            denominators: d,
            scale: scale.map(BigInt::from),
        })
    }

    /// Returns the rate effect of a group.
    pub(super) fn rate_effect(&self, group: [ExactValue; 2]) -> f64 {
        let GroupTerms { rate, divisor } = self.terms(group);
        self.rounded(&rate, &(&self.product * 2 * divisor))
    }

    /// Returns the mix effect of a group.
    pub(super) fn mix_effect(&self, group: [ExactValue; 2]) -> f64 {
        let GroupTerms { rate, divisor } = self.terms(group);
        // The change of a / D, times D0 D1.
        let change = |a: [BigInt; 2]| &a[1] * &self.denominators[0] - &a[0] * &self.denominators[1];
        let [n, d] = [group.map(ExactValue::wide_numerator), group.map(ExactValue::wide_denominator)];
        // The change of n / D minus that of w times the mean of N / D, times 2 (D0 D1)^2.
        let without_rate = &self.product * 2 * change(n) - change(d) * &self.sum;
        let mix = without_rate * &divisor - &self.product * rate;
        self.rounded(&mix, &(&self.product * &self.product * 2 * divisor))
    }

    fn terms(&self, group: [ExactValue; 2]) -> GroupTerms {
        if group.iter().any(|value| value.denominator == 0) {
            // The ratio that is missing is taken from the other range, and so does not change.
            return GroupTerms { rate: BigInt::ZERO, divisor: BigInt::from(1) };
        }
        let [n, d] = [group.map(ExactValue::wide_numerator), group.map(ExactValue::wide_denominator)];
        // The sum of w, times D0 D1, and the change of n / d, times d0 d1.
        let sum = &d[0] * &self.denominators[1] + &d[1] * &self.denominators[0];
        let change = &n[1] * &d[0] - &n[0] * &d[1];
        GroupTerms { rate: sum * change, divisor: &d[0] * &d[1] }
    }

    /// Returns a fraction in the unit of the metric, rounded once.
    fn rounded(&self, numerator: &BigInt, denominator: &BigInt) -> f64 {
        nearest_quotient(&(numerator * &self.scale[0]), &(denominator * &self.scale[1]))
    }
}
