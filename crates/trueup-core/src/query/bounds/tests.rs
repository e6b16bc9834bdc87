use super::{MAX_FILTER_DEPTH, MAX_FILTER_OPERANDS};
use crate::query::{Filter, FilterFault};

/// `levels` of not around a test.
fn nested(name: &str, levels: usize) -> Filter {
    (0..levels).fold(Filter::equals(name, "x"), |filter, _| Filter::Not(Box::new(filter)))
}

fn tests(name: &str, count: usize) -> Vec<Filter> {
    (0..count).map(|at| Filter::equals(name, at.to_string())).collect()
}

const TOO_DEEP: FilterFault = FilterFault::TooDeep { limit: MAX_FILTER_DEPTH };
const TOO_MANY: FilterFault = FilterFault::TooManyOperands { limit: MAX_FILTER_OPERANDS };

#[test]
fn depth_is_that_of_each_expression() {
    let deepest = || nested("campaign", MAX_FILTER_DEPTH - 1);
    assert_eq!(deepest().check_bounds(), Ok(()));
    assert_eq!(nested("campaign", MAX_FILTER_DEPTH).check_bounds(), Err(("campaign", TOO_DEEP)));
    // The joins of parameters and of their values are no levels.
    let joined = Filter::Any(vec![deepest(), deepest()]).and(Filter::equals("zip", "1"));
    assert_eq!(joined.check_bounds(), Ok(()));
    // The field at fault is named, not the first one.
    let deeper = Filter::equals("zip", "1").and(nested("campaign", MAX_FILTER_DEPTH));
    assert_eq!(deeper.check_bounds(), Err(("campaign", TOO_DEEP)));
}

#[test]
fn operands_are_those_of_the_request() {
    assert_eq!(Filter::Any(tests("zip", MAX_FILTER_OPERANDS)).check_bounds(), Ok(()));
    let both = Filter::Any(tests("zip", MAX_FILTER_OPERANDS)).and(Filter::equals("agent", "x"));
    assert_eq!(both.check_bounds(), Err(("agent", TOO_MANY)));
    // A join below the outermost is an operand too.
    let written = Filter::All(vec![Filter::All(vec![Filter::Any(tests("zip", MAX_FILTER_OPERANDS - 1))])]);
    assert_eq!(written.check_bounds(), Ok(()));
    let written = Filter::All(vec![Filter::All(vec![Filter::Any(tests("zip", MAX_FILTER_OPERANDS))])]);
    assert_eq!(written.check_bounds(), Err(("zip", TOO_MANY)));
}

#[test]
fn nothing_joined_is_within_bounds() {
    assert_eq!(Filter::All(Vec::new()).check_bounds(), Ok(()));
    assert_eq!(Filter::Not(Box::new(Filter::Any(Vec::new()))).check_bounds(), Ok(()));
}
