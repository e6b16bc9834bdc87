//! Checks laws that hold for every answer: two queries are run, and their answers must be consistent.
//!
//! | file | what it checks |
//! |---|---|
//! | `law_case` | nothing: random queries for laws, and the exact numbers of their answers |
//! | `shape` | which rows an answer has, and in which order |
//! | `execution` | threads, row groups, batches, order and pruning change nothing; what ends a query early |
//! | `independence` | accounts do not affect each other, nor do sub-ranges |
//! | `filters` | how a filter changes counts |
//! | `additivity` | metrics add up where the dictionary says so, and only there |
//! | `relations` | how metrics depend on each other |
//! | `durations` | the days between stages of a group are those of its customers |
//! | `spend` | spend is the sum of its rows |

mod additivity;
mod durations;
mod execution;
mod filters;
mod independence;
mod law_case;
mod relations;
mod shape;
mod spend;

use proptest::prelude::ProptestConfig;
use trueup_testkit::exhaustive::cases;

/// Returns the settings of a law.
fn config() -> ProptestConfig {
    cases(256)
}

/// Returns the settings of a law whose cases take long.
fn short() -> ProptestConfig {
    cases(128)
}
