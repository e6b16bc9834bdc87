//! Amounts of money in as few bytes as they allow.

use super::NO_VALUE;
use std::ops::Range;
use trueup_parquet::StoredColumn;

/// An amount or none for each row.
#[derive(Clone, Debug)]
pub(crate) enum Amounts {
    /// Multiples of a unit, which is given in millionths; [`NO_MULTIPLE`] represents none.
    Narrow { unit: i64, multiples: Vec<i32> },
    /// Millionths; [`NO_VALUE`] represents none.
    Wide(Vec<i64>),
}

/// Represents the absence of an amount among multiples.
const NO_MULTIPLE: i32 = i32::MIN;

/// The units that are tried, in millionths: whole units, then hundredths.
const UNITS: [i64; 2] = [1_000_000, 10_000];

impl Amounts {
    /// The amounts that can be held, in millionths.
    pub(crate) const ALL: Range<i128> = NO_VALUE as i128 + 1..i64::MAX as i128 + 1;

    /// Holds the amounts of a column, given in millionths.
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

    /// Returns the amount of a row in millionths.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        match self {
            Self::Narrow { unit, multiples } => Some(multiples[row])
                .filter(|multiple| *multiple != NO_MULTIPLE)
                .map(|multiple| i64::from(multiple) * unit),
            Self::Wide(micros) => Some(micros[row]).filter(|micros| *micros != NO_VALUE),
        }
    }

    /// Returns the amounts of `rows` in millionths, 0 for a row without an amount.
    pub(crate) fn gather(&self, rows: &[u32]) -> Vec<i64> {
        let rows = rows.iter().map(|row| *row as usize);
        match self {
            Self::Narrow { unit, multiples } => {
                let multiples = rows.map(|row| multiples[row]);
                multiples.map(|multiple| if multiple == NO_MULTIPLE { 0 } else { i64::from(multiple) * unit }).collect()
            }
            Self::Wide(micros) => {
                rows.map(|row| micros[row]).map(|micros| if micros == NO_VALUE { 0 } else { micros }).collect()
            }
        }
    }

    /// Appends for each of `rows` the result of `convert` on whether the row has an amount within `range`, which is
    /// given in millionths.
    pub(crate) fn within<T>(&self, range: &Range<i128>, rows: &[u32], convert: impl Fn(bool) -> T, into: &mut Vec<T>) {
        let rows = rows.iter().map(|row| *row as usize);
        match self {
            Self::Narrow { unit, multiples } => {
                // The smallest multiple that is not below the amount.
                let multiple = |micros: i128| -(-micros).div_euclid(i128::from(*unit));
                let range = multiple(range.start)..multiple(range.end);
                let (first, last) = ends(&range, NO_MULTIPLE + 1, i32::MAX);
                into.extend(rows.map(|row| convert((first <= multiples[row]) & (multiples[row] <= last))));
            }
            Self::Wide(micros) => {
                let (first, last) = ends(range, NO_VALUE + 1, i64::MAX);
                into.extend(rows.map(|row| convert((first <= micros[row]) & (micros[row] <= last))));
            }
        }
    }

    /// Returns the sum of the amounts of consecutive rows in millionths; rows without an amount add nothing.
    #[inline]
    pub(crate) fn sum(&self, rows: Range<usize>) -> i128 {
        match self {
            // A multiple has 32 bits and a row group fewer than 2^32 rows, so that 64 bits hold the sum.
            Self::Narrow { unit, multiples } => {
                let multiples = multiples[rows]
                    .iter()
                    .map(|multiple| if *multiple == NO_MULTIPLE { 0 } else { i64::from(*multiple) });
                i128::from(multiples.sum::<i64>()) * i128::from(*unit)
            }
            Self::Wide(micros) => {
                micros[rows].iter().map(|micros| if *micros == NO_VALUE { 0 } else { i128::from(*micros) }).sum()
            }
        }
    }

    /// Returns the bytes held.
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

/// Returns the first and the last number of `range` between `min` and `max`. If there is none, the first is greater
/// than the last.
fn ends<T: Copy + Into<i128> + TryFrom<i128>>(range: &Range<i128>, min: T, max: T) -> (T, T) {
    let (first, last) = (range.start.max(min.into()), (range.end - 1).min(max.into()));
    T::try_from(first).ok().zip(T::try_from(last).ok()).unwrap_or((max, min))
}

/// Returns the amounts as multiples of a unit, if each is a multiple that fits into 32 bits.
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
    use super::*;
    use proptest::prelude::*;
    use trueup_parquet::Validity;

    impl Amounts {
        /// Holds amounts; [`NO_VALUE`] represents none.
        pub(crate) fn of(amounts: &[i64]) -> Self {
            let validity = Validity::new(amounts.iter().map(|amount| *amount != NO_VALUE).collect());
            let values = amounts.iter().copied().filter(|amount| *amount != NO_VALUE).collect();
            Self::new(StoredColumn::in_row_order(values, validity)).unwrap()
        }
    }

    proptest! {
        #[test]
        fn an_amount_is_held_exactly(
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
            for (row, amount) in amounts.into_iter().enumerate() {
                prop_assert_eq!(held.get(row).unwrap_or(NO_VALUE), amount);
            }
        }
    }

    #[test]
    fn cents_take_four_bytes() {
        assert_eq!(Amounts::of(&[1_230_000, NO_VALUE, -40_000]).bytes(), 12);
        assert_eq!(Amounts::of(&[1_230_001, NO_VALUE]).bytes(), 16);
    }
}
