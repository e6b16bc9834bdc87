//! A filter's conditions with all that is asked of one dimension brought together, so that it is held against each text once.

use super::amount_range::AmountRange;
use super::predicate::Ternary;
use crate::plan::{Condition, DimensionRef, RowPredicate};
use crate::query::TextPredicate;

/// What a filter asks of one field.
#[derive(Clone, Debug)]
pub(crate) enum FieldPredicate {
    /// Tests of a dimension's text.
    Dimension(DimensionRef, Condition<TextPredicate>),
    /// A test of the event's own amount.
    Total(AmountRange),
}

impl FieldPredicate {
    /// The tests of a filter, brought together. `and` and `or` may be regrouped freely, in three-valued logic too; what is asked of one
    /// dimension is known for a row or unknown for it as a whole.
    pub(crate) fn gather(condition: &Condition<RowPredicate>) -> Condition<Self> {
        match condition {
            Condition::Test(RowPredicate::Total(test)) => Condition::Test(Self::Total(AmountRange::new(test))),
            Condition::Test(RowPredicate::Dimension(dimension, test)) => {
                Condition::Test(Self::Dimension(dimension.clone(), Condition::Test(test.clone())))
            }
            Condition::Not(part) => match Self::gather(part) {
                Condition::Test(Self::Dimension(dimension, test)) => {
                    Condition::Test(Self::Dimension(dimension, Condition::Not(Box::new(test))))
                }
                other => Condition::Not(Box::new(other)),
            },
            Condition::All(parts) => join(parts, Condition::All, Condition::All),
            Condition::Any(parts) => join(parts, Condition::Any, Condition::Any),
        }
    }
}

/// Joins parts, those that ask of one dimension only first among themselves.
fn join(
    parts: &[Condition<RowPredicate>],
    fields: fn(Vec<Condition<FieldPredicate>>) -> Condition<FieldPredicate>,
    texts: fn(Vec<Condition<TextPredicate>>) -> Condition<TextPredicate>,
) -> Condition<FieldPredicate> {
    let mut others = Vec::new();
    let mut by_dimension: Vec<(DimensionRef, Vec<Condition<TextPredicate>>)> = Vec::new();
    for part in parts {
        match FieldPredicate::gather(part) {
            Condition::Test(FieldPredicate::Dimension(dimension, test)) => {
                match by_dimension.iter_mut().find(|(known, _)| known.name == dimension.name) {
                    Some((_, tests)) => tests.push(test),
                    None => by_dimension.push((dimension, vec![test])),
                }
            }
            other => others.push(other),
        }
    }
    let joined = by_dimension
        .into_iter()
        .map(|(dimension, tests)| Condition::Test(FieldPredicate::Dimension(dimension, texts(tests))));
    let mut all: Vec<_> = joined.chain(others).collect();
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            fields(all)
        }
        None => fields(all),
    }
}

impl Condition<TextPredicate> {
    /// Whether a text passes.
    pub(super) fn holds(&self, text: &str) -> Ternary {
        Ternary::from(self.passes(text))
    }

    fn passes(&self, text: &str) -> bool {
        match self {
            Self::Test(test) => test.holds(text),
            Self::Not(part) => !part.passes(text),
            Self::All(parts) => parts.iter().all(|part| part.passes(text)),
            Self::Any(parts) => parts.iter().any(|part| part.passes(text)),
        }
    }
}
