//! Predicates on numbers and on texts, checked and compiled, and the regular expressions of a request.

use super::{ComparisonOperator, FilterFault, Operand, Predicate};
use crate::{Interrupt, dictionary};
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;
use std::collections::HashMap;
use std::sync::Arc;

/// A predicate on a number: the `total` of an event, or a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberPredicate {
    Equals(f64),
    NotEquals(f64),
    Compare(ComparisonOperator, f64),
}

impl NumberPredicate {
    /// Converts a predicate; an error if numbers cannot be tested by it, or if its operand is not a finite decimal
    /// number.
    pub(crate) fn new(predicate: &Predicate) -> Result<Self, FilterFault> {
        match predicate {
            Predicate::Equals(operand) => Ok(Self::Equals(number(operand)?)),
            Predicate::NotEquals(operand) => Ok(Self::NotEquals(number(operand)?)),
            Predicate::Compare(comparison, operand) => Ok(Self::Compare(*comparison, number(operand)?)),
            Predicate::Matches { .. } | Predicate::Empty | Predicate::NotEmpty => Err(FilterFault::NotAText),
        }
    }

    /// Returns whether a value passes. An absent value equals nothing and compares with nothing.
    pub(crate) fn holds(&self, value: Option<f64>) -> bool {
        match (self, value) {
            (Self::Equals(operand), Some(value)) => value == *operand,
            (Self::NotEquals(operand), Some(value)) => value != *operand,
            (Self::Compare(comparison, operand), Some(value)) => {
                value.partial_cmp(operand).is_some_and(|ordering| comparison.holds(ordering))
            }
            (Self::Equals(_) | Self::Compare(..), None) => false,
            (Self::NotEquals(_), None) => true,
        }
    }
}

fn number(operand: &Operand) -> Result<f64, FilterFault> {
    let number = match operand {
        Operand::Number(number) => Some(*number),
        Operand::Text(text) => decimal_number(text),
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        FilterFault::NotANumber(match operand {
            Operand::Number(number) => number.to_string(),
            Operand::Text(text) => text.clone(),
        })
    })
}

/// A predicate on the text of a dimension, with its regular expression compiled.
#[derive(Clone, Debug)]
pub(crate) enum TextPredicate {
    Equals(Operand),
    NotEquals(Operand),
    Compare(ComparisonOperator, Operand),
    Matches(CompiledPattern),
    Empty,
    NotEmpty,
}

impl TextPredicate {
    /// Converts a predicate, and compiles its regular expression; an error if the expression is refused, or if an
    /// operand is not finite.
    pub(crate) fn new(predicate: &Predicate, patterns: &mut CompiledPatterns) -> Result<Self, FilterFault> {
        if let Predicate::Equals(Operand::Number(number))
        | Predicate::NotEquals(Operand::Number(number))
        | Predicate::Compare(_, Operand::Number(number)) = predicate
            && !number.is_finite()
        {
            return Err(FilterFault::NotANumber(number.to_string()));
        }
        Ok(match predicate {
            Predicate::Equals(operand) => Self::Equals(operand.clone()),
            Predicate::NotEquals(operand) => Self::NotEquals(operand.clone()),
            Predicate::Compare(comparison, operand) => Self::Compare(*comparison, operand.clone()),
            Predicate::Matches { pattern, flags } => Self::Matches(patterns.compile(pattern, flags)?),
            Predicate::Empty => Self::Empty,
            Predicate::NotEmpty => Self::NotEmpty,
        })
    }

    /// Returns whether a text passes.
    pub(crate) fn holds(&self, value: &str) -> bool {
        match self {
            Self::Equals(operand) => equals(value, operand),
            Self::NotEquals(operand) => !equals(value, operand),
            Self::Compare(_, _) if value.is_empty() => false,
            Self::Compare(comparison, Operand::Text(text)) => comparison.holds(value.as_bytes().cmp(text.as_bytes())),
            Self::Compare(comparison, Operand::Number(number)) => decimal_number(value)
                .and_then(|value| value.partial_cmp(number))
                .is_some_and(|ordering| comparison.holds(ordering)),
            Self::Matches(pattern) => pattern.is_match(value),
            Self::Empty => value.is_empty(),
            Self::NotEmpty => !value.is_empty(),
        }
    }
}

fn equals(value: &str, operand: &Operand) -> bool {
    match operand {
        Operand::Text(text) => value == text,
        Operand::Number(number) => decimal_number(value) == Some(*number),
    }
}

/// Returns whether a condition on the field selects rows of the result instead of events: whether the field is a
/// built-in metric other than the event's own `total`.
///
/// ```
/// use trueup_core::query::is_result_metric;
///
/// assert!(is_result_metric("bookRate"));
/// assert!(!is_result_metric("total") && !is_result_metric("campaign"));
/// ```
#[must_use]
pub fn is_result_metric(name: &str) -> bool {
    name != "total" && dictionary::metric(name).is_some()
}

/// Returns the double of a decimal number `-?[0-9]+(\.[0-9]+)?`, or `None` for any other text.
pub(crate) fn decimal_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal = match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    };
    if is_decimal { text.parse().ok() } else { None }
}

/// The largest number of characters in a regular expression.
pub const MAX_PATTERN_CHARS: usize = 1_000;
/// The largest number of bytes that an automaton (NFA) of a compiled regular expression may take.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The largest number of bytes that the compiled regular expressions of one request may take together.
pub const MAX_PATTERNS_BYTES: usize = 1 << 24;

/// The bytes that an automaton of a small compiled regular expression may take in each thread that matches it. The
/// automata are built as texts are matched, and are discarded and built again when they do not fit.
pub(super) const MIN_CACHE_BYTES: usize = 1 << 17;
/// The bytes that an automaton of any compiled regular expression may take in each thread that matches it.
const MAX_CACHE_BYTES: usize = 1 << 21;
/// The bytes that an automaton may take in each thread for each byte of a compiled regular expression. With less than
/// about a quarter of that, the expression would be matched without an automaton, which takes many times as long.
const CACHE_FACTOR: usize = 4;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern(pub(super) Arc<Regex>);

impl CompiledPattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The compiled regular expressions of one request.
///
/// Each distinct expression is compiled once, although both the reader of a request and the query need it. An
/// expression has at most [`MAX_PATTERN_CHARS`] characters, and each of its automata takes at most
/// [`MAX_PATTERN_BYTES`]; all expressions together take at most [`MAX_PATTERNS_BYTES`] once they are compiled. While a
/// thread matches an expression, each automaton of the expression may take 128 KiB more in that thread, or four times
/// the bytes of the compiled expression if that is more, but at most 2 MiB.
///
/// ```
/// use trueup_core::Interrupt;
/// use trueup_core::query::{CompiledPatterns, FilterLimits, Predicate};
///
/// let mut limits = FilterLimits::with_patterns(CompiledPatterns::within(Interrupt::default()));
/// let predicate = Predicate::Matches { pattern: "^spring".to_owned(), flags: "i".to_owned() };
/// limits.check_predicate("campaign", &predicate)?;
/// # Ok::<(), trueup_core::query::FilterFault>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CompiledPatterns {
    interrupt: Interrupt,
    pub(super) compiled: HashMap<(String, Flags), CompiledPattern>,
    /// The bytes that all compiled expressions take.
    pub(super) bytes: usize,
}

/// A set of flags: bit `i` is the flag at index `i` of [`FLAGS`].
type Flags = u8;

/// The flags that change matching. The flag `u` does not, because matching is always Unicode.
const FLAGS: [char; 4] = ['i', 'm', 's', 'x'];

impl CompiledPatterns {
    /// Returns an empty set. Once `interrupt` fires, no expression is compiled any more.
    #[must_use]
    pub fn within(interrupt: Interrupt) -> Self {
        Self { interrupt, ..Self::default() }
    }

    /// Returns the compiled expression, and compiles it if it is new.
    pub(crate) fn compile(&mut self, pattern: &str, flags: &str) -> Result<CompiledPattern, FilterFault> {
        let found = pattern.chars().count();
        if found > MAX_PATTERN_CHARS {
            return Err(FilterFault::PatternTooLong { found, limit: MAX_PATTERN_CHARS });
        }
        let key = (pattern.to_owned(), read_flags(flags)?);
        if let Some(known) = self.compiled.get(&key) {
            return Ok(known.clone());
        }
        self.interrupt.check().map_err(FilterFault::Interrupted)?;
        let regex = build(pattern, key.1)?;
        let bytes = self.bytes.saturating_add(regex.memory_usage());
        if bytes > MAX_PATTERNS_BYTES {
            return Err(FilterFault::PatternsTooLarge { limit: MAX_PATTERNS_BYTES });
        }
        self.bytes = bytes;
        let compiled = CompiledPattern(Arc::new(regex));
        self.compiled.insert(key, compiled.clone());
        Ok(compiled)
    }
}

impl PartialEq for CompiledPatterns {
    /// Returns `true`: the set is a cache, so that queries with equal filters are equal.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn read_flags(flags: &str) -> Result<Flags, FilterFault> {
    flags.chars().try_fold(0, |set, flag| match FLAGS.iter().position(|known| *known == flag) {
        Some(index) => Ok(set | 1 << index),
        None if flag == 'u' => Ok(set),
        None => Err(FilterFault::UnknownFlag(flag)),
    })
}

fn build(pattern: &str, flags: Flags) -> Result<Regex, FilterFault> {
    let [ignores_case, multi_line, dot_is_all, spaced] = std::array::from_fn(|index| flags >> index & 1 == 1);
    let syntax = syntax::Config::new()
        .case_insensitive(ignores_case)
        .multi_line(multi_line)
        .dot_matches_new_line(dot_is_all)
        .ignore_whitespace(spaced);
    let build = |cache_bytes| {
        let config = Config::new().nfa_size_limit(Some(MAX_PATTERN_BYTES)).hybrid_cache_capacity(cache_bytes);
        let built = Regex::builder().configure(config).syntax(syntax).build(pattern);
        built.map_err(|error| bad_pattern(pattern, &error))
    };
    let regex = build(MIN_CACHE_BYTES)?;
    // The size of an expression is known only once it is compiled.
    match regex.memory_usage().saturating_mul(CACHE_FACTOR).min(MAX_CACHE_BYTES) {
        cache_bytes if cache_bytes > MIN_CACHE_BYTES => build(cache_bytes),
        _ => Ok(regex),
    }
}

fn bad_pattern(pattern: &str, error: &BuildError) -> FilterFault {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match (error.size_limit(), error.syntax_error()) {
        (Some(limit), _) => format!("it would take more than {limit} bytes; use shorter repetitions"),
        (None, Some(error)) => error.to_string(),
        (None, None) => error.to_string(),
    };
    // A syntax error spans several lines and repeats the pattern. Its last line gives the reason.
    let reason = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&text);
    FilterFault::BadPattern { pattern: line(pattern), reason: line(reason) }
}
