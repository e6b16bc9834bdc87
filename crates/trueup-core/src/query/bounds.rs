//! How large the filters of a request may be.

#[cfg(test)]
mod tests;

use super::check::{NumberPredicate, TextPredicate, is_number};
use super::{CompiledPatterns, Filter, FilterFault, Predicate};
use std::slice::from_ref;

/// An expression may be nested so deep: a test has depth 1, each and, or, not around it adds 1.
pub const MAX_FILTER_DEPTH: usize = 32;
/// The filters of one request may have so many operands: all tests, and all and, or, not but the outermost of an expression.
pub const MAX_FILTER_OPERANDS: usize = 1_000;

/// What the filters of one request have used of their limits, counted while they are read.
///
/// An expression is one value of one parameter. The `and` of different parameters and the `or` of a parameter's values, which
/// nobody wrote, are neither levels nor operands.
///
/// ```
/// use trueup_core::query::{FilterLimits, MAX_FILTER_DEPTH};
///
/// let mut limits = FilterLimits::default();
/// limits.count_join(1)?;
/// limits.count_condition()?;
/// assert!(limits.count_join(MAX_FILTER_DEPTH).is_err());
/// # Ok::<(), trueup_core::query::FilterFault>(())
/// ```
#[derive(Debug, Default)]
pub struct FilterLimits {
    operands: usize,
    patterns: CompiledPatterns,
}

impl FilterLimits {
    /// Nothing is used yet; no regular expression is compiled any more once those `patterns` are not.
    #[must_use]
    pub const fn with_patterns(patterns: CompiledPatterns) -> Self {
        Self { operands: 0, patterns }
    }

    /// The regular expressions that were compiled: a query that [has them](super::EventsQuery::patterns) compiles none of them again.
    #[must_use]
    pub fn into_patterns(self) -> CompiledPatterns {
        self.patterns
    }

    /// Checks a test on the field `name` as a query would.
    ///
    /// # Errors
    /// The fault, if no query accepts the test on that field.
    pub fn check_predicate(&mut self, name: &str, predicate: &Predicate) -> Result<(), FilterFault> {
        if is_number(name) {
            NumberPredicate::new(predicate).map(|_| ())
        } else {
            TextPredicate::new(predicate, &mut self.patterns).map(|_| ())
        }
    }

    /// Counts a test of a field.
    ///
    /// # Errors
    /// It is one operand too many.
    pub const fn count_condition(&mut self) -> Result<(), FilterFault> {
        self.operands += 1;
        if self.operands > MAX_FILTER_OPERANDS {
            return Err(FilterFault::TooManyOperands { limit: MAX_FILTER_OPERANDS });
        }
        Ok(())
    }

    /// Counts an and, or, not that stands `depth` levels deep in its expression, the outermost 1.
    ///
    /// # Errors
    /// What it joins stands too deep, or it is one operand too many.
    pub const fn count_join(&mut self, depth: usize) -> Result<(), FilterFault> {
        // Whatever it joins stands one deeper.
        if depth >= MAX_FILTER_DEPTH {
            return Err(FilterFault::TooDeep { limit: MAX_FILTER_DEPTH });
        }
        // The outermost is nobody's operand.
        if depth == 1 { Ok(()) } else { self.count_condition() }
    }
}

impl Filter {
    /// Checks the filters of a query, joined. The error names the first field where a bound is passed.
    ///
    /// Which joins were written can no longer be seen, so an outermost `All`, and an `Any` that is outermost or in it, are taken
    /// for those that nobody wrote.
    pub(crate) fn check_bounds(&self) -> Result<(), (&str, FilterFault)> {
        let mut limits = FilterLimits::default();
        let parameters = if let Self::All(parts) = self { parts.as_slice() } else { from_ref(self) };
        for parameter in parameters {
            let values = if let Self::Any(parts) = parameter { parts.as_slice() } else { from_ref(parameter) };
            values.iter().try_for_each(|value| value.count(&mut limits, 1))?;
        }
        Ok(())
    }

    /// Counts this and all below; stops at the first bound that is passed, so that no filter can exhaust the stack.
    fn count(&self, limits: &mut FilterLimits, depth: usize) -> Result<(), (&str, FilterFault)> {
        let parts = match self {
            Self::Field { name, .. } => return limits.count_condition().map_err(|fault| (name.as_str(), fault)),
            Self::All(parts) | Self::Any(parts) => parts.as_slice(),
            Self::Not(part) => from_ref(&**part),
        };
        limits.count_join(depth).map_err(|fault| (self.first_field(), fault))?;
        parts.iter().try_for_each(|part| part.count(limits, depth + 1))
    }

    fn first_field(&self) -> &str {
        let mut first = self;
        loop {
            first = match first {
                Self::Field { name, .. } => return name,
                Self::Not(part) => part,
                Self::All(parts) | Self::Any(parts) => match parts.first() {
                    Some(part) => part,
                    None => return "",
                },
            };
        }
    }
}
