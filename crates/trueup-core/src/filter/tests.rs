//! The compiled predicates.

use super::predicate::MIN_CACHE_BYTES;
use super::*;
use crate::Interrupt;
use regex_automata::Input;
use regex_automata::meta::{Config, Regex};

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

#[test]
fn a_thread_matches_a_small_pattern_with_little_memory() {
    // The automaton has a state for each set of places among the last 15 that have one of the letters a to m.
    let pattern = CompiledPatterns::default().compile("[a-m][a-z]{14}[0-9A-F]", "").unwrap();
    let mut random = 1_usize;
    let mut letter = || {
        random = (random * 1_103_515_245 + 12_345) % (1 << 31);
        char::from(b"abcdefghijklmnopqrstuvwxyz"[(random >> 16) % 26])
    };
    let mut cache = pattern.0.create_cache();
    for _ in 0..100 {
        let text: String = (0..400).map(|_| letter()).collect();
        assert_eq!(pattern.0.search_half_with(&mut cache, &Input::new(&text)), None);
    }
    assert!(cache.memory_usage() < 2 * MIN_CACHE_BYTES, "{}", cache.memory_usage());
}

#[test]
fn no_pattern_is_too_large_for_its_automata() {
    for pattern in ["a.*e", r"\w{3}", r"^\w+ \w+-\w+ \w+ \w+$", r"\w{20}"] {
        let compiled = CompiledPatterns::default().compile(pattern, "").unwrap();
        // The default size of the caches is enough for every pattern that compiles. An automaton that is left out would
        // not take its first bytes.
        let config = Config::new().nfa_size_limit(Some(MAX_PATTERN_BYTES));
        let expected = Regex::builder().configure(config).build(pattern).unwrap();
        let bytes = |regex: &Regex| regex.create_cache().memory_usage();
        assert_eq!(bytes(&compiled.0), bytes(&expected), "{pattern}");
    }
}
