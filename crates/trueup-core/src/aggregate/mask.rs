//! Conditions held against rows, in three-valued logic.

use super::Context;
use super::amount_test::AmountTest;
use super::coder::Coder;
use super::condition::FieldTest;
use super::units::{Grain, Units};
use crate::TextList;
use crate::plan::Condition;
use crate::query::TextTest;
use crate::scan::EventColumns;

/// Whether a condition holds: `and` is the least of its parts, `or` the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    False,
    Unknown,
    True,
}

impl Truth {
    /// False where this is true, and the other way round; unknown stays unknown.
    pub(crate) const fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl<T> Condition<T> {
    /// Holds the condition against `rows` rows; `test` appends the truth of a test for each.
    pub(crate) fn evaluate(&mut self, rows: usize, test: &mut impl FnMut(&mut T, &mut Vec<Truth>)) -> Vec<Truth> {
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
            Self::All(parts) => Self::fold(parts, rows, Truth::True, Truth::min, test),
            Self::Any(parts) => Self::fold(parts, rows, Truth::False, Truth::max, test),
        }
    }

    fn fold(
        parts: &mut [Self],
        rows: usize,
        neutral: Truth,
        join: fn(Truth, Truth) -> Truth,
        test: &mut impl FnMut(&mut T, &mut Vec<Truth>),
    ) -> Vec<Truth> {
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
pub(crate) struct CodeTest<'a> {
    test: &'a Condition<TextTest>,
    truths: Vec<Truth>,
}

impl<'a> CodeTest<'a> {
    pub(crate) const fn new(test: &'a Condition<TextTest>) -> Self {
        Self { test, truths: Vec::new() }
    }

    /// Appends the truth for each code.
    pub(crate) fn fill(&mut self, codes: &[u32], texts: &TextList, truths: &mut Vec<Truth>) {
        let known = self.truths.len();
        self.truths.extend((known..texts.len()).map(|code| self.test.holds(&texts[code])));
        truths.extend(codes.iter().map(|code| self.truths[*code as usize]));
    }
}

/// A test bound to the columns of a split.
#[derive(Debug)]
pub(crate) enum BoundTest<'a> {
    Dimension(Coder<'a>, CodeTest<'a>),
    Total(&'a AmountTest),
}

impl<'a> BoundTest<'a> {
    pub(crate) fn new(context: &'a Context<'a>, split: &'a EventColumns, test: &'a FieldTest) -> Self {
        match test {
            FieldTest::Dimension(dimension, test) => {
                Self::Dimension(Coder::new(context, split, dimension), CodeTest::new(test))
            }
            FieldTest::Total(test) => Self::Total(test),
        }
    }

    /// Appends the truth for each unit.
    pub(crate) fn fill(
        &mut self,
        split: &EventColumns,
        units: &Units<'_>,
        codes: &mut Vec<u32>,
        truths: &mut Vec<Truth>,
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
    pub(crate) fn grain(&self) -> Grain {
        match self {
            Self::Dimension(coder, _) => coder.grain(),
            Self::Total(_) => Grain::Row,
        }
    }
}
