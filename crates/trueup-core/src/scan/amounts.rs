//! Amounts of money, as narrow as they allow.

use super::{NO_VALUE, Values};
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
    /// Holds amounts in millionths.
    ///
    /// # Errors
    /// The rows do not decode.
    pub(super) fn new(Values { values, rows }: Values<'_, i64>) -> Result<Self, &'static str> {
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

    use super::super::values::{Filled, Places, Rows, Stretch};
    use super::*;
    use proptest::prelude::*;

    fn held(amounts: &[i64]) -> Amounts {
        let filled = Filled::Some(amounts.iter().map(|amount| *amount != NO_VALUE).collect());
        let mut rows = Rows::default();
        rows.push(Stretch { filled, places: Places::InTurn(0) });
        let values = amounts.iter().copied().filter(|amount| *amount != NO_VALUE).collect();
        Amounts::new(Values { values, rows }).unwrap()
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
            let held = held(&amounts);
            for (event, amount) in amounts.into_iter().enumerate() {
                prop_assert_eq!(held.get(event).unwrap_or(NO_VALUE), amount);
            }
        }
    }

    #[test]
    fn cents_take_four_bytes() {
        assert_eq!(held(&[1_230_000, NO_VALUE, -40_000]).bytes(), 12);
        assert_eq!(held(&[1_230_001, NO_VALUE]).bytes(), 16);
    }
}
