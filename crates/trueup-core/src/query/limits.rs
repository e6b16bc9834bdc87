//! The limits on the size of a request's filters.

use super::{CompiledPatterns, Filter, FilterFault, Predicate, is_result_metric};
use crate::definitions::Definitions;
use crate::filter::{NumberPredicate, TextPredicate};
use std::slice::from_ref;

/// The largest depth of an expression. A predicate has depth 1; each `and`, `or` or `not` around it adds 1.
pub const MAX_FILTER_DEPTH: usize = 32;
/// The largest number of operands in all filters of one request. Every predicate is an operand, and so is every `and`,
/// `or` or `not` that is not the outermost one of its expression.
pub const MAX_FILTER_OPERANDS: usize = 1_000;

/// The size of one request's filters so far, counted while the filters are read, and their compiled regular
/// expressions.
///
/// # Expressions
/// One value of one request parameter is an expression. The `and` between parameters and the `or` between the values
/// of a parameter are implicit: they count neither as levels nor as operands.
///
/// # Why filters are counted twice
/// A reader of request text counts with this type while it reads, because a hostile text must be refused before it is
/// held whole, with the path of the fault in its message. A query counts its filters again with this type, because a
/// filter may also be built in code.
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
    definitions: Definitions,
}

impl FilterLimits {
    /// Starts at zero with the given patterns. Once their interrupt fires, no further regular expression is compiled.
    #[must_use]
    pub fn with_patterns(patterns: CompiledPatterns) -> Self {
        Self { patterns, ..Self::default() }
    }

    /// Recognizes the metrics of `definitions`, too. Any other name that the dictionary does not have is that of a
    /// dimension.
    #[must_use]
    pub fn definitions(self, definitions: &Definitions) -> Self {
        Self { definitions: definitions.clone(), ..self }
    }

    /// Returns whether a condition on the field selects rows of the result instead of events: whether the field is a
    /// metric other than the event's own `total`.
    #[must_use]
    pub fn is_result_metric(&self, name: &str) -> bool {
        is_result_metric(name) || self.definitions.metric(name).is_some()
    }

    /// Returns the regular expressions that were compiled. A query that [receives them](super::EventsQuery::patterns)
    /// does not compile them again.
    #[must_use]
    pub fn into_patterns(self) -> CompiledPatterns {
        self.patterns
    }

    /// Checks a predicate on the field `name` as a query would, and compiles its regular expression.
    ///
    /// # Errors
    /// Returns the fault if no query accepts the predicate on that field, [`FilterFault::PatternsTooLarge`] if the
    /// regular expressions so far take too much memory together, and [`FilterFault::Interrupted`] if the interrupt of
    /// the patterns has fired before the expression is compiled.
    pub fn check_predicate(&mut self, name: &str, predicate: &Predicate) -> Result<(), FilterFault> {
        if name == "total" || self.is_result_metric(name) {
            NumberPredicate::new(predicate).map(|_| ())
        } else {
            TextPredicate::new(predicate, &mut self.patterns).map(|_| ())
        }
    }

    /// Counts a condition on a field.
    ///
    /// # Errors
    /// Returns [`FilterFault::TooManyOperands`] if the condition is an operand beyond [`MAX_FILTER_OPERANDS`].
    pub const fn count_condition(&mut self) -> Result<(), FilterFault> {
        self.operands += 1;
        if self.operands > MAX_FILTER_OPERANDS {
            return Err(FilterFault::TooManyOperands { limit: MAX_FILTER_OPERANDS });
        }
        Ok(())
    }

    /// Counts an `and`, `or` or `not` at `depth` in its expression; the outermost one has depth 1.
    ///
    /// # Errors
    /// Returns [`FilterFault::TooDeep`] if its operands would be deeper than [`MAX_FILTER_DEPTH`], and
    /// [`FilterFault::TooManyOperands`] if it is itself an operand beyond [`MAX_FILTER_OPERANDS`].
    pub const fn count_join(&mut self, depth: usize) -> Result<(), FilterFault> {
        // Its operands are one level deeper.
        if depth >= MAX_FILTER_DEPTH {
            return Err(FilterFault::TooDeep { limit: MAX_FILTER_DEPTH });
        }
        // The outermost join is not an operand of anything.
        if depth == 1 { Ok(()) } else { self.count_condition() }
    }
}

impl Filter {
    /// Checks the size of a query's filters, joined by `and`. The error names the first field beyond a limit.
    ///
    /// A filter does not say which of its joins were implicit in a request. An outermost `All` is therefore taken for
    /// the implicit `and` between parameters, and an `Any` that is outermost or directly in that `All` for the
    /// implicit `or` between values.
    pub(crate) fn check_size(&self) -> Result<(), (&str, FilterFault)> {
        let mut limits = FilterLimits::default();
        let parameters = if let Self::All(parts) = self { parts.as_slice() } else { from_ref(self) };
        for parameter in parameters {
            let values = if let Self::Any(parts) = parameter { parts.as_slice() } else { from_ref(parameter) };
            values.iter().try_for_each(|value| value.count(&mut limits, 1))?;
        }
        Ok(())
    }

    /// Counts this condition and its operands. Stops at the first limit, so that no filter can exhaust the stack.
    fn count(&self, limits: &mut FilterLimits, depth: usize) -> Result<(), (&str, FilterFault)> {
        let parts = match self {
            Self::Field { name, .. } => return limits.count_condition().map_err(|fault| (name.as_str(), fault)),
            Self::All(parts) | Self::Any(parts) => parts.as_slice(),
            Self::Not(part) => from_ref(&**part),
        };
        limits.count_join(depth).map_err(|fault| (self.first_field(), fault))?;
        parts.iter().try_for_each(|part| part.count(limits, depth + 1))
    }

    /// Returns the first field that the filter names; the empty text if it names none.
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
