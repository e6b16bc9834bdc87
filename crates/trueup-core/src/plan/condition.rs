//! Conditions: tests joined by and, or and not, in three-valued logic.

/// Tests joined by and, or, not.
#[derive(Clone, Debug)]
pub(crate) enum Condition<T> {
    All(Vec<Condition<T>>),
    Any(Vec<Condition<T>>),
    Not(Box<Condition<T>>),
    Test(T),
}

/// Whether a condition holds. `and` is the minimum of its parts, `or` the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ternary {
    False,
    /// There is no value to test: the denominator of a ratio is 0, or spend does not have the dimension.
    Unknown,
    True,
}

impl Ternary {
    /// Swaps true and false; unknown stays unknown.
    const fn not(self) -> Self {
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
    /// Returns every test, in order.
    pub(crate) fn leaves(&self) -> Vec<&T> {
        match self {
            Self::Test(test) => vec![test],
            Self::Not(part) => part.leaves(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Returns a condition of the same structure whose tests `make` has converted.
    pub(crate) fn map<'a, U>(&'a self, make: &mut impl FnMut(&'a T) -> U) -> Condition<U> {
        match self {
            Self::Test(test) => Condition::Test(make(test)),
            Self::Not(part) => Condition::Not(Box::new(part.map(make))),
            Self::All(parts) => Condition::All(parts.iter().map(|part| part.map(make)).collect()),
            Self::Any(parts) => Condition::Any(parts.iter().map(|part| part.map(make)).collect()),
        }
    }

    /// Returns whether the condition holds for one value, given whether each test does; no test may be unknown.
    pub(super) fn holds(&self, test: &impl Fn(&T) -> bool) -> bool {
        match self {
            Self::Test(leaf) => test(leaf),
            Self::Not(part) => !part.holds(test),
            Self::All(parts) => parts.iter().all(|part| part.holds(test)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(test)),
        }
    }

    /// Evaluates the condition for `rows` rows; `test` appends the result of one test for each row.
    pub(crate) fn evaluate(&mut self, rows: usize, test: &mut impl FnMut(&mut T, &mut Vec<Ternary>)) -> Vec<Ternary> {
        match self {
            Self::Test(leaf) => {
                let mut results = Vec::with_capacity(rows);
                test(leaf, &mut results);
                results
            }
            Self::Not(part) => {
                let mut results = part.evaluate(rows, test);
                results.iter_mut().for_each(|result| *result = result.not());
                results
            }
            Self::All(parts) => Self::fold(parts, rows, Ternary::True, Ternary::min, test),
            Self::Any(parts) => Self::fold(parts, rows, Ternary::False, Ternary::max, test),
        }
    }

    /// Joins the results of parts, beginning with `neutral`.
    fn fold(
        parts: &mut [Self],
        rows: usize,
        neutral: Ternary,
        join: fn(Ternary, Ternary) -> Ternary,
        test: &mut impl FnMut(&mut T, &mut Vec<Ternary>),
    ) -> Vec<Ternary> {
        let mut results = vec![neutral; rows];
        for part in parts {
            let other = part.evaluate(rows, test);
            results.iter_mut().zip(other).for_each(|(result, other)| *result = join(*result, other));
        }
        results
    }
}
