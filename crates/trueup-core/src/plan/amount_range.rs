//! Tests of events' amounts as ranges of integers, so that no amount is converted to a double to be compared.

use crate::filter::{ComparisonOperator, NumberPredicate};
use crate::money;
use crate::scan::Amounts;
use std::ops::Range;

/// A test of amounts. `total > 9.99` is the range from 9,990,001 to the largest amount.
#[derive(Clone, Debug)]
pub(crate) struct AmountRange {
    /// Amounts in millionths of a currency unit.
    range: Range<i128>,
    /// Whether the amounts outside the range and missing amounts pass, instead of the amounts inside.
    is_outside: bool,
}

impl AmountRange {
    /// Returns the amounts that pass a test whose operand is in currency units. The test compares an amount's double
    /// with the operand; because a larger amount never has a smaller double, the amounts that pass are a range or all
    /// but a range.
    pub(super) fn new(test: &NumberPredicate) -> Self {
        let first_equal = |operand: f64| first(|amount| amount >= operand);
        let first_greater = |operand: f64| first(|amount| amount > operand);
        let (range, is_outside) = match test {
            NumberPredicate::Equals(operand) => (first_equal(*operand)..first_greater(*operand), false),
            NumberPredicate::NotEquals(operand) => (first_equal(*operand)..first_greater(*operand), true),
            NumberPredicate::Compare(comparison, operand) => {
                let range = match comparison {
                    ComparisonOperator::Greater => first_greater(*operand)..Amounts::ALL.end,
                    ComparisonOperator::GreaterOrEqual => first_equal(*operand)..Amounts::ALL.end,
                    ComparisonOperator::Less => Amounts::ALL.start..first_equal(*operand),
                    ComparisonOperator::LessOrEqual => Amounts::ALL.start..first_greater(*operand),
                };
                (range, false)
            }
        };
        Self { range, is_outside }
    }

    /// Appends one result per event: what `result` makes of whether the event's amount passes. If `amounts` is `None`,
    /// no event has an amount.
    pub(crate) fn test<T: Clone>(
        &self,
        amounts: Option<&Amounts>,
        events: &[u32],
        result: impl Fn(bool) -> T,
        results: &mut Vec<T>,
    ) {
        let result = |is_inside: bool| result(is_inside != self.is_outside);
        match amounts {
            Some(amounts) => amounts.within(&self.range, events, result, results),
            None => results.resize(results.len() + events.len(), result(false)),
        }
    }
}

/// Returns the first amount whose double satisfies `is_reached`, which all larger amounts satisfy too, or the end of
/// all amounts.
fn first(is_reached: impl Fn(f64) -> bool) -> i128 {
    let Range { mut start, mut end } = Amounts::ALL;
    while start < end {
        let middle = start + (end - start) / 2;
        if is_reached(money::to_f64(middle)) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::NO_VALUE;
    use proptest::prelude::*;

    /// Returns amounts near the limits of doubles, of narrow columns and of all amounts.
    fn amounts() -> impl Strategy<Value = i64> {
        let about = [0, 500, 1 << 31, 1 << 33, 1 << 53].map(|units: i64| units.saturating_mul(1_000_000)).to_vec();
        let about = [about, vec![1 << 53, i64::MAX, NO_VALUE]].concat();
        (prop::sample::select(about), -3_i64..=3, prop::sample::select(vec![1, 10_000, 1_000_000]), any::<bool>())
            .prop_map(|(about, steps, step, is_less)| {
                let amount = about.saturating_add(steps * step);
                if is_less { amount.saturating_neg() } else { amount }
            })
    }

    proptest! {
        #[test]
        fn an_amount_passes_if_its_double_does(
            amounts in prop::collection::vec(amounts(), 0..6),
            operand in prop_oneof![amounts().prop_map(|micros| money::to_f64(micros.into())), -1e3..1e3, any::<f64>()],
            kind in 0..6,
        ) {
            prop_assume!(operand.is_finite());
            let test = match kind {
                0 => NumberPredicate::Equals(operand),
                1 => NumberPredicate::NotEquals(operand),
                2 => NumberPredicate::Compare(ComparisonOperator::Greater, operand),
                3 => NumberPredicate::Compare(ComparisonOperator::GreaterOrEqual, operand),
                4 => NumberPredicate::Compare(ComparisonOperator::Less, operand),
                _ => NumberPredicate::Compare(ComparisonOperator::LessOrEqual, operand),
            };
            let of = |micros: &i64| Some(*micros).filter(|micros| *micros != NO_VALUE);
            let holds = |micros: &i64| test.holds(of(micros).map(|micros| money::to_f64(micros.into())));
            let expected: Vec<bool> = amounts.iter().map(holds).collect();
            let (column, mut passes) = (Amounts::of(&amounts), Vec::new());
            let events: Vec<u32> = (0..).take(amounts.len()).collect();
            AmountRange::new(&test).test(Some(&column), &events, |passes| passes, &mut passes);
            prop_assert_eq!(&passes, &expected, "{:?} of {:?}", test, column);
            passes.clear();
            AmountRange::new(&test).test(None, &events, |passes| passes, &mut passes);
            prop_assert_eq!(passes, vec![test.holds(None); amounts.len()]);
        }
    }
}
