//! Tests of events' amounts, as ranges of whole numbers: no amount is turned to a double to be compared.

use super::predicate::Ternary;
use crate::money;
use crate::query::{Comparison, NumberPredicate};
use crate::scan::Amounts;
use std::ops::Range;

/// A test of amounts.
#[derive(Clone, Debug)]
pub(crate) struct AmountRange {
    /// Amounts in millionths.
    range: Range<i128>,
    /// Whether those pass that are not in the range, and what is no amount.
    is_outside: bool,
}

impl AmountRange {
    /// The amounts that pass a test in currency units, as doubles.
    pub(crate) fn new(test: &NumberPredicate) -> Self {
        // The greater an amount, the greater is its double, or it is the same.
        let least = |operand: f64| first(|amount| amount >= operand);
        let greater = |operand: f64| first(|amount| amount > operand);
        let (range, is_outside) = match test {
            NumberPredicate::Equals(operand) => (least(*operand)..greater(*operand), false),
            NumberPredicate::NotEquals(operand) => (least(*operand)..greater(*operand), true),
            NumberPredicate::Compare(comparison, operand) => {
                let range = match comparison {
                    Comparison::Greater => greater(*operand)..Amounts::ALL.end,
                    Comparison::GreaterOrEqual => least(*operand)..Amounts::ALL.end,
                    Comparison::Less => Amounts::ALL.start..least(*operand),
                    Comparison::LessOrEqual => Amounts::ALL.start..greater(*operand),
                };
                (range, false)
            }
        };
        Self { range, is_outside }
    }

    /// Appends whether each of some events' amounts passes; without amounts none has one.
    pub(crate) fn fill(&self, amounts: Option<&Amounts>, events: &[u32], truths: &mut Vec<Ternary>) {
        let truth = |is_inside: bool| Ternary::from(is_inside != self.is_outside);
        match amounts {
            Some(amounts) => amounts.within(&self.range, events, truth, truths),
            None => truths.resize(truths.len() + events.len(), truth(false)),
        }
    }
}

/// The first amount whose double is far enough, which all after it are; the end of all amounts if none is.
fn first(is_far: impl Fn(f64) -> bool) -> i128 {
    let Range { mut start, mut end } = Amounts::ALL;
    while start < end {
        let middle = start + (end - start) / 2;
        if is_far(money::to_f64(middle)) {
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

    /// Amounts that lie about where doubles, multiples or all amounts end.
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
        fn amounts_pass_as_their_doubles_do(
            amounts in prop::collection::vec(amounts(), 0..6),
            operand in prop_oneof![amounts().prop_map(|micros| money::to_f64(micros.into())), -1e3..1e3, any::<f64>()],
            kind in 0..6,
        ) {
            prop_assume!(operand.is_finite());
            let test = match kind {
                0 => NumberPredicate::Equals(operand),
                1 => NumberPredicate::NotEquals(operand),
                2 => NumberPredicate::Compare(Comparison::Greater, operand),
                3 => NumberPredicate::Compare(Comparison::GreaterOrEqual, operand),
                4 => NumberPredicate::Compare(Comparison::Less, operand),
                _ => NumberPredicate::Compare(Comparison::LessOrEqual, operand),
            };
            let of = |micros: &i64| Some(*micros).filter(|micros| *micros != NO_VALUE);
            let holds = |micros: &i64| test.holds(of(micros).map(|micros| money::to_f64(micros.into())));
            let expected: Vec<Ternary> = amounts.iter().map(holds).map(Ternary::from).collect();
            let (held, mut truths) = (Amounts::of(&amounts), Vec::new());
            let events: Vec<u32> = (0..).take(amounts.len()).collect();
            AmountRange::new(&test).fill(Some(&held), &events, &mut truths);
            prop_assert_eq!(&truths, &expected, "{:?} of {:?}", test, held);
            truths.clear();
            AmountRange::new(&test).fill(None, &events, &mut truths);
            prop_assert_eq!(truths, vec![Ternary::from(test.holds(None)); amounts.len()]);
        }
    }
}
