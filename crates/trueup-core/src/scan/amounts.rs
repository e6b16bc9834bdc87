//! Amounts of money, as narrow as they allow.

use super::{NO_VALUE, StoredColumn};
use std::ops::Range;

/// An amount per event, or none.
#[derive(Clone, Debug)]
pub(crate) enum Amounts {
    /// Multiples of a unit, in millionths; [`NO_MULTIPLE`] is none.
    Narrow { unit: i64, multiples: Vec<i32> },
    /// Millionths; [`NO_VALUE`] is none.
    Wide(Vec<i64>),
}

/// Stands for null among multiples.
const NO_MULTIPLE: i32 = i32::MIN;

/// Amounts are multiples of these, in millionths, where they allow: whole units, hundredths.
const UNITS: [i64; 2] = [1_000_000, 10_000];

impl Amounts {
    /// All amounts in millionths that can be held.
    pub(crate) const ALL: Range<i128> = NO_VALUE as i128 + 1..i64::MAX as i128 + 1;

    /// Holds amounts in millionths.
    ///
    /// # Errors
    /// The rows do not decode.
    pub(super) fn new(StoredColumn { values, rows }: StoredColumn<'_, i64>) -> Result<Self, &'static str> {
        match UNITS.into_iter().find_map(|unit| Some((unit, multiples(&values, unit)?))) {
            Some((unit, multiples)) => {
                rows.expand(multiples, NO_MULTIPLE).map(|multiples| Self::Narrow { unit, multiples })
            }
            None => rows.expand(values, NO_VALUE).map(Self::Wide),
        }
    }

    /// The amount of an event in millionths.
    #[inline]
    pub(crate) fn get(&self, event: usize) -> Option<i64> {
        match self {
            Self::Narrow { unit, multiples } => Some(multiples[event])
                .filter(|multiple| *multiple != NO_MULTIPLE)
                .map(|multiple| i64::from(multiple) * unit),
            Self::Wide(micros) => Some(micros[event]).filter(|micros| *micros != NO_VALUE),
        }
    }

    /// The amounts at `places` in millionths, 0 where there is none.
    pub(crate) fn gather(&self, places: &[u32]) -> Vec<i64> {
        let places = places.iter().map(|at| *at as usize);
        match self {
            Self::Narrow { unit, multiples } => {
                let multiples = places.map(|at| multiples[at]);
                multiples.map(|multiple| if multiple == NO_MULTIPLE { 0 } else { i64::from(multiple) * unit }).collect()
            }
            Self::Wide(micros) => {
                places.map(|at| micros[at]).map(|micros| if micros == NO_VALUE { 0 } else { micros }).collect()
            }
        }
    }

    /// Appends what `told` makes of whether each of the amounts at `places` is one in the range, given in millionths.
    pub(crate) fn within<T>(&self, range: &Range<i128>, places: &[u32], told: impl Fn(bool) -> T, into: &mut Vec<T>) {
        let places = places.iter().map(|at| *at as usize);
        match self {
            Self::Narrow { unit, multiples } => {
                // The least multiple that is not below.
                let multiple = |micros: i128| -(-micros).div_euclid(i128::from(*unit));
                let range = multiple(range.start)..multiple(range.end);
                let (first, last) = ends(&range, NO_MULTIPLE + 1, i32::MAX);
                into.extend(places.map(|at| told((first <= multiples[at]) & (multiples[at] <= last))));
            }
            Self::Wide(micros) => {
                let (first, last) = ends(range, NO_VALUE + 1, i64::MAX);
                into.extend(places.map(|at| told((first <= micros[at]) & (micros[at] <= last))));
            }
        }
    }

    /// The sum of some events' amounts in millionths.
    #[inline]
    pub(crate) fn sum(&self, events: Range<usize>) -> i128 {
        match self {
            // A multiple has 32 bits, and a split has fewer than 2^32 rows: the sum has 64.
            Self::Narrow { unit, multiples } => {
                let multiples = multiples[events]
                    .iter()
                    .map(|multiple| if *multiple == NO_MULTIPLE { 0 } else { i64::from(*multiple) });
                i128::from(multiples.sum::<i64>()) * i128::from(*unit)
            }
            Self::Wide(micros) => {
                micros[events].iter().map(|micros| if *micros == NO_VALUE { 0 } else { i128::from(*micros) }).sum()
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow { multiples, .. } => size_of_val(&**multiples),
            Self::Wide(micros) => size_of_val(&**micros),
        }
    }
}

impl Default for Amounts {
    fn default() -> Self {
        Self::Wide(Vec::new())
    }
}

/// The first and the last number of a range that lie between two others; the first is behind the last if none does.
fn ends<T: Copy + Into<i128> + TryFrom<i128>>(range: &Range<i128>, least: T, most: T) -> (T, T) {
    let (first, last) = (range.start.max(least.into()), (range.end - 1).min(most.into()));
    T::try_from(first).ok().zip(T::try_from(last).ok()).unwrap_or((most, least))
}

/// The amounts in units, if they all are multiples that are small enough.
fn multiples(micros: &[i64], unit: i64) -> Option<Vec<i32>> {
    let multiple = |micros: &i64| match *micros {
        NO_VALUE => Some(NO_MULTIPLE),
        micros if micros % unit == 0 => i32::try_from(micros / unit).ok().filter(|multiple| *multiple != NO_MULTIPLE),
        _ => None,
    };
    micros.iter().map(multiple).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::super::values::{RowSpan, RowValues, Validity, ValueIndexes};
    use super::*;
    use proptest::prelude::*;

    impl Amounts {
        /// Holds amounts of which [`NO_VALUE`] is none.
        pub(crate) fn of(amounts: &[i64]) -> Self {
            let filled = Validity::Some(amounts.iter().map(|amount| *amount != NO_VALUE).collect());
            let mut rows = RowValues::default();
            rows.push(RowSpan { filled, places: ValueIndexes::InTurn(0) });
            let values = amounts.iter().copied().filter(|amount| *amount != NO_VALUE).collect();
            Self::new(StoredColumn { values, rows }).unwrap()
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            amounts in prop::collection::vec(
                prop_oneof![
                    Just(NO_VALUE),
                    (-2_147_483_700_i64..2_147_483_700).prop_map(|units| units * 1_000_000),
                    (-2_147_483_700_i64..2_147_483_700).prop_map(|cents| cents * 10_000),
                    -5_i64..5,
                ],
                0..4,
            ),
        ) {
            let held = Amounts::of(&amounts);
            for (event, amount) in amounts.into_iter().enumerate() {
                prop_assert_eq!(held.get(event).unwrap_or(NO_VALUE), amount);
            }
        }
    }

    #[test]
    fn cents_take_four_bytes() {
        assert_eq!(Amounts::of(&[1_230_000, NO_VALUE, -40_000]).bytes(), 12);
        assert_eq!(Amounts::of(&[1_230_001, NO_VALUE]).bytes(), 16);
    }
}
