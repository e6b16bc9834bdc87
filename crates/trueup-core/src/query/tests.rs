//! The limits on filters.

use super::*;

/// Returns a condition on `name` inside `levels` levels of `not`.
fn nested(name: &str, levels: usize) -> Filter {
    (0..levels).fold(Filter::equals(name, "x"), |filter, _| Filter::Not(Box::new(filter)))
}

fn conditions(name: &str, count: usize) -> Vec<Filter> {
    (0..count).map(|number| Filter::equals(name, number.to_string())).collect()
}

const TOO_DEEP: FilterFault = FilterFault::TooDeep { limit: MAX_FILTER_DEPTH };
const TOO_MANY: FilterFault = FilterFault::TooManyOperands { limit: MAX_FILTER_OPERANDS };

#[test]
fn each_expression_has_its_own_depth() {
    let deepest = || nested("campaign", MAX_FILTER_DEPTH - 1);
    assert_eq!(deepest().check_size(), Ok(()));
    assert_eq!(nested("campaign", MAX_FILTER_DEPTH).check_size(), Err(("campaign", TOO_DEEP)));
    // The joins of parameters and of their values are not levels.
    let joined = Filter::Any(vec![deepest(), deepest()]).and(Filter::equals("zip", "1"));
    assert_eq!(joined.check_size(), Ok(()));
    // The error names the field at fault, not the first field.
    let deeper = Filter::equals("zip", "1").and(nested("campaign", MAX_FILTER_DEPTH));
    assert_eq!(deeper.check_size(), Err(("campaign", TOO_DEEP)));
}

#[test]
fn operands_are_counted_over_the_whole_request() {
    assert_eq!(Filter::Any(conditions("zip", MAX_FILTER_OPERANDS)).check_size(), Ok(()));
    let both = Filter::Any(conditions("zip", MAX_FILTER_OPERANDS)).and(Filter::equals("agent", "x"));
    assert_eq!(both.check_size(), Err(("agent", TOO_MANY)));
    // A join below the outermost one is an operand too.
    let written = Filter::All(vec![Filter::All(vec![Filter::Any(conditions("zip", MAX_FILTER_OPERANDS - 1))])]);
    assert_eq!(written.check_size(), Ok(()));
    let written = Filter::All(vec![Filter::All(vec![Filter::Any(conditions("zip", MAX_FILTER_OPERANDS))])]);
    assert_eq!(written.check_size(), Err(("zip", TOO_MANY)));
}

#[test]
fn joins_without_operands_are_within_the_limits() {
    assert_eq!(Filter::All(Vec::new()).check_size(), Ok(()));
    assert_eq!(Filter::Not(Box::new(Filter::Any(Vec::new()))).check_size(), Ok(()));
}
