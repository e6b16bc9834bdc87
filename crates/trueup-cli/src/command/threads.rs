//! Numbers of threads, as the command line takes them.

use std::num::NonZeroUsize;

/// Reads a whole number of threads, 1 or more.
pub(super) fn parse(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number of threads, 1 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn at_least_one() {
        assert_eq!(parse("8").map(usize::from), Ok(8));
        for text in ["0", "-1", "", "two", "1.5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
