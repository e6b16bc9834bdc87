//! The log, on stderr.

use crate::exit::Failure;
use std::env::{self, VarError};
use std::io;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// The variable that says what is logged unless an option does.
const VARIABLE: &str = "RUST_LOG";

/// Logs from here on what is asked for.
pub(super) fn begin(asked: Option<Targets>) -> Result<(), Failure> {
    let wanted = match asked {
        Some(wanted) => wanted,
        None => by_variable()?,
    };
    let lines = fmt::layer().with_writer(io::stderr);
    tracing_subscriber::registry().with(lines).with(wanted).try_init().map_err(Failure::fault)
}

/// Reads a level, or levels of parts. A word that is neither would be taken for a part of which everything is logged.
pub(super) fn parse(text: &str) -> Result<Targets, String> {
    let is_clear = |part: &str| part.contains('=') || !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    text.split(',').all(is_clear).then(|| text.parse().ok()).flatten().ok_or_else(|| {
        format!(
            "expected a level such as `info`, or levels of parts such as `warn,trueup_server=debug`, but found `{text}`"
        )
    })
}

fn by_variable() -> Result<Targets, Failure> {
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
    fn levels() {
        for text in ["info", "WARN", "off", "warn,trueup_server=debug", "trueup=trace"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in ["loud", "", "info,", "info,trueup_server", "trueup=loud"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
