//! Numbers of threads, as the command line takes them.

use std::num::NonZeroUsize;

/// More threads than any machine has a use for; what starts far more takes memory and time for nothing.
pub(super) const MOST: usize = 1_024;

/// Reads a whole number of threads, from 1 to [`MOST`].
pub(super) fn parse(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST);
    threads.ok_or_else(|| format!("expected a whole number of threads from 1 to {MOST}"))
}

#[cfg(test)]
mod tests {
    use super::{MOST, parse};

    #[test]
    fn at_least_one_and_not_too_many() {
        assert_eq!(parse("8").map(usize::from), Ok(8));
        assert_eq!(parse("1024").map(usize::from), Ok(MOST));
        for text in ["0", "-1", "", "two", "1.5", "1025", "18446744073709551615", "99999999999999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
