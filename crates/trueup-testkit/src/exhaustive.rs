//! The switch between tests that try a sample and tests that try everything.
//!
//! Some tests have far more cases than anybody waits for, such as each bit of each file. By default, they try a sample.
//! With `TRUEUP_EXHAUSTIVE=1` in the environment they try all, for minutes to an hour.
//!
//! Other tests need something that is not in the repository, and are skipped without it. With `TRUEUP_SKIP_NOTHING=1`,
//! as in `.ci/run`, they fail instead.

use proptest::test_runner::Config as ProptestConfig;
use std::env;
use std::ffi::OsString;

/// The environment variable that selects everything.
const VARIABLE: &str = "TRUEUP_EXHAUSTIVE";

/// The environment variable that makes a test fail which would be skipped.
const SKIP_NOTHING: &str = "TRUEUP_SKIP_NOTHING";

/// Returns whether tests try everything.
#[must_use]
pub fn is_exhaustive() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| value == "1")
}

/// Returns the distance between the cases that a test tries: 1 if it tries everything, otherwise `sample`.
#[must_use]
pub fn step(sample: usize) -> usize {
    if is_exhaustive() { 1 } else { sample }
}

/// Returns the settings of a property test: `all` random cases if it tries everything, otherwise a fifth of them. Each
/// run tries others.
#[must_use]
pub fn cases(all: u32) -> ProptestConfig {
    let cases = if is_exhaustive() { all } else { all.div_ceil(5) };
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Returns the bits of a file that a test flips, each as a byte and a bit of it: all if it tries everything, otherwise
/// one bit of every `sample`-th byte.
#[must_use]
pub fn bits(length: usize, sample: usize) -> Vec<(usize, usize)> {
    if is_exhaustive() {
        return (0..length).flat_map(|at| (0..8).map(move |bit| (at, bit))).collect();
    }
    (0..length).step_by(sample).map(|at| (at, at % 8)).collect()
}

/// Says that a test is skipped, and why.
///
/// # Panics
/// `TRUEUP_SKIP_NOTHING=1` is in the environment.
#[expect(clippy::panic, reason = "only tests call this")]
pub fn skip(reason: &str) {
    if env::var_os(SKIP_NOTHING).is_some_and(|value| value == "1") {
        panic!("this test may not be skipped, because {SKIP_NOTHING} is 1: {reason}");
    }
    println!("skipped: {reason}");
}

/// Returns the value of a variable that names what a test needs. Without it, the test is [skipped](skip).
#[must_use]
pub fn needed(variable: &str) -> Option<OsString> {
    let value = env::var_os(variable);
    if value.is_none() {
        skip(&format!("the variable {variable} is not set; `.ci/run` sets it"));
    }
    value
}
