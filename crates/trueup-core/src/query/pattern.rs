//! Regular expressions of a request, compiled.

#[cfg(test)]
mod tests;

use super::FilterFault;
use crate::Interrupt;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;
use std::collections::HashMap;
use std::sync::Arc;

/// A regular expression may have so many characters.
pub const MAX_PATTERN_CHARS: usize = 1_000;
/// A compiled regular expression may take so many bytes.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The regular expressions of one request may take so many bytes together, compiled.
pub const MAX_PATTERNS_BYTES: usize = 1 << 24;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern(Arc<Regex>);

impl CompiledPattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The regular expressions of one request: each distinct one is compiled once, for all who read the request's filters, as long as they
/// do not take more than they may.
#[derive(Clone, Debug, Default)]
pub struct CompiledPatterns {
    interrupt: Interrupt,
    compiled: HashMap<(String, Flags), CompiledPattern>,
    /// What all of them take.
    bytes: usize,
}

/// The flags that are set, each a bit by its place in [`FLAGS`].
type Flags = u8;

/// `u` changes nothing: matching is always Unicode.
const FLAGS: [char; 4] = ['i', 'm', 's', 'x'];

impl CompiledPatterns {
    /// None yet; none is compiled any more once the interrupt says so.
    #[must_use]
    pub fn within(interrupt: Interrupt) -> Self {
        Self { interrupt, ..Self::default() }
    }

    /// The expression, compiled now or before.
    pub(crate) fn compile(&mut self, pattern: &str, flags: &str) -> Result<CompiledPattern, FilterFault> {
        let found = pattern.chars().count();
        if found > MAX_PATTERN_CHARS {
            return Err(FilterFault::PatternTooLong { found, limit: MAX_PATTERN_CHARS });
        }
        let key = (pattern.to_owned(), read(flags)?);
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
    /// What is compiled says nothing that the filters do not.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn read(flags: &str) -> Result<Flags, FilterFault> {
    flags.chars().try_fold(0, |set, flag| match FLAGS.iter().position(|known| *known == flag) {
        Some(place) => Ok(set | 1 << place),
        None if flag == 'u' => Ok(set),
        None => Err(FilterFault::UnknownFlag(flag)),
    })
}

fn build(pattern: &str, flags: Flags) -> Result<Regex, FilterFault> {
    let [ignores_case, multi_line, dot_is_all, spaced] = std::array::from_fn(|place| flags >> place & 1 == 1);
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
    // A syntax error draws the pattern on lines of its own; the last line says what is wrong.
    let reason = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&text);
    FilterFault::BadPattern { pattern: line(pattern), reason: line(reason) }
}
