//! The limits on filters, and the compiled predicates.

use super::predicate::decimal_number;
use super::*;
use crate::{Interrupt, Interruption};

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

#[test]
fn only_plain_decimal_numbers_are_read() {
    assert_eq!(decimal_number("-12.50"), Some(-12.5));
    assert_eq!(decimal_number("007"), Some(7.0));
    for text in ["", "-", "+1", "1.", ".5", "1e3", "٣", "1 ", "NaN", "1.2.3"] {
        assert_eq!(decimal_number(text), None, "{text}");
    }
}

#[test]
fn a_pattern_is_compiled_once() {
    let mut patterns = CompiledPatterns::default();
    for flags in ["", "u", "uu"] {
        assert!(patterns.compile(r"\w{20}", flags).unwrap().is_match("abcdefghijklmnopqrstuvwxyz"));
    }
    assert_eq!(patterns.compiled.len(), 1);
    let bytes = patterns.bytes;
    assert!(bytes > 0);
    assert!(patterns.compile("ABC", "i").unwrap().is_match("xabc"));
    assert!(!patterns.compile("ABC", "").unwrap().is_match("xabc"));
    assert_eq!(patterns.compiled.len(), 3);
    assert!(patterns.bytes > bytes);
    patterns.compile("ABC", "iui").unwrap();
    assert_eq!(patterns.compiled.len(), 3);
}

#[test]
fn each_flag_changes_matching_as_documented() {
    let mut patterns = CompiledPatterns::default();
    let mut matches = |pattern: &str, flags: &str, text: &str| patterns.compile(pattern, flags).unwrap().is_match(text);
    assert!(matches("^b", "m", "a\nb") && !matches("^b", "", "a\nb"));
    assert!(matches("a.b", "s", "a\nb") && !matches("a.b", "", "a\nb"));
    assert!(matches("a b # c", "x", "ab") && !matches("a b # c", "", "ab"));
    assert!(matches("É", "i", "é") && matches(r"^\w$", "", "é") && matches("", "", ""));
}

#[test]
fn the_patterns_of_a_request_share_one_limit() {
    let mut patterns = CompiledPatterns::default();
    // Each pattern alone is within the limit of one pattern.
    let fault = (0..1_000).find_map(|number| patterns.compile(&format!(r"{number}\w{{20}}"), "").err()).unwrap();
    assert_eq!(fault, FilterFault::PatternsTooLarge { limit: MAX_PATTERNS_BYTES });
    assert!(patterns.bytes <= MAX_PATTERNS_BYTES);
    let work = patterns.compiled.len();
    assert!((10..200).contains(&work), "{work} patterns were compiled");
    // The patterns compiled so far stay usable, and a thousand plain patterns fit.
    patterns.compile(r"0\w{20}", "").unwrap();
    let mut plain = CompiledPatterns::default();
    (0..1_000).for_each(|number| drop(plain.compile(&format!("campaign {number}"), "i").unwrap()));
}

#[test]
fn nothing_is_compiled_after_an_interrupt() {
    let interrupt = Interrupt::default();
    let mut patterns = CompiledPatterns::within(interrupt.clone());
    patterns.compile("a", "").unwrap();
    interrupt.cancel();
    assert_eq!(patterns.compile("b", "").unwrap_err(), FilterFault::Interrupted(Interruption::Canceled));
    assert_eq!(patterns.compiled.len(), 1);
    patterns.compile("a", "").unwrap();
}
