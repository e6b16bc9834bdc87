//! The regular expressions of a request, compiled.

use super::FilterFault;
use crate::Interrupt;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;
use std::collections::HashMap;
use std::sync::Arc;

/// The largest number of characters in a regular expression.
pub const MAX_PATTERN_CHARS: usize = 1_000;
/// The largest number of bytes that an automaton (NFA) of a compiled regular expression may take.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The largest number of bytes that the compiled regular expressions of one request may take together.
pub const MAX_PATTERNS_BYTES: usize = 1 << 24;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern(Arc<Regex>);

impl CompiledPattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The compiled regular expressions of one request.
///
/// Each distinct expression is compiled once, although both the reader of a request and the query need it. An
/// expression has at most [`MAX_PATTERN_CHARS`] characters, and each of its automata takes at most
/// [`MAX_PATTERN_BYTES`]; all expressions together take at most [`MAX_PATTERNS_BYTES`].
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
    compiled: HashMap<(String, Flags), CompiledPattern>,
    /// The memory that all compiled expressions take.
    bytes: usize,
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
    let config = Config::new().nfa_size_limit(Some(MAX_PATTERN_BYTES));
    let built = Regex::builder().configure(config).syntax(syntax).build(pattern);
    built.map_err(|error| bad_pattern(pattern, &error))
}

fn bad_pattern(pattern: &str, error: &BuildError) -> FilterFault {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match (error.size_limit(), error.syntax_error()) {
        (Some(limit), _) => format!("compiled, it is larger than {limit} bytes"),
        (None, Some(error)) => error.to_string(),
        (None, None) => error.to_string(),
    };
    // A syntax error spans several lines and repeats the pattern. Its last line gives the reason.
    let reason = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&text);
    FilterFault::BadPattern { pattern: line(pattern), reason: line(reason) }
}

#[cfg(test)]
mod tests;
