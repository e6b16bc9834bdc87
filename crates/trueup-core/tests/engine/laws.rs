//! Checks laws that hold for every answer: two queries are run, and their answers must be consistent.
//!
//! | file | what it checks |
//! |---|---|
//! | `law_case`, `figures` | nothing: random queries for laws, and the exact numbers of their answers |
//! | `shape` | which rows an answer has, and in which order |
//! | `execution` | threads, row groups, batches, the order of rows and pruning change nothing |
//! | `accounts` | accounts do not affect each other |
//! | `sub_ranges` | each sub-range is computed as if it were queried alone |
//! | `filters` | how a filter changes counts |
//! | `additivity`, `tightness` | metrics add up where the dictionary says so, and only there |
//! | `identities`, `ratios`, `limits` | how metrics depend on each other |
//! | `spend` | spend is the sum of its rows |

mod accounts;
mod additivity;
mod execution;
mod figures;
mod filters;
mod identities;
mod law_case;
mod limits;
mod ratios;
mod shape;
mod spend;
mod sub_ranges;
mod tightness;

use proptest::prelude::ProptestConfig;

/// Returns half of the usual number of cases, because there are many laws. `PROPTEST_CASES` changes the usual number.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(2), ..usual }
}

/// Returns a quarter of the usual number of cases, for laws whose cases take long.
fn short() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(4), ..usual }
}
