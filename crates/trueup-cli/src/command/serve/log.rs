//! The log of the service, on stderr.

use crate::exit::Failure;
use std::env::{self, VarError};
use std::io;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// The environment variable with the log level, used if the option is absent.
const VARIABLE: &str = "RUST_LOG";

/// Starts logging with the level of the option, of the variable, or else `info`.
pub(super) fn start(option: Option<Targets>) -> Result<(), Failure> {
    let targets = match option {
        Some(targets) => targets,
        None => from_variable()?,
    };
    let lines = fmt::layer().with_writer(io::stderr);
    tracing_subscriber::registry().with(lines).with(targets).try_init().map_err(Failure::fault)
}

/// Parses a level, or levels of modules. Any other word is refused, because `tracing` would take it for a module to log
/// in full.
pub(super) fn parse(text: &str) -> Result<Targets, String> {
    let is_clear = |part: &str| part.contains('=') || !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    text.split(',').all(is_clear).then(|| text.parse().ok()).flatten().ok_or_else(|| {
        format!(
            "expected a level such as `info`, or levels of modules such as `warn,trueup_server=debug`, but found `{text}`"
        )
    })
}

fn from_variable() -> Result<Targets, Failure> {
    let refused = |why| Failure::usage(format!("the variable {VARIABLE}: {why}"));
    match env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => parse(&text).map_err(refused),
        Err(VarError::NotUnicode(text)) => parse(&text.to_string_lossy()).map_err(refused),
        Ok(_) | Err(VarError::NotPresent) => Ok(Targets::new().with_default(LevelFilter::INFO)),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn levels_are_parsed_and_other_words_refused() {
        for text in ["info", "WARN", "off", "warn,trueup_server=debug", "trueup=trace"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in ["loud", "", "info,", "info,trueup_server", "trueup=loud"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
