//! Conditions held against rows, in three-valued logic.

use super::QueryContext;
use super::amount_range::AmountRange;
use super::field_predicate::FieldPredicate;
use super::grouping_units::{Granularity, GroupingUnits};
use super::key_encoder::KeyEncoder;
use crate::TextList;
use crate::plan::Condition;
use crate::query::TextPredicate;
use crate::scan::EventColumns;

/// Whether a condition holds: `and` is the least of its parts, `or` the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ternary {
    False,
    Unknown,
    True,
}

impl Ternary {
    /// False where this is true, and the other way round; unknown stays unknown.
    pub(crate) const fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Ternary {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl<T> Condition<T> {
    /// Holds the condition against `rows` rows; `test` appends the truth of a test for each.
    pub(crate) fn evaluate(&mut self, rows: usize, test: &mut impl FnMut(&mut T, &mut Vec<Ternary>)) -> Vec<Ternary> {
        match self {
            Self::Test(leaf) => {
                let mut truths = Vec::with_capacity(rows);
                test(leaf, &mut truths);
                truths
            }
            Self::Not(part) => {
                let mut truths = part.evaluate(rows, test);
                truths.iter_mut().for_each(|truth| *truth = truth.not());
                truths
            }
            Self::All(parts) => Self::fold(parts, rows, Ternary::True, Ternary::min, test),
            Self::Any(parts) => Self::fold(parts, rows, Ternary::False, Ternary::max, test),
        }
    }

    fn fold(
        parts: &mut [Self],
        rows: usize,
        neutral: Ternary,
        join: fn(Ternary, Ternary) -> Ternary,
        test: &mut impl FnMut(&mut T, &mut Vec<Ternary>),
    ) -> Vec<Ternary> {
        let mut truths = vec![neutral; rows];
        for part in parts {
            let other = part.evaluate(rows, test);
            truths.iter_mut().zip(other).for_each(|(truth, other)| *truth = join(*truth, other));
        }
        truths
    }
}

/// Tests of one dimension, held against each code's text once.
#[derive(Debug)]
pub(crate) struct CodePredicate<'a> {
    test: &'a Condition<TextPredicate>,
    truths: Vec<Ternary>,
}

impl<'a> CodePredicate<'a> {
    pub(crate) const fn new(test: &'a Condition<TextPredicate>) -> Self {
        Self { test, truths: Vec::new() }
    }

    /// Appends the truth for each code.
    pub(crate) fn fill(&mut self, codes: &[u32], texts: &TextList, truths: &mut Vec<Ternary>) {
        let known = self.truths.len();
        self.truths.extend((known..texts.len()).map(|code| self.test.holds(&texts[code])));
        truths.extend(codes.iter().map(|code| self.truths[*code as usize]));
    }
}

/// A test bound to the columns of a split.
#[derive(Debug)]
pub(crate) enum BoundPredicate<'a> {
    Dimension(KeyEncoder<'a>, CodePredicate<'a>),
    Total(&'a AmountRange),
}

impl<'a> BoundPredicate<'a> {
    pub(crate) fn new(context: &'a QueryContext<'a>, split: &'a EventColumns, test: &'a FieldPredicate) -> Self {
        match test {
            FieldPredicate::Dimension(dimension, test) => {
                Self::Dimension(KeyEncoder::new(context, split, dimension), CodePredicate::new(test))
            }
            FieldPredicate::Total(test) => Self::Total(test),
        }
    }

    /// Appends the truth for each unit.
    pub(crate) fn fill(
        &mut self,
        split: &EventColumns,
        units: &GroupingUnits<'_>,
        codes: &mut Vec<u32>,
        truths: &mut Vec<Ternary>,
    ) {
        match self {
            Self::Dimension(coder, test) => {
                coder.fill(units, codes);
                test.fill(codes, coder.texts(), truths);
            }
            Self::Total(test) => test.fill(split.totals.as_deref(), units.events, truths),
        }
    }

    /// Of what all rows have the same truth.
    pub(crate) fn granularity(&self) -> Granularity {
        match self {
            Self::Dimension(coder, _) => coder.granularity(),
            Self::Total(_) => Granularity::Row,
        }
    }
}
